"""Rotations compared with the series of their exponential over rationals."""

import math
from fractions import Fraction

import numpy as np
import pytest

from adstack.errors import AdstackTypeError
from adstack.values.matrices import transformations as tr
from adstack.values.matrices.matrix import Vector

EPS = np.finfo(np.float64).eps
ANGLES = [0.0, 0.5, -1.25, math.pi]


def turned_about(axis, angle):
    """The rotation of column vectors as the exponential of the cross product with the axis, by its series."""
    x, y, z = (Fraction(e) for e in axis)
    generator = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    step = np.array([[Fraction(e) * Fraction(angle) for e in row] for row in generator], object)
    total = term = np.array([[Fraction(int(i == j)) for j in range(3)] for i in range(3)], object)
    for k in range(1, 40):
        term = term.dot(step) / k
        total = total + term
    return total.astype(np.float64)


def within(got, wanted, roundings):
    return np.abs(np.asarray(got, np.float64) - wanted).max() <= roundings * EPS


@pytest.mark.parametrize("angle", ANGLES)
def test_rotations_about_the_axes_act_on_row_vectors(angle):
    for axis in ([1, 0, 0], [0, 1, 0], [0, 0, 1]):
        got = tr.rot_by_axis(Vector(axis) * 3.0, angle).to_numpy()
        # each entry: at most 2 units for sine and cosine, and 6 products and sums
        assert within(got[:3, :3].T, turned_about(axis, angle), 8)
        assert got[3].tolist() == got[:, 3].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_a_rotation_about_a_slanted_axis():
    got = tr.rot_by_axis([2.0, 1.0, 2.0], 0.75).to_numpy()[:3, :3]
    assert within(got.T, turned_about([Fraction(2, 3), Fraction(1, 3), Fraction(2, 3)], 0.75), 16)


def test_euler_angles_compose_rotations_about_the_axes():
    yaw, pitch, roll = 0.1, 0.2, 0.3
    x, y, z = [1, 0, 0], [0, 1, 0], [0, 0, 1]
    wanted = turned_about(y, yaw) @ turned_about(x, pitch) @ turned_about(z, roll)
    assert within(tr.rot_yaw_pitch_roll(yaw, pitch, roll).to_numpy()[:3, :3].T, wanted, 32)
    assert within(tr.rotation3d(pitch, roll, yaw).to_numpy()[:3, :3].T, wanted, 32)


def test_plane_rotations_and_directions():
    assert tr.rotation2d(0.0).to_list() == [[1.0, 0.0], [0.0, 1.0]]
    assert (tr.rotation2d(0.5) @ [1.0, 0.0]).to_list() == tr.vdir(0.5).to_list() == [math.cos(0.5), math.sin(0.5)]


def test_translations_and_scalings_act_on_column_vectors():
    assert (tr.translate(1, 2, 3) @ [10, 20, 30, 1]).to_list() == [11, 22, 33, 1]
    assert (tr.scale(2, 3, 4) @ [10, 20, 30, 1]).to_list() == [20, 60, 120, 1]
    assert tr.eye(2).to_list() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("axis", [[1, 0], 3])
def test_an_axis_is_a_3_vector(axis):
    with pytest.raises(AdstackTypeError, match=r"axis of rotation is a 3-vector|must be vectors"):
        tr.rot_by_axis(axis, 1.0)
