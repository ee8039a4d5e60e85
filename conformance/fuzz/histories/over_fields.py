"""Kernels over fields, each with the same program in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import adstack as qd

from .forms import Fields, Form, N
from .numbers import Number, value_of
from .simulated import Cells, Program

__all__ = ["OVER_FIELDS"]


def _weigh(fields: Fields) -> Form:
    x, y, w = (fields[name] for name in ("x", "y", "w"))

    @qd.kernel
    def weigh():
        for i in x:
            y[None] += x[i] * x[i] * w[i]

    def plain(m: Program) -> None:
        for i in range(N):
            m["y"][0] += m["x"][i] * m["x"][i] * m["w"][i]

    return Form("weigh", weigh, plain, ())


def _gather(fields: Fields) -> Form:
    x, z, w, ix = (fields[name] for name in ("x", "z", "w", "ix"))

    @qd.kernel
    def gather():
        for i in x:
            z[i] = x[ix[i]] * w[i]

    def plain(m: Program) -> None:
        for i in range(N):
            m["z"][i] = m["x"][m["ix"].integer(i)] * m["w"][i]

    return Form("gather", gather, plain, ())


def _scatter(fields: Fields) -> Form:
    x, z, ix = (fields[name] for name in ("x", "z", "ix"))

    @qd.kernel
    def scatter(s: qd.f64):
        for i in x:
            z[ix[i]] += x[i] * x[i] * s

    def plain(m: Program, s: float) -> None:
        for i in range(N):
            m["z"][m["ix"].integer(i)] += m["x"][i] * m["x"][i] * s

    return Form("scatter", scatter, plain, ("f64",))


def _lately(fields: Fields) -> Form:
    x, z, late = (fields[name] for name in ("x", "z", "late"))

    @qd.kernel
    def lately(s: qd.i32):
        for i in x:
            late[i] = x[i] * z[i] * (s + 1)

    def plain(m: Program, s: int) -> None:
        for i in range(N):
            m["late"][i] = m["x"][i] * m["z"][i] * (s + 1)

    return Form("lately", lately, plain, ("i32",))


def _of_late(fields: Fields) -> Form:
    x, y, late = (fields[name] for name in ("x", "y", "late"))

    @qd.kernel
    def of_late():
        for i in x:
            y[None] += late[i] * late[i]

    def plain(m: Program) -> None:
        for i in range(N):
            m["y"][0] += m["late"][i] * m["late"][i]

    return Form("of_late", of_late, plain, ())


def _returned(fields: Fields) -> Form:
    x, z = (fields[name] for name in ("x", "z"))

    @qd.kernel
    def returned(s: qd.i32) -> qd.f64:
        a = 0.0
        for i in range(4):
            a += x[i] * z[i] * s
        return a

    def plain(m: Program, s: int) -> Number:
        return sum((m["x"][i] * m["z"][i] * s for i in range(N)), start=Number(0.0))

    return Form("returned", returned, plain, ("i32",))


def _stages(fields: Fields) -> Form:
    x, y, z, w = (fields[name] for name in ("x", "y", "z", "w"))

    @qd.kernel(graph=True)
    def stages(s: qd.f64):
        for i in x:
            z[i] = x[i] * w[i] * s
        for i in x:
            y[None] += z[i] * z[i]

    def plain(m: Program, s: float) -> None:
        for i in range(N):
            m["z"][i] = m["x"][i] * m["w"][i] * s
        for i in range(N):
            m["y"][0] += m["z"][i] * m["z"][i]

    return Form("stages", stages, plain, ("f64",), rereads=True)


def _total(fields: Fields) -> Form:
    x, z, n = (fields[name] for name in ("x", "z", "n"))

    @qd.kernel
    def total():
        t = 0.0
        for i in x:
            t += x[i] * n[i]
        for i in x:
            z[i] = t * 0.5

    def plain(m: Program) -> None:
        t = Number(0.0)
        for i in range(N):
            t = t + m["x"][i] * m["n"].integer(i)
        for i in range(N):
            m["z"][i] = t * 0.5

    return Form("total", total, plain)


def _trips(fields: Fields) -> Form:
    x, y, n = (fields[name] for name in ("x", "y", "n"))

    @qd.kernel
    def trips(s: qd.i32):
        for i in x:
            a = 1.0
            for _ in range(n[i]):
                a *= x[i]
            y[None] += a * s

    def plain(m: Program, s: int) -> None:
        for i in range(N):
            a = Number(1.0)
            for _ in range(m["n"].integer(i)):
                a = a * m["x"][i]
            m["y"][0] += a * s

    return Form("trips", trips, plain, ("i32",))


def _sides(fields: Fields) -> Form:
    x, y, n, t = (fields[name] for name in ("x", "y", "n", "t"))

    @qd.kernel
    def sides():
        for i in x:
            if x[i] < t[None]:
                y[None] += x[i] * x[i]
            elif n[i] > 1:
                y[None] += x[i] * 0.5

    def plain(m: Program) -> None:
        for i in range(N):
            if value_of(m["x"][i]) < value_of(m["t"][0]):
                m["y"][0] += m["x"][i] * m["x"][i]
            elif m["n"].integer(i) > 1:
                m["y"][0] += m["x"][i] * 0.5

    return Form("sides", sides, plain, ())


def _climbs(fields: Fields) -> Form:
    x, y, n, t, w = (fields[name] for name in ("x", "y", "n", "t", "w"))

    @qd.kernel
    def climbs():
        for i in x:
            a = x[i]
            k = 0
            while k < n[i] and a < t[None]:
                a = a * x[i] + w[i]
                k += 1
            y[None] += a

    def plain(m: Program) -> None:
        for i in range(N):
            a = m["x"][i]
            k = 0
            while k < m["n"].integer(i) and value_of(a) < value_of(m["t"][0]):
                a = a * m["x"][i] + m["w"][i]
                k += 1
            m["y"][0] += a

    return Form("climbs", climbs, plain, ())


def _square(fields: Fields) -> Form:
    x = fields["x"]

    @qd.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i] * 0.5

    def plain(m: Program) -> None:
        for i in range(N):
            m["x"][i] = m["x"][i] * m["x"][i] * 0.5

    return Form("square", square, plain, (), kept=True)


def _shrink(fields: Fields) -> Form:
    x, z = (fields[name] for name in ("x", "z"))

    @qd.kernel
    def shrink(s: qd.i32):
        for i in z:
            z[i] = z[i] * x[i] - s

    def plain(m: Program, s: int) -> None:
        for i in range(N):
            m["z"][i] = m["z"][i] * m["x"][i] - s

    return Form("shrink", shrink, plain, ("i32",), kept=True)


def _history(fields: Fields) -> Form:
    x = fields["x"]

    @qd.kernel
    def history(s: qd.i32):
        for _ in range(1):
            x[s + 1] = x[s] * x[s]

    def plain(m: Program, s: int) -> None:
        m["x"][s + 1] = m["x"][s] * m["x"][s]

    return Form("history", history, plain, ("i32",))


def _old_value(fields: Fields) -> Form:
    x = fields["x"]

    @qd.kernel
    def old_value():
        for i in x:
            old = qd.atomic_add(x[i], 0.5)
            x[i] = old * old

    def plain(m: Program) -> None:
        for i in range(N):
            m["x"][i] = m["x"][i] * m["x"][i]

    return Form("old_value", old_value, plain, (), kept=True)


def _count_down(fields: Fields) -> Form:
    x, z, n = (fields[name] for name in ("x", "z", "n"))

    @qd.kernel
    def count_down():
        for i in x:
            for _ in range(n[i]):
                z[i] = z[i] * x[i]
                n[i] = n[i] - 1

    def plain(m: Program) -> None:
        for i in range(N):
            for _ in range(m["n"].integer(i)):
                m["z"][i] = m["z"][i] * m["x"][i]
                m["n"][i] = m["n"][i] - 1

    return Form("count_down", count_down, plain, (), kept=True)


def _mixed(fields: Fields) -> Form:
    x, y = (fields[name] for name in ("x", "y"))

    @qd.kernel
    def mixed(a: qd.types.ndarray(), s: qd.i32):
        for i in x:
            y[None] += x[i] * a[i] * s

    def plain(m: Program, a: Cells, s: int) -> None:
        for i in range(N):
            m["y"][0] += m["x"][i] * a[i] * s

    return Form("mixed", mixed, plain, ("array", "i32"))


def _counted(fields: Fields) -> Form:
    x, y = (fields[name] for name in ("x", "y"))

    @qd.kernel
    def counted(k: qd.types.ndarray()):
        for i in x:
            a = 1.0
            for _ in range(k[i]):
                a *= x[i]
            y[None] += a

    def plain(m: Program, k: Cells) -> None:
        for i in range(N):
            a = Number(1.0)
            for _ in range(k.integer(i)):
                a = a * m["x"][i]
            m["y"][0] += a

    return Form("counted", counted, plain, ("ints",))


def _fetch(fields: Fields) -> Form:
    x = fields["x"]

    @qd.kernel
    def fetch(a: qd.types.ndarray()):
        for i in x:
            x[i] = a[i] * a[i]

    def plain(m: Program, a: Cells) -> None:
        for i in range(N):
            m["x"][i] = a[i] * a[i]

    return Form("fetch", fetch, plain, ("array",))


OVER_FIELDS: Final[tuple[Callable[[Fields], Form], ...]] = (
    _weigh,
    _gather,
    _scatter,
    _lately,
    _of_late,
    _returned,
    _stages,
    _total,
    _trips,
    _sides,
    _climbs,
    _square,
    _shrink,
    _history,
    _old_value,
    _count_down,
    _mixed,
    _counted,
    _fetch,
)
"""Functions that make the kernels of this module, over some fields."""
