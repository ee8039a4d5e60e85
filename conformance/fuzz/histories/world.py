"""One history: launches, gradients, and whatever changes memory between them; gradients are held against programs.

The gradient of a call is that of the last launch with the same arguments, or of the launch that could be made now where
there was none. It may be refused, but only if memory has changed since that launch, or if it was made where nothing is
kept for a gradient outside.
"""

from __future__ import annotations

import math
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

import adstack as qd

from .forms import Form
from .functions import functions
from .kernels import forms
from .memory import ARRAYS, FIELDS, HOSTS, INTEGERS, Memory
from .numbers import Number
from .simulated import Program, State

__all__ = ["Call", "DifferenceError", "Launched", "World", "in_a_thread"]

SMALL: Final = (0, 1, 2)


class DifferenceError(AssertionError):
    """Memory or a gradient that is neither right nor refused, or a gradient that is refused without a reason."""


@dataclass(frozen=True)
class Launched:
    """What is known of a launch.

    Attributes:
        state: what memory held; None if that is not known.
        left: what it held after the launch; None if that is not known.
        writes: how many writes there had been after it.
        is_outside: whether it was made where everything is noted that its gradient needs.
    """

    state: State | None
    left: State | None
    writes: int
    is_outside: bool


@dataclass(frozen=True)
class Call:
    """A kernel with arguments.

    Attributes:
        form: the kernel.
        names: for each parameter the name of its memory, or the number.
    """

    form: Form
    names: tuple[str | int, ...]

    def __str__(self) -> str:
        return f"{self.form.name}({', '.join(map(str, self.names))})"


