"""Fields of structs: live elements, bulk copies, nesting."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import adstack as qd

inner = qd.types.struct(u=qd.i32, v=qd.math.vec2)
outer = qd.types.struct(a=qd.f32, s=inner)

pytestmark = pytest.mark.usefixtures("on_reference")


def test_members_are_fields() -> None:
    f = outer.field(shape=(3,), name="f")
    assert (f.shape, f.offset, f.is_placed, f.keys) == ((3,), (0,), True, ["a", "s"])
    assert f.a is f.get_member_field("a") is f.field_dict["a"]
    assert f.s.v.name == "f.s.v"
    assert repr(f) == "<adstack struct field: a, s>"


def test_a_struct_field_can_be_made_of_a_dict() -> None:
    f = qd.Struct.field({"a": qd.f32, "b": qd.math.vec3}, shape=(2,), offset=(1,))
    f[2].b = [1, 2, 3]
    assert f.b.to_numpy().tolist() == [[0, 0, 0], [1, 2, 3]]


def test_an_element_is_a_live_struct() -> None:
    f = outer.field(shape=(2,))
    f[1].a = 2.5
    f[1].s.u = 3
    f[1].s.v[1] = 4
    assert f[1].to_dict() == {"a": 2.5, "s": {"u": 3, "v": [0, 4]}}
    assert f[0].to_dict() == {"a": 0, "s": {"u": 0, "v": [0, 0]}}


def test_an_element_is_set_as_a_whole() -> None:
    f = outer.field(shape=(2,))
    f[0] = outer(a=1, s=inner(u=2, v=[3, 4]))
    f[1] = {"a": 5, "s": {"u": 6, "v": [7, 8]}}
    assert f[0].to_dict() == {"a": 1, "s": {"u": 2, "v": [3, 4]}}
    assert f[1].to_dict() == {"a": 5, "s": {"u": 6, "v": [7, 8]}}


def test_bounds_are_checked_when_an_element_is_taken() -> None:
    with pytest.raises(IndexError, match="Accessing"):
        outer.field(shape=(2,))[2]


def test_an_unknown_member_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'z'\\n  do: its members are a, s"):
        _ = outer.field(shape=(2,)).z


def test_an_unknown_member_field_is_an_error_with_the_names_that_are_near() -> None:
    points = qd.Struct.field({"position": qd.f32, "mass": qd.f32}, shape=(2,))
    with pytest.raises(qd.AdstackError, match=r"no attribute 'positon'\n  do: did you mean position\?"):
        points.get_member_field("positon")
    with pytest.raises(AttributeError, match="its members are position, mass"):
        points.get_member_field("colour")


def test_fill_sets_all_elements() -> None:
    f = outer.field(shape=(2,))
    f.fill(1)
    assert f[1].to_dict() == {"a": 1, "s": {"u": 1, "v": [1, 1]}}
    f.fill({"a": 2, "s": {"u": 3, "v": [4, 5]}})
    assert f[0].to_dict() == {"a": 2, "s": {"u": 3, "v": [4, 5]}}


def test_copies_go_member_by_member() -> None:
    f, g = outer.field(shape=(2,)), outer.field(shape=(2,))
    f[1].s.u = 3
    g.copy_from(f)
    assert g[1].s.u == 3
    arrays = f.to_numpy()
    arrays["a"][0] = 7
    g.from_numpy(arrays)
    assert (g[0].a, g[1].s.u) == (7, 3)
    with pytest.raises(TypeError, match="the members a, s"):
        f.copy_from(inner.field(shape=(2,)))


def test_only_real_members_have_gradients() -> None:
    f = outer.field(shape=(2,), needs_grad=True, needs_dual=True)
    assert (f.a.has_grad(), f.s.v.has_dual(), f.s.u.grad) == (True, True, None)


def test_a_struct_field_may_be_placed_later() -> None:
    f = outer.field()
    assert not f.is_placed
    qd.root.dense(qd.i, 4).place(f)
    assert f.shape == (4,)


def test_members_of_an_element_are_fixed() -> None:
    members = outer.field(shape=(2,))[0].__adstack_members__()
    assert (len(members), list(members)) == (2, ["a", "s"])
    with pytest.raises(TypeError, match="can't be deleted"):
        del members["a"]


def test_torch_tensors_come_and_go_by_member(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = types.ModuleType("torch")
    torch.from_numpy = lambda array: array  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)

    class Tensor:
        def __init__(self, array: Any) -> None:
            self.detach = self.cpu = lambda: self
            self.numpy = lambda: array

    f = inner.field(shape=(2,))
    f.from_torch({"u": Tensor(np.array([1, 2])), "v": Tensor(np.ones((2, 2)))})
    assert f[1].to_dict() == {"u": 2, "v": [1, 1]}
    assert f.to_torch()["u"].tolist() == [1, 2]


def test_kernels_read_and_write_members() -> None:
    f = outer.field(shape=(3,))

    @qd.kernel
    def step():
        for i in f:
            f[i].a = i
            f[i].s.v[1] += 2

    step()
    assert f.a.to_numpy().tolist() == [0, 1, 2]
    assert f.s.v.to_numpy().tolist() == [[0, 2]] * 3


def test_bulk_copies_name_the_members() -> None:
    f = inner.field(shape=(2,))
    for copy in (f.from_numpy, f.from_torch):
        for value in ({"u": np.zeros(2)}, np.zeros(2)):
            with pytest.raises(ValueError, match="a dict with the keys u, v is needed"):
                copy(value)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keys u, v"):
        f.fill({"u": 1})


def test_gradients_of_members_are_a_struct_field_too():
    qd.init(arch=qd.reference)
    inner = qd.types.struct(q=qd.f32, n=qd.i32)
    body = qd.types.struct(p=qd.types.vector(2, qd.f32), m=qd.f32, n=qd.i32, inner=inner)
    s = body.field(shape=3, needs_grad=True)
    loss, seen = qd.field(qd.f32, shape=(), needs_grad=True), qd.field(qd.f32, shape=3)

    @qd.kernel
    def energy():
        for i in s:
            loss[None] += s[i].m * s[i].p.norm_sqr() * s[i].inner.q

    @qd.kernel
    def read():
        for i in s:
            seen[i] = s.grad[i].m + s.grad[i].inner.q

    for i in range(3):
        s[i].p, s[i].m, s[i].inner.q = [1, i], 2, 3
    with qd.ad.Tape(loss):
        energy()
    assert s.grad.keys == ["p", "m", "inner"]
    assert s.grad.inner.keys == ["q"]
    assert (s.grad[1].m, s.grad[1].p.to_list(), s.grad[2].inner.q) == (6.0, [12.0, 12.0], 10.0)
    read()
    assert seen.to_numpy().tolist() == [5.0, 10.0, 25.0]
    s.grad.fill(0)
    assert s.m.grad.to_numpy().tolist() == [0.0] * 3


def test_a_struct_field_without_floats_has_no_gradients():
    qd.init(arch=qd.reference)
    with pytest.raises(AttributeError, match="no attribute 'grad'"):
        qd.types.struct(a=qd.i32).field(shape=2).grad  # noqa: B018 - it is looked up


def test_a_member_called_grad_is_the_member():
    qd.init(arch=qd.reference)
    s = qd.types.struct(grad=qd.f32, x=qd.f32).field(shape=2, needs_grad=True)
    s[1].grad = 4
    assert s.grad[1] == 4


@pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA])
def test_a_layout_is_a_hint(layout: qd.Layout) -> None:
    f = outer.field(shape=3, layout=layout)
    g = qd.Struct.field({"a": qd.f32}, shape=2, layout=layout)
    f[1].s.v = [1, 2]
    g[1].a = 3
    assert (f.s.v.to_numpy()[1].tolist(), g.a[1]) == ([1, 2], 3)


def test_a_struct_field_of_a_dict_may_have_methods() -> None:
    def twice(self) -> Any:
        return 2 * self.a

    f = qd.Struct.field({"a": qd.f32}, methods={"twice": twice}, shape=2)
    f[1].a = 3
    assert f[1].twice() == 6

    @qd.kernel
    def run() -> qd.f32:
        return f[1].twice()

    assert run() == 6


def test_it_prints_as_what_it_holds() -> None:
    f = outer.field(name="f")
    assert str(f) == repr(f) == "<adstack struct field: a, s>"
    qd.root.dense(qd.i, 2).place(f)
    assert str(f) == str(f.to_numpy())


def test_it_is_no_list_and_no_number() -> None:
    f = outer.field(shape=3)
    assert f
    for wrong in (len, float, int, iter, lambda f: f + 1):
        with pytest.raises(TypeError, match=r"the field of structs .*\n  do: "):
            wrong(f)


def test_a_field_that_is_one_list_takes_structs() -> None:
    lists, counted = qd.root.dynamic(qd.i, 32), qd.root.dynamic(qd.i, 8)
    f, g = inner.field(), qd.types.struct(length=qd.i32, parent=qd.i32).field()
    lists.place(f)
    counted.place(g)

    @qd.kernel
    def fill() -> qd.i32:
        last = 0
        qd.loop_config(serialize=True)
        for i in range(5):
            last = f.append(inner(i, [i, 2 * i]))
        return last

    @qd.kernel
    def clear() -> qd.i32:
        before = f.length()
        f.deactivate()
        return before

    assert fill() == 4
    assert (f[3].to_dict(), qd.length(f), f.parent() is lists) == ({"u": 3, "v": [3, 6]}, 5, True)
    assert (clear(), qd.length(f), f[3].u) == (5, 0, 0)
    assert g.length is g.field_dict["length"], "a member is not hidden"
    assert g.parent is g.field_dict["parent"]


def test_a_struct_field_without_lists_takes_none() -> None:
    f = inner.field(shape=3)

    @qd.kernel
    def fill():
        f.append(inner(1, 2))

    with pytest.raises(qd.AdstackTypeError, match=r"the field of structs has no lists: append\(\) is for"):
        fill()
    with pytest.raises(RuntimeError, match=r"append\(\) has a meaning only in a kernel"):
        f.append(inner(1, 2))
