"""Memory of every kind, and what it should hold."""

from __future__ import annotations

import random
from typing import Any, Final, TypeAlias, cast

import numpy as np

import adstack as qd
from adstack.ir.types import Array

from .forms import N
from .numbers import LARGEST
from .simulated import Cells, Program

__all__ = ["ARRAYS", "FIELDS", "HOSTS", "INTEGERS", "Memory"]

Data: TypeAlias = Any
"""A field, ndarray or numpy array of the real program."""
VALUES: Final = (0.5, -0.5, 1.0, 2.0, -1.5, 0.25)
"""Numbers of few digits, whose products are exact."""
DIGITS: Final = 8
"""Numbers in memory are multiples of 2 ** -DIGITS between steps."""
FIELDS: Final = ("x", "z", "late")
"""What kernels take as fields."""
ARRAYS: Final = {
    "a": ("a", range(N)),
    "b": ("b", range(N)),
    "c": ("c", range(N)),
    "u": ("u", range(N)),
    "first": ("long", range(N)),
    "second": ("long", range(2, N + 2)),
    "third": ("long", range(N, 2 * N)),
}
"""What kernels take as arrays of reals: (the memory, which elements)."""
HOSTS: Final = ("u", "long", "numbers")
"""The memory that is numpy's."""
INTEGERS: Final = {"ks": ("ks", range(N)), "numbers": ("numbers", range(N))}
COUNTS: Final = ("n", "ix", "ks", "numbers")
"""What holds integers, from 0 to N - 1."""
DUALS: Final = ("x", "y", "z", "a")