class World:
    """Memory, kernels, and what has been done with them.

    Attributes:
        counts: how many gradients were "right", and how many "refused", by what was differentiated, in all worlds.
        seen: what is known of the last launch of each call.
        found: what launches of each kernel found in memory, whatever they took; None where that is not known.
        told: what has been done, in words.

    Args:
        rng: what everything random comes from.
        is_snapshot: whether launches outside keep everything.
    """

    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self, rng: random.Random, is_snapshot: bool = False) -> None:
        self.random = rng
        self.is_snapshot = is_snapshot
        self.memory = Memory(rng)
        self.forms = forms(self.memory.fields)
        self.functions = functions(self.memory.fields)
        self.seen: dict[tuple[Call, tuple[int, ...]], Launched] = {}
        self.found: dict[str, list[State | None]] = {}
        self.unclear: set[str] = set()
        self.told: list[str] = []

    # ---- calls

    def call(self) -> Call:
        """Some call."""
        form = self.random.choice(list(self.forms.values()))
        names = tuple(self._argument(role) for role in form.roles)
        bases = [ARRAYS[name][0] for name in names if name in ARRAYS]
        if len(bases) == 2 and bases[0] == bases[1] and bases[0] in HOSTS:
            return self.call()  # iterations would race, or a device would work on two copies
        return Call(form, names)

    def known(self) -> Call:
        """A call that was launched, if there is any."""
        calls = [key[0] for key in self.seen if key == self.key(key[0])]
        return self.random.choice(calls) if calls else self.call()

    def _argument(self, role: str) -> str | int:
        if role == "field":
            return self.random.choice(FIELDS)
        if role in ("array", "ints"):
            return self.random.choice(list(ARRAYS if role == "array" else INTEGERS))
        return self.random.choice(SMALL)

    def arguments(self, call: Call) -> list[Any]:
        """What is passed; numbers in one of the types that they may have."""
        kinds: dict[str, tuple[Callable[[int], Any], ...]] = {
            "i32": (int, int, np.int32, np.int64, int),
            "f64": (float, float, int, np.float32, np.float64),
        }
        return [
            self.memory.argument(name) if isinstance(name, str) else self.random.choice(kinds.get(role, (int,)))(name)
            for role, name in zip(call.form.roles, call.names, strict=True)
        ]

    def key(self, call: Call) -> tuple[Call, tuple[int, ...]]:
        """Equal for calls with the same arguments."""
        arrays = {**ARRAYS, **INTEGERS}
        bases = [arrays[name][0] for name in call.names if name in arrays]
        return call, tuple(self.memory.identities[base] for base in bases)

    def simulate(self, program: Program, call: Call) -> Number | None:
        """Make the call in a program."""
        values = [self.memory.cells(program, one) if isinstance(one, str) else one for one in call.names]
        return call.form.plain(program, *values)

    def note(self, call: Call, state: State | None, left: State | None, is_outside: bool) -> None:
        """There was a launch: memory held `state` before it, and `left` after it."""
        self.memory.writes += 1
        if not is_outside:
            self.unclear.add(call.form.name)
        self.found.setdefault(call.form.name, []).append(state)
        self.seen[self.key(call)] = Launched(state, left, self.memory.writes, is_outside)

    # ---- outside

    def launch(self, call: Call) -> None:
        """Launch, and see that memory holds what it should."""
        self.tell(str(call))
        before = {name: list(values) for name, values in self.memory.state.items()}
        program = Program(before, self.memory.differentiated)
        result = self.simulate(program, call)
        got = call.form.kernel(*self.arguments(call))
        if result is not None and got != result.value:
            raise self.difference(f"it returned {got}, and should have returned {result.value}")
        self.memory.state = program.state
        self.note(call, before, program.state, True)

    def gradient(self, call: Call, options: dict[str, Any] | None = None) -> None:
        """Ask for the gradient of a call, and see that it is right, or refused with a reason."""
        adjoints = self.memory.beside("grad")
        if self.random.random() < 0.6 or not self.memory.is_short(adjoints):
            adjoints = self.memory.seed()
        then = self.seen.get(self.key(call))
        seed = self.random.choice((0.5, 2.0)) if call.form.name == "returned" else 0.0
        self.tell(f"{call.form.name}.grad({', '.join(map(str, call.names))}){f' seed={seed}' if seed else ''}")
        right = None if then is not None and then.state is None else self.right(call, then, adjoints, seed)
        try:
            call.form.kernel.grad(*self.arguments(call), **({"seed": seed} if seed else {}))
        except qd.AdstackError as error:
            self.check_refused(call, then, adjoints, error)
            return
        self.memory.writes += 1
        if right is not None:
            World.counts["right"] += 1
            self.compare(right)

    def right(
        self, call: Call, then: Launched | None, adjoints: dict[str, list[float]], seed: float
    ) -> dict[str, list[float]]:
        """What the gradients should be."""
        state = self.memory.state if then is None or then.state is None else then.state
        program = Program(state, self.memory.differentiated)
        result = self.simulate(program, call)
        return program.pulled(adjoints, [] if result is None else [(result, seed)])

    def check_refused(
        self, call: Call, then: Launched | None, adjoints: dict[str, list[float]], error: qd.AdstackError
    ) -> None:
        """Raise DifferenceError if there was no reason to refuse a gradient, or if gradients have changed."""
        World.counts["refused"] += 1
        if isinstance(error, qd.InternalError):
            raise self.difference("a defect") from error
        if self.memory.beside("grad") != adjoints:
            raise self.difference(f"refused, but gradients have changed: {error}")
        refused = call.form.refused or ("nothing that the kernel reads has a gradient" in error.message)
        if then is not None and then.state is None:
            return
        is_latest = then is not None and then.writes == self.memory.writes
        if "were not kept" in error.message and self.is_unclear(call) and not is_latest:
            return
        if then is None:
            has_reason = call.form.kept or call.form.rereads or refused or self.is_hidden(call)
        else:
            has_changed = self.has_changed(then.state) or (call.form.rereads and self.has_changed(then.left))
            is_stale = has_changed and not (self.is_snapshot or call.form.kept)
            is_unkept = not then.is_outside and not is_latest
            has_reason = refused or is_stale or is_unkept or (call.form.kept and not then.is_outside)
        if not has_reason:
            raise self.difference(f"refused, but nothing has changed: {error}") from error

    def is_unclear(self, call: Call) -> bool:
        """Whether launches of the kernel with any arguments were made where it is not noted which ones."""
        return call.form.name in self.unclear

    def is_hidden(self, call: Call) -> bool:
        """Whether machine code may have served a launch with these arguments, and memory has changed since."""
        return not self.is_snapshot and any(map(self.has_changed, self.found.get(call.form.name, ())))

    def has_changed(self, state: State | None) -> bool:
        """Whether the launch found other contents than those of now, or its contents are not known."""
        now = self.memory.state
        return state is None or any(_signed(values) != _signed(now[name]) for name, values in state.items())

    # ---- comparing

    def compare(self, gradients: dict[str, list[float]]) -> None:
        """Raise DifferenceError if gradients, or what memory holds, are not what they should be."""
        held = self.memory.beside("grad")
        for name, values in gradients.items():
            if held[name] != values:
                raise self.difference(f"{name}.grad is {held[name]}, and should be {values}")
        self.check_memory()

    def check_memory(self) -> None:
        """Raise DifferenceError if memory is not what it should be."""
        for name, values in self.memory.held().items():
            if _signed(values) != _signed(self.memory.state[name]):
                raise self.difference(f"{name} is {values}, and should be {self.memory.state[name]}")

    def tell(self, what: str) -> None:
        """Note what is done."""
        self.told.append(what)

    def difference(self, what: str) -> DifferenceError:
        """The error, with what has been done."""
        return DifferenceError(what)

    def settle(self) -> None:
        """Let the next step begin with numbers of few digits."""
        for name in self.memory.settle():
            self.tell(f"the host writes {name}")

    def reread(self) -> None:
        """Take what memory holds for right, and write it anew: a next step would have to round."""
        self.memory.state = self.memory.held()
        self.memory.writes += 1
        for name in self.memory.state:
            self.memory.rewrite(name)
        self.tell("(rounded: everything is written anew)")


def _signed(values: Sequence[float]) -> list[tuple[float, float]]:
    """Equal for equal bits: 0.0 and -0.0 are two numbers."""
    return [(value, math.copysign(1.0, value)) for value in values]


def in_a_thread(action: Callable[[], None]) -> None:
    """Do something in a thread of its own, and wait for it; what it raises is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            action()
        except BaseException as error:  # noqa: BLE001 - raised again where it was asked for
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
