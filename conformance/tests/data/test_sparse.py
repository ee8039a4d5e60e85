"""Sparse fields from the host: what activates, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import adstack as qd

on_reference = pytest.mark.usefixtures("on_reference")


@on_reference
def test_a_list_grows_as_far_as_the_host_writes() -> None:
    x = qd.field(qd.i32)
    lists = qd.root.dense(qd.i, 2).dynamic(qd.j, 4)
    lists.place(x)
    x[1, 2] = 5
    assert [qd.length(lists, 0), qd.length(lists, [1])] == [0, 3]
    assert qd.is_active(x.parent(), 1, 1)
    x.from_numpy(np.array([[0, 1, 0, 0], [0, 0, 0, 0]]))
    assert [qd.length(lists, 0), qd.length(lists, 1)] == [2, 3]
    assert x.to_numpy().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]


@on_reference
def test_levels_below_are_deactivated_and_those_above_stay() -> None:
    x, y = qd.field(qd.f32), qd.field(qd.f32)
    block = qd.root.pointer(qd.ij, (2, 3))
    pixel = block.bitmasked(qd.i, 2)
    pixel.place(x)
    block.place(y)
    x[3, 2], y[1, 1] = 1, 2
    pixel.deactivate_all()
    assert (x[3, 2], y[1, 1]) == (0, 2)
    assert (qd.is_active(pixel, 3, 2), qd.is_active(block, 1, 2)) == (False, True)
    qd.deactivate_all_snodes()
    assert y[1, 1] == 0
    assert not qd.is_active(block, 1, 2)


@on_reference
def test_the_gradient_that_is_left_of_an_inactive_element_is_cleared() -> None:
    x = qd.field(qd.f32)
    qd.root.bitmasked(qd.i, 3).place(x, x.grad)
    x.from_numpy(np.array([1, 1, 0]))

    @qd.kernel
    def drop():
        qd.deactivate(x.parent(), [0])

    x.grad.from_numpy(np.array([1, 2, 0]))
    drop()
    assert (x.grad[0], x.grad.to_numpy().tolist()) == (0, [0, 2, 0])
    x.grad.fill(7)
    x[0] = 1
    assert x.grad.to_numpy().tolist() == [0, 7, 0]
    x.parent().deactivate_all()
    x.fill(0)
    x[1] = 1
    assert x.grad.to_numpy().tolist() == [0, 0, 0]


@on_reference
def test_the_host_reads_a_constant_where_nothing_is_active() -> None:
    x, y = qd.field(qd.f32), qd.field(qd.f32, shape=(), needs_grad=True)
    qd.root.bitmasked(qd.i, 2).place(x, x.grad)
    x[1] = 3
    with qd.ad.Tape(y):
        y[None] = x[0] * 2 + x[1] * 4
    assert x.grad.to_numpy().tolist() == [0, 4]


@on_reference
def test_what_a_level_can_not_be_is_refused() -> None:
    with pytest.raises(ValueError, match="a dynamic level has one axis"):
        qd.root.dynamic(qd.ij, 4)
    with pytest.raises(ValueError, match="a dynamic level has no levels below"):
        qd.root.dynamic(qd.i, 4).dense(qd.j, 2)
    with pytest.raises(ValueError, match="only a dynamic level has lists"):
        qd.length(qd.root.pointer(qd.i, 4), 1)
    with pytest.raises(ValueError, match="a level of a layout is needed here, got a int"):
        qd.is_active(3, 1)
    with pytest.raises(IndexError, match=r"is_active at \(4,\): out of the bounds \(4,\)"):
        qd.is_active(qd.root.pointer(qd.i, 4), 4)


@on_reference
def test_what_is_for_kernels_or_shares_memory_is_refused() -> None:
    x = qd.field(qd.i32)
    lists = qd.root.dynamic(qd.i, 4)
    lists.place(x)
    with pytest.raises(RuntimeError, match=r"append\(\) has a meaning only in a kernel"):
        x.append(1)
    with pytest.raises(qd.AdstackSyntaxError, match="activate has a meaning only in a kernel"):
        qd.activate(lists, [1])
    with pytest.raises(ValueError, match="is sparse and can't share its memory"):
        x.to_numpy(copy=False)
    with pytest.raises(ValueError, match="is sparse and can't share its memory"):
        np.from_dlpack(x)


@on_reference
def test_deactivating_what_an_inner_loop_relies_on_is_refused() -> None:
    x = qd.field(qd.i32)
    level = qd.root.bitmasked(qd.i, 4)
    level.place(x)

    @qd.kernel
    def k():
        for i in x:
            for n in range(2):
                x[i] = n
                qd.deactivate(level, [i])

    with pytest.raises(qd.AdstackSyntaxError, match="deactivates inside of one inner loop"):
        k()


def _list_is_a_number(x: qd.Field) -> None:
    qd.sin(x[1])


def _list_has_two_indices(x: qd.Field) -> None:
    x[1].append(1, 2)


def _host_method(x: qd.Field) -> None:
    x.parent().deactivate_all()


def _few_indices(x: qd.Field) -> None:
    qd.activate(x.parent(), [1])


def _float_index(x: qd.Field) -> None:
    qd.is_active(x.parent(), [1, 0.5])


REFUSED = {
    _list_is_a_number: "got a list, whose elements have one index more",
    _list_has_two_indices: "append takes 1 indices here, got 2",
    _host_method: "deactivate_all is for the host",
    _few_indices: "activate takes 2 indices here, got 1",
    _float_index: "an index must be an integer",
}


@on_reference
@pytest.mark.parametrize("wrong", REFUSED)
def test_what_is_wrong_in_a_kernel_is_told(wrong) -> None:  # type: ignore[no-untyped-def]
    x = qd.field(qd.f32)
    qd.root.dense(qd.i, 4).dynamic(qd.j, 4).place(x)
    wrong.__annotations__ = {"x": qd.template()}
    with pytest.raises(qd.AdstackCompilationError, match=REFUSED[wrong]):
        qd.kernel(wrong)(x)


@on_reference
def test_a_field_that_is_no_list_has_no_elements_to_append() -> None:
    x = qd.field(qd.f32, shape=3)

    @qd.kernel
    def k():
        x.append(1.0)

    with pytest.raises(qd.AdstackTypeError, match=r"has no lists: append\(\) is for a field in a dynamic level"):
        k()


@on_reference
def test_a_builder_destroys_its_levels_with_their_fields() -> None:
    builder, x = qd.FieldsBuilder(), qd.field(qd.f32)
    level = builder.pointer(qd.i, 4)
    level.place(x)
    tree = builder.finalize()
    x[1] = 2
    assert [qd.is_active(level, i) for i in range(4)] == [False, True, False, False]
    tree.destroy()
    with pytest.raises(qd.AdstackRuntimeError, match="its data is gone"):
        qd.is_active(level, 1)


@pytest.mark.parametrize("arch", ["reference", "cpu"])
@pytest.mark.parametrize("name", ["x", ""])
@pytest.mark.parametrize("use", ["is_active", "activate", "deactivate"])
def test_a_cell_outside_of_a_level_is_an_error_of_the_level(arch: str, name: str, use: str) -> None:
    qd.init(arch=arch, debug=True)
    blocks = qd.root.pointer(qd.i, 8)
    blocks.dense(qd.i, 4).place(qd.field(qd.f32, name=name))
    function = getattr(qd, use)

    @qd.kernel
    def k(i: qd.i32) -> None:
        function(blocks, [i])

    level = "the sparse level of field x" if name else "a sparse level"
    with pytest.raises(qd.AdstackOutOfBoundsError, match=rf"Accessing {level} at \(9\), outside its extents \(8\)"):
        k(9)
