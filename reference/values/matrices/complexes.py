"""Complex numbers as 2-vectors (real part, imaginary part)."""

from __future__ import annotations

from ...errors import AdstackTypeError
from ..calling import takes
from ..elements import Elements, describe
from ..functions import atan2, cos, exp, log, select, sin
from ..kinds import Operand
from .algebra import vector_operand


def _parts(value: object) -> tuple[Operand, Operand]:
    vector = vector_operand("a complex function", value)
    if vector.n != 2:
        raise AdstackTypeError("a complex number is a 2-vector", note=f"got {describe(vector)}")
    re, im = vector.entries
    return re, im


def _complex(re: object, im: object) -> Operand:
    return Elements.over([re, im], (2,))


@takes("cconj")
def cconj(z: object) -> Operand:
    """The conjugate of the complex number z, a 2-vector of its real and imaginary parts."""
    re, im = _parts(z)
    return _complex(re, -im)


@takes("cmul")
def cmul(z1: object, z2: object) -> Operand:
    """The product of the complex numbers z1 and z2."""
    (a, b), (c, d) = _parts(z1), _parts(z2)
    return _complex(a * c - b * d, a * d + b * c)


@takes("cinv")
def cinv(z: object) -> Operand:
    """The reciprocal of the complex number z."""
    return cconj(z) / _norm_sqr(z)


@takes("cdiv")
def cdiv(z1: object, z2: object) -> Operand:
    """The quotient z1 / z2 of complex numbers."""
    return cmul(z1, cconj(z2)) / _norm_sqr(z2)


def _norm_sqr(z: object) -> Operand:
    re, im = _parts(z)
    return re * re + im * im


def _polar(radius: object, angle: object) -> Operand:
    return _complex(radius * cos(angle), radius * sin(angle))


def _angle(z: object) -> Operand:
    """The angle of z; 0 for 0, so that derivatives there are not NaN."""
    re, im = _parts(z)
    return select(_norm_sqr(z) == 0, 0.0, atan2(im, re))


@takes("cexp")
def cexp(z: object) -> Operand:
    """e to the power z."""
    re, im = _parts(z)
    return _polar(exp(re), im)


@takes("clog")
def clog(z: object) -> Operand:
    """The principal logarithm of the complex number z: its imaginary part lies in [-pi, pi]."""
    re, im = _parts(z)
    return _complex(0.5 * log(_norm_sqr(z)), atan2(im, re))


@takes("csqrt")
def csqrt(z: object) -> Operand:
    """The principal square root of the complex number z: its real part is not negative."""
    return cpow(z, 0.5)


@takes("cpow")
def cpow(z: Operand, n: Operand) -> Operand:
    """z to the real power n: the principal value."""
    return _polar(_norm_sqr(z) ** (0.5 * n), _angle(z) * n)
