"""Rotations, scalings and translations as matrices; those of space are 4x4, for homogeneous coordinates.

`rotation2d`, `translate` and `scale` act on column vectors: `matrix @ v`. `rot_by_axis`, `rotation3d` and
`rot_yaw_pitch_roll` act on row vectors, as the programs that use them expect: `matrix.transpose() @ v`.
"""

from __future__ import annotations

from ...errors import AdstackTypeError
from ..calling import takes
from ..elements import describe
from ..functions import cos, sin
from ..kinds import Operand
from .algebra import vector_operand
from .matrix import Matrix

Axis = tuple[float, float, float]
X: Axis = (1.0, 0.0, 0.0)
Y: Axis = (0.0, 1.0, 0.0)
Z: Axis = (0.0, 0.0, 1.0)


@takes("eye")
def eye(n: int) -> Operand:
    """The identity matrix of n rows, in the default float type."""
    return Matrix.identity(float, n)


@takes("vdir")
def vdir(ang: object) -> Operand:
    """The unit vector at an angle `ang`, in radians, from the x axis."""
    return Matrix([cos(ang), sin(ang)])


@takes("rotation2d")
def rotation2d(ang: object) -> Operand:
    """The 2x2 matrix that turns by an angle `ang`, in radians, counterclockwise."""
    c, s = cos(ang), sin(ang)
    return Matrix([[c, -s], [s, c]])


@takes("translate")
def translate(dx: object, dy: object, dz: object) -> Operand:
    """The 4x4 matrix that moves by (dx, dy, dz)."""
    return Matrix([[1.0, 0.0, 0.0, dx], [0.0, 1.0, 0.0, dy], [0.0, 0.0, 1.0, dz], [0.0, 0.0, 0.0, 1.0]])


@takes("scale")
def scale(sx: object, sy: object, sz: object) -> Operand:
    """The 4x4 matrix that stretches the axes by sx, sy and sz."""
    return Matrix.diag(4, [sx, sy, sz, 1.0])


def _about(axis: Operand, angle: Operand) -> Operand:
    """The 4x4 matrix, for row vectors, that turns by `angle` about a unit axis (Rodrigues' formula)."""
    x, y, z = axis
    c, s = cos(angle), sin(angle)
    t = 1.0 - c
    rows = [
        [t * x * x + c, t * x * y + s * z, t * x * z - s * y, 0.0],
        [t * x * y - s * z, t * y * y + c, t * y * z + s * x, 0.0],
        [t * x * z + s * y, t * y * z - s * x, t * z * z + c, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
    return Matrix(rows)


@takes("rot_by_axis")
def rot_by_axis(axis: object, ang: object) -> Operand:
    """The 4x4 matrix that turns row vectors by an angle `ang`, in radians, about an axis of any length.

    AdstackTypeError if the axis is no vector of 3 components.
    """
    about = vector_operand("rot_by_axis", axis)
    if about.n != 3:
        raise AdstackTypeError("an axis of rotation is a 3-vector", note=f"got {describe(about)}")
    return _about(about.normalized().entries, ang)


@takes("rot_yaw_pitch_roll")
def rot_yaw_pitch_roll(yaw: object, pitch: object, roll: object) -> Operand:
    """The 4x4 matrix that turns row vectors by roll about z, then by pitch about x, then by yaw about y."""
    return _about(Z, roll) @ _about(X, pitch) @ _about(Y, yaw)


@takes("rotation3d")
def rotation3d(ang_x: object, ang_y: object, ang_z: object) -> Operand:
    """The 4x4 matrix that turns row vectors by ang_y about z, then by ang_x about x, then by ang_z about y."""
    return rot_yaw_pitch_roll(ang_z, ang_x, ang_y)
