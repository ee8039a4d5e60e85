"""Wrong promotions and conversions, each a rule of types.md turned into another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from adstack.ir import types
from adstack.ir.scalar_ops import CAST
from adstack.ir.types import Array, DType, f32, i32, u1, u8

Cast = Callable[[DType, Array], Array]
Function: TypeAlias = Callable[..., Any]
"""A function that stands in the place of another."""
HostNumber: TypeAlias = Any
"""A number of Python or numpy."""

__all__ = ["changes"]

Change = tuple[str, str, Callable[[], None]]


def changes() -> Iterator[Change]:
    """The rule, the change, and what makes it so."""
    for change, wrong in _promotions().items():
        yield "promote", change, _everywhere(types.promote, wrong)
    for change, wrong_cast in _casts().items():
        yield "cast", change, _cast(wrong_cast)
    for change, wrong_number in _host_casts().items():
        yield "cast on the host", change, _everywhere(types.cast_number, wrong_number)


def _everywhere(function: Function, wrong: Function) -> Callable[[], None]:
    """Puts `wrong` in the place of `function` wherever it was imported."""

    def apply() -> None:
        for module in list(sys.modules.values()):
            for name in [name for name, value in getattr(module, "__dict__", {}).items() if value is function]:
                setattr(module, name, wrong)

    return apply


def _cast(wrong: Function) -> Callable[[], None]:
    def apply() -> None:
        object.__setattr__(CAST, "meaning", wrong)

    return apply


def _promotions() -> dict[str, Callable[[DType, DType], DType]]:
    right = types.promote

    def integer_beats_float(a: DType, b: DType) -> DType:
        return (b if a.is_float else a) if a.is_float != b.is_float else right(a, b)

    def wider_beats_float(a: DType, b: DType) -> DType:
        return max(a, b, key=lambda t: t.bits) if a.is_float != b.is_float else right(a, b)

    def narrower_wins(a: DType, b: DType) -> DType:
        return min(a, b, key=lambda t: t.bits) if a.kind == b.kind else right(a, b)

    def signed_wins(a: DType, b: DType) -> DType:
        return (a if a.kind == "i" else b) if {a.kind, b.kind} == {"i", "u"} and a.bits == b.bits else right(a, b)

    def u1_stays(a: DType, b: DType) -> DType:
        return u1 if a is b is u1 else right(a, b)

    def u1_is_narrow(a: DType, b: DType) -> DType:
        return right(*(u8 if t is u1 else t for t in (a, b)))

    def narrow_becomes_i32(a: DType, b: DType) -> DType:
        return right(*(i32 if t.is_integer and t.bits < 32 else t for t in (a, b)))

    return {
        "an integer beats a float": integer_beats_float,
        "the wider beats a float": wider_beats_float,
        "the narrower wins": narrower_wins,
        "signed wins at equal width": signed_wins,
        "u1 with u1 stays u1": u1_stays,
        "u1 counts as u8": u1_is_narrow,
        "narrow integers become i32": narrow_becomes_i32,
        "the right operand's type": lambda a, b: b,
    }


def _only(
    where: Callable[[DType, Array], bool], wrong: Callable[[DType, Array], Array]
) -> Callable[[DType, Array], Array]:
    """The cast, but `wrong` for the types that `where` names."""
    right = types.cast

    def cast(to: DType, a: Array) -> Array:
        with np.errstate(all="ignore"):
            return wrong(to, a) if where(to, a) else right(to, a)

    return cast


def _float_to_integer(to: DType, a: Array) -> bool:
    return a.dtype.kind == "f" and to.kind in "iu"


def _casts() -> dict[str, Callable[[DType, Array], Array]]:
    right = types.cast
    integers = _float_to_integer
    return {
        "rounds to integers": _only(integers, lambda to, a: right(to, np.rint(a))),
        "floors to integers": _only(integers, lambda to, a: right(to, np.floor(a))),
        "wraps where it should saturate": _only(integers, _wrapped),
        "a NaN becomes the least": _only(
            integers, lambda to, a: np.where(np.isnan(a), to.numpy.type(to.min), right(to, a))
        ),
        "u1 keeps the last bit": _only(lambda to, a: to is u1, lambda to, a: (right(i32, a) & 1) != 0),
        "integers saturate": _only(lambda to, a: to.kind in "iu" and a.dtype.kind in "iu", _saturated),
        "large integers round twice": _only(
            lambda to, a: to.is_float and a.dtype.kind in "iu", lambda to, a: a.astype(f32.numpy).astype(to.numpy)
        ),
        "narrowing floats truncates": _only(
            lambda to, a: to is f32 and a.dtype == np.float64, lambda to, a: _toward_zero(a)
        ),
        "true becomes minus one": _only(
            lambda to, a: a.dtype == np.bool_ and to is not u1, lambda to, a: np.negative(a.astype(to.numpy))
        ),
        "loses the sign of zero": _only(lambda to, a: to.is_float, lambda to, a: right(to, a) + to.numpy.type(0)),
    }


def _wrapped(to: DType, a: Array) -> Array:
    integral = np.trunc(np.nan_to_num(a.astype(np.float64), posinf=0, neginf=0))
    return np.fmod(integral, 2.0**63).astype(np.int64).astype(to.numpy)


def _saturated(to: DType, a: Array) -> Array:
    clipped = [min(max(int(x), to.min), to.max) for x in a.ravel().tolist()]
    return np.array(clipped, to.numpy).reshape(a.shape)


def _toward_zero(a: Array) -> Array:
    near = a.astype(np.float32)
    return np.where(np.abs(near.astype(np.float64)) > np.abs(a), np.nextafter(near, np.float32(0)), near)


def _host_casts() -> dict[str, Callable[[HostNumber, DType], HostNumber]]:
    right = types.cast_number

    def saturated(value: HostNumber, to: DType) -> HostNumber:
        return min(max(value, to.min), to.max) if isinstance(value, int) and to.kind in "iu" else right(value, to)

    def rounded(value: HostNumber, to: DType) -> HostNumber:
        finite = isinstance(value, float) and abs(value) < 2.0**63
        return right(round(value), to) if finite and to.kind in "iu" else right(value, to)

    def unrounded(value: HostNumber, to: DType) -> HostNumber:
        return float(value) if isinstance(value, float) and to.is_float else right(value, to)

    return {"integers saturate": saturated, "rounds to integers": rounded, "floats are not rounded": unrounded}