class Memory:
    """Fields and arrays, with a copy of what they should hold.

    Attributes:
        real: name -> field, ndarray or numpy array.
        state: name -> what it should hold.
        identities: name -> a number, another one for each array that has had this name.
        writes: how many times anybody may have written.
        differentiated: the names of what has a gradient now.
        views: name -> an array of numpy's over the memory of a field or ndarray; adstack is not told of its writes.
    """

    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self.views: dict[str, Array] = {}
        self.real: dict[str, Data] = _fields()
        self.fields = dict(self.real)
        self.state: dict[str, list[float]] = {}
        self.identities: dict[str, int] = {}
        self.writes = 0
        self.differentiated = {"x", "y", "z", "a", "b"}
        for name in ("a", "b", "c", "u", "long", "ks", "numbers"):
            self.renew(name)
        for name in self.fields:
            self.rewrite(name)

    def renew(self, name: str) -> None:
        """Let another array have a name; the one before is gone."""
        self.real.pop(name, None)
        self.views.pop(name, None)
        self.identities[name] = self.identities.get(name, 0) + 1
        if name in ("u", "long"):
            self.real[name] = np.zeros(N if name == "u" else 2 * N)
        elif name == "numbers":
            self.real[name] = np.zeros(N, np.int32)
        elif name == "ks":
            self.real[name] = qd.ndarray(qd.i32, N)
        else:
            self.real[name] = qd.ndarray(qd.f64, N, needs_grad=name != "c", needs_dual=name == "a")
        self.rewrite(name)

    def place_late(self) -> None:
        """Give the field `late` the gradient that it has not had."""
        qd.root.dense(qd.i, N).place(self.fields["late"].grad)
        self.differentiated.add("late")

    def argument(self, name: str) -> Data:
        """What is passed for a name."""
        base, where = {**ARRAYS, **INTEGERS}.get(name, (name, range(N)))
        real = self.real[base]
        return real if base == name else real[where.start : where.stop : where.step]

    def cells(self, program: Program, name: str) -> Cells:
        """The elements of a name as a program sees them."""
        base, where = {**ARRAYS, **INTEGERS}.get(name, (name, range(N)))
        return Cells(program, base, where)

    def number(self, name: str) -> float:
        """A number that may stand in some memory."""
        if name in COUNTS:
            return self.random.randrange(N)
        return self.random.choice(VALUES)

    # ---- the host

    def rewrite(self, name: str) -> list[tuple[int, float]]:
        """Let the host write all of some memory; gives what it wrote, in words."""
        real = self.real[name]
        count = len(real) if isinstance(real, np.ndarray) else int(np.prod(real.shape, dtype=int))
        values = [self.number(name) for _ in range(count)]
        if isinstance(real, np.ndarray):
            real[:] = values
        elif real.shape == ():
            real[None] = values[0]
        else:
            self._write_all(real, values)
        self.state[name], self.writes = values, self.writes + 1
        return list(enumerate(values))

    def _write_all(self, real: Data, values: list[float]) -> None:
        array = np.array(values, real.to_numpy().dtype)
        how = self.random.choice(("from_numpy", "elements", "fill"))
        if how == "fill":
            real.fill(values[0].__class__(values[0]))
            values[:] = [values[0]] * len(values)
        elif how == "elements":
            for i, value in enumerate(values):
                real[i] = value
        else:
            real.from_numpy(array)

    def write(self, name: str) -> list[tuple[int, float]]:
        """Let the host write one element; gives what it wrote, in words."""
        real = self.real[name]
        index, value = self.random.randrange(len(self.state[name])), self.number(name)
        if not isinstance(real, np.ndarray) and real.shape == ():
            real[None] = value
        elif self.random.random() < 0.2:
            value = self.state[name][index]  # the same again
            real[index] = int(value) if name in COUNTS else value
        else:
            real[index] = value
        self.state[name][index], self.writes = value, self.writes + 1
        return [(index, value)]

    def share(self) -> str:
        """Let numpy have the memory of a field or ndarray, too; its name."""
        name = self.random.choice([name for name in self.real if name not in HOSTS])
        self.views[name] = np.from_dlpack(self.real[name])
        return name

    def write_view(self) -> str:
        """Let numpy write an element of such memory, which adstack is not told of; gives the memory's name."""
        name = self.random.choice(sorted(self.views))
        index, value = self.random.randrange(len(self.state[name])), self.number(name)
        self.views[name].reshape(-1)[index] = value
        self.state[name][index], self.writes = value, self.writes + 1
        return name

    # ---- what is there

    def held(self) -> dict[str, list[float]]:
        """What memory holds, read without a trace of where it came from."""
        return {name: _read(real) for name, real in self.real.items()}

    def beside(self, role: str) -> dict[str, list[float]]:
        """What all gradients ("grad") or duals ("dual") hold."""
        names = sorted(self.differentiated) if role == "grad" else DUALS
        return {name: _read(getattr(self.real[name], role)) for name in names}

    def seed(self) -> dict[str, list[float]]:
        """Let the host write adjoints; what it wrote."""
        for name in sorted(self.differentiated):
            grad = self.real[name].grad
            values = np.array([self.random.choice((*VALUES, 0.0)) for _ in range(len(self.state[name]))])
            grad.from_numpy(values.reshape(grad.shape))
        return self.beside("grad")

    def settle(self) -> list[str]:
        """Write numbers of few digits where there are others; the names of what was written."""
        scale = 2.0**DIGITS
        long = [
            name
            for name, values in self.state.items()
            if any(value * scale % 1 or abs(value * scale) > 1 << 2 * DIGITS - 4 for value in values)
        ]
        for name in long:
            self.rewrite(name)
        return long

    def is_short(self, adjoints: dict[str, list[float]]) -> bool:
        """Whether numbers have few digits."""
        return all(abs(v) < LARGEST / 1024 and not v * 2.0**DIGITS % 1 for vs in adjoints.values() for v in vs)


def _fields() -> dict[str, Data]:
    late = qd.field(qd.f64)
    qd.root.dense(qd.i, N).place(late)
    return {
        "x": qd.field(qd.f64, N, needs_grad=True, needs_dual=True),
        "y": qd.field(qd.f64, (), needs_grad=True, needs_dual=True),
        "z": qd.field(qd.f64, N, needs_grad=True, needs_dual=True),
        "late": late,
        "w": qd.field(qd.f64, N),
        "t": qd.field(qd.f64, ()),
        "n": qd.field(qd.i32, N),
        "ix": qd.field(qd.i32, N),
    }


def _read(real: Data) -> list[float]:
    array = real if isinstance(real, np.ndarray) else real.to_numpy()
    return cast("list[float]", array.reshape(-1).tolist())
