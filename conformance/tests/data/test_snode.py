"""Placement: shapes from levels, gradients placed by hand or at once, builders."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


def test_extents_multiply_per_axis() -> None:
    x, y = qd.field(qd.f32), qd.Vector.field(2, qd.i32)
    level = qd.root.dense(qd.i, 3).dense(qd.ij, (2, 4))
    level.place(x, y)
    assert (x.shape, y.shape, level.shape) == ((6, 4), (6, 4), (6, 4))


def test_one_extent_serves_all_axes() -> None:
    x = qd.field(qd.f32)
    qd.root.dense(qd.axes(0, 1, 2), 2).place(x)
    assert x.shape == (2, 2, 2)


def test_axes_are_ordered_by_number() -> None:
    x = qd.field(qd.f32)
    qd.root.dense(qd.j, 4).dense(qd.i, 3).place(x)
    assert x.shape == (3, 4)


def test_the_root_places_scalars() -> None:
    x = qd.field(qd.f32)
    qd.root.place(x)
    assert x.shape == ()
    x[None] = 2
    assert x[None] == 2


def test_a_placed_field_may_have_an_offset() -> None:
    x = qd.field(qd.f32)
    qd.root.dense(qd.i, 3).place(x, offset=-1)
    x[-1] = 5
    assert x.to_numpy().tolist() == [5, 0, 0]


def test_gradients_can_be_placed_by_hand() -> None:
    x = qd.field(qd.f32)
    qd.root.dense(qd.i, 3).place(x, x.grad)
    assert (x.has_grad(), x.has_dual()) == (True, False)


def test_lazy_grad_and_lazy_dual_place_what_is_missing() -> None:
    x, y, n = qd.field(qd.f32), qd.field(qd.f32), qd.field(qd.i32)
    qd.root.dense(qd.i, 3).place(x, x.grad, n)
    qd.root.place(y)
    qd.root.lazy_grad()
    qd.root.lazy_dual()
    assert [f.has_grad() and f.has_dual() for f in (x, y)] == [True, True]
    assert (x.grad.shape, y.dual.shape) == ((3,), ())


def test_a_gradient_that_was_asked_for_needs_no_placement() -> None:
    x = qd.field(qd.f32, needs_grad=True)
    assert not x.has_grad()
    qd.root.dense(qd.i, 2).place(x)
    assert x.grad.shape == (2,)


def test_lists_and_structs_of_fields_are_placed() -> None:
    x, y = qd.field(qd.f32), qd.field(qd.f32)
    s = qd.types.struct(a=qd.f32, b=qd.math.vec2).field()
    qd.root.dense(qd.i, 2).place([x, y], s)
    assert (x.shape, y.shape, s.shape, s.b.shape) == ((2,), (2,), (2,), (2,))


def test_placing_twice_is_refused() -> None:
    x = qd.field(qd.f32)
    qd.root.place(x)
    with pytest.raises(qd.AdstackRuntimeError, match="placed already"):
        qd.root.place(x)


def test_what_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match=r"place\(\) takes fields, got int"):
        qd.root.place(3)
    with pytest.raises(TypeError, match="no gradient to place"):
        qd.root.place(qd.field(qd.i32).grad)


def test_axes_and_extents_must_agree() -> None:
    with pytest.raises(ValueError, match="2 axes, got 3 extents"):
        qd.root.dense(qd.ij, (1, 2, 3))
    with pytest.raises(TypeError, match="takes axes"):
        qd.root.dense("ij", 3)
    with pytest.raises(ValueError, match="distinct"):
        qd.axes(0, 0)


def test_fields_of_a_builder_wait_for_finalize() -> None:
    builder = qd.FieldsBuilder()
    x = qd.field(qd.f32, name="x")
    builder.dense(qd.i, 3).place(x)
    with pytest.raises(qd.AdstackRuntimeError, match="not finalized"):
        x[0]
    builder.lazy_grad()
    builder.finalize()
    x[2] = 1
    assert (x.to_numpy().tolist(), x.has_grad()) == ([0, 0, 1], True)


def test_a_finalized_builder_takes_no_more() -> None:
    builder = qd.FieldsBuilder()
    builder.finalize()
    for act in (builder.finalize, lambda: builder.dense(qd.i, 2), lambda: builder.place(qd.field(qd.f32))):
        with pytest.raises(qd.AdstackRuntimeError, match="is finalized"):
            act()


def test_destroying_a_builder_drops_its_fields() -> None:
    builder = qd.FieldsBuilder()
    x = qd.field(qd.f32, needs_grad=True)
    builder.dense(qd.i, 3).place(x)
    tree = builder.finalize()
    x[0] = 1
    tree.destroy()
    with pytest.raises(qd.AdstackRuntimeError, match="was destroyed with its layout and its data is gone"):
        x[0]
    with pytest.raises(qd.AdstackRuntimeError, match="was destroyed with its layout and its data is gone"):
        x.grad.to_numpy()


@pytest.mark.parametrize("n", ["a", -1, 1.5, None])
def test_a_parent_is_some_levels_above(n: Any) -> None:
    x = qd.field(qd.f32, shape=2)
    with pytest.raises(qd.AdstackArgumentError, match="how many levels to go up"):
        x.parent(n)


def test_reset_empties_the_root() -> None:
    qd.root.place(qd.field(qd.f32))
    qd.reset()
    x = qd.field(qd.f32)
    qd.root.dense(qd.i, 2).place(x)
    qd.root.lazy_grad()
    assert x.has_grad()


def test_reset_lets_go_of_what_was_placed() -> None:
    qd.root.dense(qd.i, 2).place(qd.field(qd.f32))
    qd.init(arch=qd.reference)
    qd.root.dense(qd.i, 2)
    assert len(list(qd.root.below())) == 0


def test_the_root_completes_fields_that_were_made_with_their_shape_and_leaves_those_of_builders() -> None:
    body = qd.types.struct(at=qd.math.vec2, n=qd.i32)
    x, v, s, u = qd.field(qd.f32, 3), qd.Vector.field(2, qd.f32, ()), body.field(2), qd.field(qd.f32)
    builder = qd.FieldsBuilder()
    builder.place(u)
    builder.finalize()
    qd.root.lazy_grad()
    qd.root.lazy_dual()
    assert [f.has_grad() and f.has_dual() for f in (x, v, s.at, u)] == [True, True, True, False]
    assert (x.grad.shape, v.dual.shape, s.grad[1].at.x) == ((3,), (), 0.0)


def test_a_field_s_own_level_stands_for_the_one_where_it_was_placed() -> None:
    x, y = qd.field(qd.f32), qd.field(qd.f32)
    block = qd.root.pointer(qd.i, 4)
    bits = block.bitmasked(qd.i, 2)
    bits.place(x)
    assert x.snode is x.snode
    assert [x.snode.parent(), x.snode.parent(2), x.snode.parent(3)] == [bits, block, qd.root]
    assert [x.snode.parent(n) is x.parent(n) for n in (1, 2, 3)] == [True] * 3
    assert (x.snode.shape, x.snode.fields) == ((8,), (x,))
    x[3] = 1.0
    assert [qd.is_active(x.snode, i) for i in range(4)] == [False, False, False, True]
    x.snode.deactivate_all()
    x.snode.give_back()
    assert x[3] == 0.0
    x.snode.place(y)
    assert y.parent() is bits


@pytest.mark.parametrize("arch", ["reference", "cpu"])
def test_a_field_with_a_shape_of_its_own_stands_in_a_dense_level(arch: str) -> None:
    qd.init(arch=arch)
    x, y, z = qd.field(qd.f32, (2, 3), needs_grad=True), qd.field(qd.f32), qd.field(qd.f32)
    level = x.parent()
    assert x.snode.parent() is level
    assert x.snode.parent(2) is x.parent(2) is qd.root
    assert (level.shape, level.fields, x.snode.shape) == ((2, 3), (x,), (2, 3))
    assert qd.Vector.field(2, qd.f32, 4).snode.shape == qd.Struct.field({"a": qd.f32}, shape=4).snode.shape == (4,)
    level.place(y)
    level.pointer(qd.k, 4).place(z)
    qd.root.lazy_grad()
    assert (y.shape, y.parent(), z.grad.shape) == ((2, 3), level, (2, 3, 4))
    assert list(qd.root.below()).count(x) == 1
    count = qd.field(qd.i32, 3)

    @qd.kernel
    def k() -> None:
        for _ in qd.grouped(level):
            count[0] += 1
        for _ in qd.grouped(x.snode):
            count[1] += 1
        count[2] = qd.is_active(level, [1, 2])

    k()
    assert count.to_numpy().tolist() == [6, 6, 1]
    with pytest.raises(qd.AdstackRuntimeError, match="a field has no level 3 above it"):
        x.parent(3)


def test_the_level_of_a_field_does_not_keep_it() -> None:
    x = qd.field(qd.f32, 4)
    assert x.snode.parent() is x.parent()
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None
    assert list(qd.root.below()) == []
