"""Complex numbers as 2-vectors (real part, imaginary part)."""

from __future__ import annotations

from typing import Any

from ...errors import AdstackTypeError
from ..elements import Elements, describe
from ..functions import atan2, cos, exp, log, select, sin
from .algebra import vector_operand


def _parts(value: object) -> tuple[Any, Any]:
    vector = vector_operand("a complex function", value)
    if vector.n != 2:
        raise AdstackTypeError("a complex number is a 2-vector", note=f"got {describe(vector)}")
    re, im = vector.entries
    return re, im


def _complex(re: object, im: object) -> Any:
    return Elements.over([re, im], (2,))


def cconj(z: object) -> Any:
    """The conjugate."""
    re, im = _parts(z)
    return _complex(re, -im)


def cmul(z1: object, z2: object) -> Any:
    """The product."""
    (a, b), (c, d) = _parts(z1), _parts(z2)
    return _complex(a * c - b * d, a * d + b * c)


def cinv(z: object) -> Any:
    """The reciprocal."""
    return cconj(z) / _norm_sqr(z)


def cdiv(z1: object, z2: object) -> Any:
    """The quotient."""
    return cmul(z1, cconj(z2)) / _norm_sqr(z2)


def _norm_sqr(z: object) -> Any:
    re, im = _parts(z)
    return re * re + im * im


def _polar(radius: object, angle: object) -> Any:
    return _complex(radius * cos(angle), radius * sin(angle))


def _angle(z: object) -> Any:
    """The angle of z; 0 for 0, so that derivatives there are not NaN."""
    re, im = _parts(z)
    return select(_norm_sqr(z) == 0, 0.0, atan2(im, re))


def cexp(z: object) -> Any:
    """e to the power z."""
    re, im = _parts(z)
    return _polar(exp(re), im)


def clog(z: object) -> Any:
    """The principal logarithm: its imaginary part lies in [-pi, pi]."""
    re, im = _parts(z)
    return _complex(0.5 * log(_norm_sqr(z)), atan2(im, re))


def csqrt(z: object) -> Any:
    """The principal square root: its real part is not negative."""
    return cpow(z, 0.5)


def cpow(z: Any, n: Any) -> Any:
    """z to the real power n: the principal value."""
    return _polar(_norm_sqr(z) ** (0.5 * n), _angle(z) * n)
