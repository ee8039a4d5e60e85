"""`qd.math`: values at the awkward points, elementwise use, and names."""

import math
from fractions import Fraction

import numpy as np
import pytest
from symbolic import Term, value_of

from adstack.errors import AdstackTypeError
from adstack.ir.types import u32
from adstack.values.matrices import math as qm
from adstack.values.matrices.matrix import Vector


def test_constants():
    assert (qm.pi, qm.e, qm.inf) == (math.pi, math.e, math.inf)
    assert math.isnan(qm.nan)


@pytest.mark.parametrize("name", sorted(qm.__all__))
def test_every_public_name_exists(name):
    assert getattr(qm, name) is not None


def test_named_types():
    assert qm.vec4(qm.vec2(1, 2), 3, 4).to_list() == [1.0, 2.0, 3.0, 4.0]
    assert qm.ivec3(1.5, 2, 3).to_list() == [1, 2, 3]
    assert qm.uvec2(-1).to_list() == [2**32 - 1] * 2
    assert qm.uvec2(0).dtype is u32
    assert [t.shape for t in (qm.mat2, qm.mat3, qm.mat4)] == [(2, 2), (3, 3), (4, 4)]


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("clamp", (5, 1, 2), 2),
        ("clamp", (0, 1, 2), 1),
        ("clamp", (1.5, 1, 2), 1.5),
        ("mix", (1.0, 3.0, 0.25), 1.5),
        ("step", (1.0, 1.0), 1.0),
        ("step", (1.0, 0.5), 0.0),
        ("smoothstep", (0.0, 1.0, 0.25), 0.15625),
        ("smoothstep", (0.0, 1.0, -3.0), 0.0),
        ("smoothstep", (0, 2, 5), 1.0),
        ("sign", (-2.5,), -1.0),
        ("sign", (7,), 1),
        ("sign", (0.0,), 0.0),
        ("sign", (math.nan,), 0.0),
        ("fract", (-1.25,), 0.75),
        ("mod", (-3.0, 2.0), 1.0),
        ("mod", (3.5, -2.0), -0.5),
        ("isnan", (math.nan,), True),
        ("isnan", (math.inf,), False),
        ("isinf", (-math.inf,), True),
        ("isinf", (math.nan,), False),
        ("degrees", (math.pi,), 180.0),
        ("radians", (180.0,), math.pi),
        ("ffs", (8,), 4),
        ("ffs", (0,), 0),
        ("ffs", (-(2**31),), 32),
        ("popcnt", (255,), 8),
        ("clz", (1,), 31),
        ("dot", ([1, 2], [3, 4]), 11),
        ("length", ([3, 4],), 5.0),
        ("distance", ([1, 1], [4, 5]), 5.0),
    ],
)
def test_functions_of_shading_languages(name, args, wanted):
    got = getattr(qm, name)(*args)
    assert got == wanted
    assert type(got) is type(wanted)


def test_they_work_element_by_element():
    assert qm.clamp(Vector([0, 5]), 1, 3).to_list() == [1, 3]
    assert qm.mix(Vector([0.0, 1.0]), Vector([2.0, 3.0]), 0.5).to_list() == [1.0, 2.0]
    assert qm.sign(Vector([1.5, -2, 0])).to_list() == [1.0, -1, 0]
    assert qm.sign([3, -3]).to_list() == [1, -1]
    assert qm.step(0.5, Vector([0.2, 0.7])).to_list() == [0.0, 1.0]
    assert qm.ffs(Vector([12, 1])).to_list() == [3, 1]
    assert qm.isnan(Vector([1.0, math.nan])).to_list() == [False, True]
    assert qm.mod(Vector([5.0, -5.0]), 3.0).to_list() == [2.0, 1.0]
    assert qm.fract(np.array([1.5, 2.25])).to_list() == [0.5, 0.25]
    assert qm.mix([0.0, 1.0], [2.0, 3.0], 0.5).to_list() == [1.0, 2.0]


def test_runtime_values_are_never_branched_on():
    x = Term(-1.25)
    assert value_of(qm.sign(x)) == -1.0
    assert value_of(qm.smoothstep(-2.0, 0.0, Term(-1.0))) == 0.5
    assert value_of(qm.mod(x, 1)) == 0.75
    assert value_of(qm.isinf(x)) is False
    assert value_of(qm.ffs(Term(24))) == 4


def test_geometry():
    assert qm.reflect(Vector([1, -1]), Vector([0, 1])).to_list() == [1, 1]
    assert qm.normalize([0.0, 2.0]).to_list() == [0.0, 1.0]
    assert qm.cross([1, 0, 0], [0, 1, 0]).to_list() == [0, 0, 1]
    assert qm.determinant([[1, 2], [3, 4]]) == -2
    assert qm.inverse([[Fraction(2)]]).to_list() == [[Fraction(1, 2)]]


def test_refraction_follows_snell_and_reflects_totally():
    bent = qm.refract(Vector([0.6, -0.8]), Vector([0.0, 1.0]), 0.5)
    assert bent.x == 0.3
    assert abs(bent.norm_sqr() - 1) <= 4 * np.finfo(np.float64).eps
    assert qm.refract(Vector([0.8, -0.6]), Vector([0.0, 1.0]), 2.0).to_list() == [0.0, 0.0]


@pytest.mark.parametrize("use", [lambda: qm.length(3), lambda: qm.dot(1, 2), lambda: qm.normalize("x")])
def test_vectors_are_asked_for_by_name(use):
    with pytest.raises(AdstackTypeError):
        use()
