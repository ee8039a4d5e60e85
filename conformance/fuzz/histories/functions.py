"""Functions of Python that launch kernels: with a gradient of their own, and with none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import adstack as qd

from .forms import Fields, N
from .numbers import Number, constant
from .simulated import Program

__all__ = ["Function", "functions"]

FACTOR = 5.0
"""What the gradient that a function brings has in place of twice the argument, so that the two are told apart."""


@dataclass(frozen=True)
class Function:
    """A function.

    Attributes:
        name: of the function.
        call: the function.
        plain: the same in a program, under a Tape.
        forward: the same in a program, in forward mode, and elsewhere.
    """

    name: str
    call: Callable[[], None]
    plain: Callable[[Program], None]
    forward: Callable[[Program], None]


def functions(fields: Fields) -> list[Function]:
    """All functions, over some fields."""
    return [_with_its_own_gradient(fields), _without_a_gradient(fields)]


def _with_its_own_gradient(fields: Fields) -> Function:
    x, z = fields["x"], fields["z"]

    @qd.kernel
    def spread():
        for i in x:
            z[i] += x[i] * x[i]

    @qd.kernel
    def collect():
        for i in x:
            x.grad[i] += FACTOR * z.grad[i]

    @qd.ad.grad_replaced
    def replaced():
        spread()

    @qd.ad.grad_for(replaced)
    def _():
        collect()

    return Function("replaced", replaced, _plain_replaced, _plain_spread)


def _plain_replaced(m: Program) -> None:
    for i in range(N):
        a, b = m["z"][i], m["x"][i]
        m["z"][i] = Number(a.value + b.value * b.value, parents=((a, 1.0), (b, FACTOR)))


def _plain_spread(m: Program) -> None:
    for i in range(N):
        m["z"][i] += m["x"][i] * m["x"][i]


def _without_a_gradient(fields: Fields) -> Function:
    x, z = fields["x"], fields["z"]

    @qd.kernel
    def copy():
        for i in x:
            z[i] = x[i] * 3.0

    @qd.ad.no_grad
    def constants():
        copy()

    def plain(m: Program) -> None:
        for i in range(N):
            m["z"][i] = constant(m["x"][i] * 3.0)

    return Function("constants", constants, plain, plain)
