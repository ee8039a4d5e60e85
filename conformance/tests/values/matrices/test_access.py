"""Elements by static and runtime indices, slices, and what assignments check."""

import numpy as np
import pytest
from symbolic import Term, recorded, value_of

from adstack.errors import AdstackIndexError, AdstackTypeError
from adstack.ir.types import f32, i32
from adstack.values.elements import Elements
from adstack.values.matrices.matrix import Matrix, Vector


def grid():
    return Matrix([[1, 2, 3], [4, 5, 6]])


def test_elements_by_static_indices():
    v, m = Vector([1, 2, 3]), grid()
    assert [v[0], v[2], v[-1], v[np.int32(1)], v[(1,)]] == [1, 3, 3, 2, 2]
    assert [m[0, 0], m[1, 2], m[-1, -3], m[Vector([1, 1])]] == [1, 6, 4, 5]


def test_slices():
    v, m = Vector([1, 2, 3, 4]), grid()
    assert v[1:3].to_list() == [2, 3]
    assert v[::-1].to_list() == [4, 3, 2, 1]
    assert m[0, :].to_list() == [1, 2, 3]
    assert m[:, 1].to_list() == [2, 5]
    assert m[:, ::2].to_list() == [[1, 3], [4, 6]]
    assert m[1:, 1:].to_list() == [[5, 6]]


def test_a_slice_is_a_copy_and_a_slice_assigned_to_is_not():
    m = grid()
    m[0, :][0] = 99
    m[:, 1] = [20, 50]
    m[1, 1:] = 7
    m[0:2, 0:1] = Matrix([[8], [9]])
    assert m.to_list() == [[8, 20, 3], [9, 7, 7]]


def test_assigning_takes_the_value_before_any_element_changes():
    v = Vector([1, 2, 3])
    v[:] = v[::-1]
    assert v.to_list() == [3, 2, 1]


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (3, AdstackIndexError, "index 3 is out of range for axis 0 of a 3-vector"),
        (-4, AdstackIndexError, "index -4 is out of range"),
        ((0, 0), AdstackIndexError, "a 3-vector takes 1 indices, got 2"),
        (1.5, AdstackTypeError, "must be an integer .got a float"),
        (True, AdstackTypeError, "must be an integer .got a bool"),
        ("x", AdstackTypeError, "must be an integer"),
        (slice(3, 3), AdstackIndexError, "selects nothing"),
        (slice(Term(0), 2), AdstackTypeError, "compile-time constants"),
        (Term(1.5), AdstackTypeError, "must be an integer .got f64"),
    ],
)
def test_wrong_indices_are_refused_in_reading_and_writing(index, error, message):
    v = Vector([1, 2, 3])
    with pytest.raises(error, match=message):
        v[index]
    with pytest.raises(error, match=message):
        v[index] = 0


@pytest.mark.parametrize("index", [0, (0, 0, 0)])
def test_a_matrix_takes_two_indices(index):
    with pytest.raises(AdstackIndexError, match="a 2x3 matrix takes 2 indices"):
        grid()[index]


@pytest.mark.parametrize("value", [[1, 2], [[1, 2, 3]], Vector([1])])
def test_shapes_of_assignments_must_agree(value):
    v = Vector([1, 2, 3])
    with pytest.raises(AdstackTypeError, match="can't be assigned to a 3-vector"):
        v.assign(value)
    with pytest.raises(AdstackTypeError, match="can't be assigned to a scalar"):
        v[0] = value


def test_fill_and_assign():
    m = grid()
    m.fill(0)
    assert m.to_list() == [[0, 0, 0], [0, 0, 0]]
    m.assign([[1, 2, 3], [4, 5, 6]])
    assert m.to_list() == grid().to_list()


@pytest.mark.parametrize("k", range(3))
def test_a_runtime_index_reads_the_element_there(k):
    assert Vector([10, 20, 30])[Term(k)].value == (k + 1) * 10


def test_runtime_indices_of_a_matrix():
    m = grid()
    got = [[value_of(m[Term(i), Term(j)]) for j in range(3)] for i in range(2)]
    assert got == m.to_list()
    assert value_of(m[1, Term(2)]) == 6
    assert value_of(m[Term(1), 0]) == 4


def test_a_runtime_index_beside_a_slice_reads_a_row_or_column():
    m = grid()
    assert value_of(m[Term(1), :]) == [4, 5, 6]
    assert value_of(m[Term(1), 1:]) == [5, 6]
    assert value_of(m[:, Term(2)]) == [3, 6]


def test_a_runtime_index_writes_the_element_there_and_no_other():
    m = grid()
    m[Term(1), Term(0)] = 40
    m[Term(0), :] = [10, 20, 30]
    m[:, Term(2)] = 0
    assert value_of(m) == [[10, 20, 0], [40, 5, 0]]


def test_runtime_indices_are_chains_of_selects():
    recorded()
    Vector([1, 2, 3])[Term(2)]
    assert recorded() == ["eq", "select", "eq", "select"]


def test_a_runtime_index_out_of_range_writes_nothing_and_reads_the_first():
    v = Vector([1, 2])
    v[Term(7)] = 9
    assert value_of(v) == [1, 2]
    assert value_of(v[Term(7)]) == 1


@pytest.mark.parametrize("index", [(Term(0), 1.5), (0.5, Term(0)), (Term(0.5), slice(None))])
def test_indices_beside_a_runtime_index_must_be_integers_too(index):
    with pytest.raises(AdstackTypeError, match="must be an integer"):
        grid()[index]


class Reaching(list):
    """A storage that can be reached by runtime indices."""

    def get_at(self, indices, shape):
        return ("at", indices, shape)

    def set_at(self, indices, shape, value):
        self.append((indices, shape, value))


def test_a_storage_may_resolve_runtime_indices_itself():
    index = Term(1)
    storage = Reaching([1, 2])
    view = Elements.over(storage, (2,))
    assert view[index] == ("at", (index,), (2,))
    view[index] = 5
    assert storage[2] == ((index,), (2,), 5)


class Strict:
    """A storage with its own idea of what may be stored."""

    def __init__(self):
        self.stored = []

    def __len__(self):
        return 1

    def __getitem__(self, k):
        return 0

    def __setitem__(self, k, value):
        self.stored.append(value)


def test_only_elements_of_its_own_are_converted_by_a_vector():
    strict = Strict()
    Elements.over(strict, (1,), i32)[0] = 1.5
    assert strict.stored == [1.5]
    own = Vector([1], dt=i32)
    own[0] = 1.5
    assert own[0] == 1
    own[Term(0)] = 2.5
    assert value_of(own[0]) == 2


def test_declared_type_survives_assignment():
    v = Vector([1, 2], dt=f32)
    v.assign([0.1, 0.2])
    assert v.to_list() == [float(np.float32(0.1)), float(np.float32(0.2))]
