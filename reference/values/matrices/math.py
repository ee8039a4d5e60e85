"""`qd.math`: constants, short names of vector and matrix types, and the functions of shading languages."""

from __future__ import annotations

import math as _math
from typing import TYPE_CHECKING, Final

from ...absent import missing as _missing
from ...ir.scalar_ops import ABS, ADD, DIV, EQ, GE, GT, LT, MUL, NE, SUB, XOR
from ..calling import takes
from ..elements import as_elements
from ..functions import (
    acos,
    asin,
    atan,
    atan2,
    cbrt,
    ceil,
    clz,
    cos,
    cosh,
    elementwise,
    exp,
    exp2,
    expm1,
    floor,
    hypot,
    like,
    log,
    log1p,
    log2,
    log10,
    operate,
    popcnt,
    rsqrt,
    select,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from ..functions import max_ as max
from ..functions import min_ as min
from ..functions import pow_ as pow
from ..functions import round_ as round
from ..kinds import Operand
from ..scalars import uint
from . import complexes as _complexes
from .matrix import Matrix, cross, determinant, inverse
from .transformations import (
    eye,
    rot_by_axis,
    rot_yaw_pitch_roll,
    rotation2d,
    rotation3d,
    scale,
    translate,
    vdir,
)
from .types import matrix, vector

__all__ = [
    "acos", "asin", "atan", "atan2", "cbrt", "cconj", "cdiv", "ceil", "cexp", "cinv", "clamp", "clog", "clz",
    "cmul", "cos", "cosh", "cpow", "cross", "csqrt", "degrees", "determinant", "distance", "dot", "e", "exp",
    "exp2", "expm1", "eye", "ffs", "floor", "fract", "hypot", "inf", "inverse", "isinf", "isnan", "ivec2",
    "ivec3", "ivec4", "length", "log", "log1p", "log2", "log10", "mat2", "mat3", "mat4", "max", "min", "mix",
    "mod", "nan", "normalize", "pi", "popcnt", "pow", "radians", "reflect", "refract", "rot_by_axis",
    "rot_yaw_pitch_roll", "rotation2d", "rotation3d", "round", "rsqrt", "scale", "sign", "sin", "sinh",
    "smoothstep", "sqrt", "step", "tan", "tanh", "translate", "uvec2", "uvec3", "uvec4", "vdir", "vec2", "vec3",
    "vec4",
]  # fmt: skip

pi: Final = _math.pi
e: Final = _math.e
inf: Final = _math.inf
nan: Final = _math.nan

if TYPE_CHECKING:
    from .matrix_types import MatrixValue

    ivec2 = MatrixValue
    ivec3 = MatrixValue
    ivec4 = MatrixValue
    mat2 = MatrixValue
    mat3 = MatrixValue
    mat4 = MatrixValue
    uvec2 = MatrixValue
    uvec3 = MatrixValue
    uvec4 = MatrixValue
    vec2 = MatrixValue
    vec3 = MatrixValue
    vec4 = MatrixValue
else:
    vec2 = vector(2, float)
    vec3 = vector(3, float)
    vec4 = vector(4, float)
    ivec2 = vector(2, int)
    ivec3 = vector(3, int)
    ivec4 = vector(4, int)
    uvec2 = vector(2, uint)
    uvec3 = vector(3, uint)
    uvec4 = vector(4, uint)
    mat2 = matrix(2, 2, float)
    mat3 = matrix(3, 3, float)
    mat4 = matrix(4, 4, float)

cconj, cmul, cdiv, cinv = _complexes.cconj, _complexes.cmul, _complexes.cdiv, _complexes.cinv
cexp, clog, csqrt, cpow = _complexes.cexp, _complexes.clog, _complexes.csqrt, _complexes.cpow


@takes("clamp")
def clamp(x: object, xmin: object, xmax: object) -> Operand:
    """x clamped to [xmin, xmax], element by element."""
    return min(xmax, max(xmin, x))


@takes("mix")
def mix(x: object, y: object, a: object) -> Operand:
    """From x (a = 0) to y (a = 1) in a straight line."""
    rest = operate(SUB, 1.0, a)
    return operate(ADD, operate(MUL, x, rest), operate(MUL, y, a))


@takes("step")
def step(edge: object, x: object) -> Operand:
    """0 where x is below the edge, else 1."""
    return select(operate(LT, x, edge), 0.0, 1.0)


@takes("smoothstep")
def smoothstep(edge0: object, edge1: object, x: object) -> Operand:
    """0 for x up to edge0, 1 from edge1 on, and between them a cubic of x with flat ends; elementwise on vectors."""
    t = clamp(operate(DIV, operate(SUB, x, edge0), operate(SUB, edge1, edge0)), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


@takes("sign")
def sign(x: object) -> Operand:
    """-1, 0 or 1 like x, in the type of x; 0 for NaN. Its derivative is 0."""
    x = as_elements(x)
    above, below = operate(GT, x, 0), operate(LT, x, 0)
    return select(above, like(x, 1), select(below, like(x, -1), like(x, 0)))


@takes("fract")
def fract(x: object) -> Operand:
    """x - floor(x): at least 0 and below 1."""
    return operate(SUB, x, floor(x))


@takes("mod")
def mod(x: object, y: object) -> Operand:
    """x - y * floor(x / y): the remainder with the sign of y."""
    return operate(SUB, x, operate(MUL, y, floor(operate(DIV, x, y))))


@takes("isnan")
def isnan(x: object) -> Operand:
    """Whether x is not a number."""
    return operate(NE, x, x)


@takes("isinf")
def isinf(x: object) -> Operand:
    """Whether x is an infinity."""
    return operate(EQ, elementwise(ABS, x), inf)


@takes("degrees")
def degrees(x: object) -> Operand:
    """An angle x in radians, in degrees; elementwise on vectors."""
    return operate(MUL, x, 180.0 / pi)


@takes("radians")
def radians(x: object) -> Operand:
    """An angle x in degrees, in radians; elementwise on vectors."""
    return operate(MUL, x, pi / 180.0)


@takes("ffs")
def ffs(x: object) -> Operand:
    """The position, from 1, of the lowest set bit of the integer x; 0 if none is set."""
    # x ^ (x - 1) has ones from the bottom up to the lowest set bit of x.
    return select(operate(EQ, x, 0), 0, popcnt(operate(XOR, x, operate(SUB, x, 1))))


@takes("dot")
def dot(x: object, y: object) -> Operand:
    """The sum of the products of the components of the vectors x and y."""
    return Matrix(x).dot(y)


@takes("length")
def length(x: object) -> Operand:
    """The Euclidean norm of the vector x."""
    return Matrix(x).norm()


@takes("normalize")
def normalize(v: object) -> Operand:
    """The vector v divided by its length."""
    return Matrix(v).normalized()


@takes("distance")
def distance(x: object, y: object) -> Operand:
    """The length of x - y."""
    return length(operate(SUB, x, y))


@takes("reflect")
def reflect(x: object, n: object) -> Operand:
    """The direction x mirrored at a surface with the unit normal n."""
    return Matrix(x) - 2.0 * dot(x, n) * Matrix(n)


@takes("refract")
def refract(x: Operand, n: Operand, eta: Operand) -> Operand:
    """The unit direction x bent at a surface with the unit normal n and ratio of indices eta; 0 if all is reflected."""
    x, n = Matrix(x), Matrix(n)
    along = x.dot(n)
    inside = 1.0 - eta * eta * (1.0 - along * along)
    passes = operate(GE, inside, 0)
    bent = eta * x - (eta * along + sqrt(select(passes, inside, 0.0))) * n
    return select(passes, bent, 0.0)


def __getattr__(name: str) -> object:
    """The error for a name that is not there, which says what to use."""
    raise _missing("qd.math", name, __all__)
