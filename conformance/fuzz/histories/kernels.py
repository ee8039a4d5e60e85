"""The kernels of random histories, each with the same program in plain Python."""

from __future__ import annotations

from typing import Final

import adstack as qd

from .forms import Fields, Form, N
from .over_fields import OVER_FIELDS
from .simulated import Cells, Program

__all__ = ["forms"]


def forms(fields: Fields) -> dict[str, Form]:
    """All kernels, over some fields."""
    over_fields = (make(fields) for make in OVER_FIELDS)
    return {form.name: form for form in (*over_fields, *_OF_FIELDS, *_OF_ARRAYS, _of_objects(fields))}


@qd.kernel
def multiply(p: qd.template(), q: qd.template()):
    """q += p**2 / 2, element by element: a sum, whose gradient needs p."""
    for i in p:
        q[i] += p[i] * p[i] * 0.5


@qd.kernel
def put(p: qd.template(), q: qd.template(), s: qd.template()):
    """q = p**2 s, element by element: a store, whose gradient needs p and s, a field without axes."""
    for i in p:
        q[i] = p[i] * p[i] * s


@qd.kernel
def scale(a: qd.types.ndarray(), b: qd.types.ndarray(), s: qd.f64):
    """b = a**2 s: the same of ndarrays, with a scalar argument."""
    for i in a:
        b[i] = a[i] * a[i] * s


@qd.kernel
def add_to(a: qd.types.ndarray(), b: qd.types.ndarray()):
    """b += a / 2: a sum that is linear, so that its gradient needs no contents."""
    for i in a:
        b[i] += a[i] * 0.5


@qd.kernel
def own(a: qd.types.ndarray()):
    """a = a**2 / 2, in place: the launch overwrites what its gradient needs."""
    for i in a:
        a[i] = a[i] * a[i] * 0.5


def plain_multiply(m: Program, p: Cells, q: Cells) -> None:
    """See `multiply`."""
    for i in range(N):
        q[i] += p[i] * p[i] * 0.5


def plain_put(m: Program, p: Cells, q: Cells, s: float) -> None:
    """See `put` and `scale`."""
    for i in range(N):
        q[i] = p[i] * p[i] * s


def plain_add_to(m: Program, p: Cells, q: Cells) -> None:
    """See `add_to`."""
    for i in range(N):
        q[i] += p[i] * 0.5


def plain_own(m: Program, a: Cells) -> None:
    """See `own`."""
    for i in range(N):
        a[i] = a[i] * a[i] * 0.5


_OF_FIELDS: Final = (
    Form("multiply", multiply, plain_multiply, ("field", "field"), refused=True),
    Form("put", put, plain_put, ("field", "field", "static"), refused=True),
)


_OF_ARRAYS: Final = (
    Form("scale", scale, plain_put, ("array", "array", "f64"), refused=True),
    Form("add_to", add_to, plain_add_to, ("array", "array"), refused=True),
    Form("own", own, plain_own, ("array",), kept=True),
)


@qd.data_oriented
class Owner:
    """An object whose number kernels have baked in."""

    def __init__(self, fields: Fields) -> None:
        self.x, self.y, self.s = fields["x"], fields["y"], 1

    @qd.kernel
    def baked(self):
        """y += x**2 s, where s is an attribute, which is compiled in as it is at the first call."""
        for i in self.x:
            self.y[None] += self.x[i] * self.x[i] * self.s


class Baked:
    """The method, called with a number that the object has meanwhile."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def __call__(self, s: int) -> None:
        self._owner.s = s
        self._owner.baked()

    def grad(self, s: int) -> None:
        """Reverse mode."""
        self._owner.s = s
        self._owner.baked.grad()


def _of_objects(fields: Fields) -> Form:
    """Methods of objects."""

    def plain_baked(m: Program, s: int) -> None:
        for i in range(N):
            m["y"][0] += m["x"][i] * m["x"][i] * s

    return Form("baked", Baked(Owner(fields)), plain_baked, ("static",))
