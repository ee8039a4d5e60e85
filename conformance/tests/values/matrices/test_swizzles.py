"""Components by letters, all of them, read and assigned."""

import itertools

import pytest

from adstack.errors import AdstackCompilationError, AdstackSyntaxError, AdstackTypeError
from adstack.values.matrices.matrix import Matrix, Vector
from adstack.values.matrices.swizzles import GROUPS, positions_of


@pytest.mark.parametrize("group", GROUPS)
def test_all_swizzles_of_a_4_vector(group):
    v = Vector([10, 20, 30, 40])
    for length in range(1, 5):
        for letters in itertools.product(group, repeat=length):
            wanted = [10 * (group.index(letter) + 1) for letter in letters]
            got = getattr(v, "".join(letters))
            assert (got if length == 1 else got.to_list()) == (wanted[0] if length == 1 else wanted)


@pytest.mark.parametrize("name", ["", "xr", "xyzwx", "u", "n"])
def test_letters_of_one_group_up_to_four(name):
    assert positions_of(name) is None


def test_swizzles_can_be_assigned_to():
    v = Vector([1, 2, 3])
    v.x = 10
    v.zy = [30, 20]
    assert v.to_list() == [10, 20, 30]
    v.rgb = 0
    assert v.to_list() == [0, 0, 0]


def test_swapping_components():
    v = Vector([1, 2])
    v.xy = v.yx
    assert v.to_list() == [2, 1]


def test_a_component_named_twice_is_no_target():
    with pytest.raises(AdstackSyntaxError, match="'xx' names a component twice"):
        Vector([1, 2]).xx = [1, 2]


@pytest.mark.parametrize("name", ["z", "xz", "b"])
def test_a_component_that_is_not_there(name):
    v = Vector([1, 2])
    assert not hasattr(v, name)
    with pytest.raises(AdstackCompilationError, match=f"a 2-vector has no component '{name}'"):
        getattr(v, name)
    with pytest.raises(AttributeError, match="components that it has: xy, rg, st"):
        setattr(v, name, 1)


def test_matrices_have_no_components():
    with pytest.raises(AttributeError, match="a 1x2 matrix has no component 'x'"):
        _ = Matrix([[1, 2]]).x


def test_other_attributes_do_not_exist_and_can_not_be_set():
    v = Vector([1, 2])
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        _ = v.foo
    with pytest.raises(AttributeError, match="no attribute 'foo' that can be set"):
        v.foo = 1


def test_shapes_of_assigned_swizzles_must_agree():
    with pytest.raises(AdstackTypeError, match="a 3-vector can't be assigned to a 2-vector"):
        Vector([1, 2, 3]).xy = [1, 2, 3]
    with pytest.raises(AdstackTypeError, match="can't be assigned to a scalar"):
        Vector([1, 2, 3]).x = [1]
