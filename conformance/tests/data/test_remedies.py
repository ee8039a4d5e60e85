"""What the host is told about fields, levels and types that it can't have: every message says what to do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.errors import AdstackError

MISTAKES: dict[str, Callable[[], Any]] = {
    "a vector field without its extent": lambda: qd.Vector.field(qd.f32, 4),
    "a vector field of a fractional extent": lambda: qd.Vector.field(2.0, qd.f32, 4),
    "a matrix field of one extent": lambda: qd.Matrix.field(2, qd.f32, 4),
    "a type of vectors that begins with the scalar type": lambda: qd.types.vector(qd.f32, 3),
    "more extents than axes": lambda: qd.root.dense(qd.ij, (2, 2, 2)),
    "an axis as a number": lambda: qd.root.dense(0, 4),
    "an axis of no extent": lambda: qd.field(qd.f32, (2, 0)),
    "an array of complex numbers": lambda: qd.field(qd.f32, 2).from_numpy(np.zeros(2, complex)),
    "an array of texts": lambda: qd.field(qd.f32, 2).from_numpy(np.array(["a", "b"])),
    "an element of another length": lambda: qd.Vector.field(2, qd.f32, 4).fill([1.0, 2.0, 3.0]),
    "a list as an element of numbers": lambda: qd.field(qd.f32, 2).fill([1.0, 2.0]),
    "nan in integers": lambda: qd.field(qd.i32, 2).fill(float("nan")),
    "more values than members": lambda: qd.types.struct(a=qd.f32)(1.0, 2.0),
    "rows of several lengths": lambda: qd.Matrix([[1.0, 2.0], [3.0]]),
    "a cross product of four components": lambda: qd.Vector([1, 2, 3, 4]).cross(qd.Vector([1, 2, 3, 4])),
    "a product of vectors of several lengths": lambda: qd.Vector([1, 2]).dot(qd.Vector([1, 2, 3])),
    "an inverse of a matrix that is not square": lambda: qd.Matrix([[1.0, 2.0]]).inverse(),
    "an argument of several types": lambda: qd.f32 | qd.i32,
    "an argument that may be None": lambda: None | qd.f32,
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_says_what_to_do(name: str) -> None:
    qd.init(arch=qd.reference, announce=False)
    with pytest.raises(AdstackError, match="\n  do: "):
        MISTAKES[name]()
