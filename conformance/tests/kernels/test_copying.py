"""`pickle` of what definitions in a module made: their names are kept, as for functions."""

import pickle

import pytest

import adstack as qd


@qd.kernel
def double(n: qd.i32) -> qd.i32:
    return 2 * n


@qd.func
def half(a):
    return a // 2


@qd.data_oriented
class Counter:
    def __init__(self) -> None:
        self.step = 3

    @qd.kernel
    def advance(self, n: qd.i32) -> qd.i32:
        return half(n) + self.step


def test_kernels_and_functions_are_pickled_by_name() -> None:
    for thing in (double, half, Counter.advance):
        assert pickle.loads(pickle.dumps(thing)) is thing
    assert pickle.loads(pickle.dumps(double.grad)).kernel is double


def test_a_kernel_that_is_a_method_is_pickled_with_its_object() -> None:
    advance = pickle.loads(pickle.dumps(Counter().advance))
    assert (advance(8), advance.kernel) == (7, Counter.advance)


def test_a_kernel_without_a_name_in_its_module_is_refused_by_pickle() -> None:
    @qd.kernel
    def inner() -> qd.i32:
        return 1

    with pytest.raises((pickle.PicklingError, AttributeError), match="inner"):
        pickle.dumps(inner)


def test_a_graph_and_a_layout_say_how_to_make_another() -> None:
    with qd.graph() as graph:
        pass
    for thing, remedy in ((graph, "record another one"), (qd.root, "place other fields there")):
        with pytest.raises(qd.AdstackRuntimeTypeError, match=remedy):
            pickle.dumps(thing)
