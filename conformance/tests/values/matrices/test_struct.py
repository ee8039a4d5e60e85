"""Structs: members, conversion, copies and views, functions, and errors by name."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from symbolic import Term, value_of

from adstack.errors import AdstackTypeError
from adstack.ir.types import f32, f64, i32
from adstack.values.func import BoundFunc, Func
from adstack.values.matrices.math import mat2, vec2
from adstack.values.matrices.matrix import Matrix, Vector
from adstack.values.matrices.struct import Struct, StructType, convert, members_of
from adstack.values.matrices.struct_classes import dataclass
from adstack.values.matrices.types import struct
from adstack.values.protocol import emitting
from adstack.values.specs import MatrixSpec, ScalarSpec, StructSpec

Inner = struct(d=f32, e=i32)
THREE: Any = {3: f32}
Outer = struct({"a": i32, "b": vec2, "c": Inner})


def test_members_come_in_order_or_by_name_and_are_zero_otherwise():
    assert Outer().to_dict() == {"a": 0, "b": [0.0, 0.0], "c": {"d": 0.0, "e": 0}}
    assert Outer(1, [2, 3]).to_dict() == {"a": 1, "b": [2.0, 3.0], "c": {"d": 0.0, "e": 0}}
    assert Outer(b=5, a=4).to_dict()["b"] == [5.0, 5.0]
    assert Outer({"a": 1, "b": [0, 1], "c": {"d": 2, "e": 3}}).c.d == 2.0


def test_members_are_converted_to_their_types():
    s = Outer(a=1.9, b=[1, 2], c=Inner(0.1, 7.5))
    assert (s.a, s.c.e) == (1, 7)
    assert s.c.d != 0.1
    s.a = 2.9
    s.b = [7, 8]
    s.c = {"d": 1, "e": 2.5}
    assert s.to_dict() == {"a": 2, "b": [7.0, 8.0], "c": {"d": 1.0, "e": 2}}
    s["a"] = 5
    assert s["a"] == 5


def test_a_struct_without_a_type_keeps_what_it_is_given():
    s = Struct(a=1, b=[1, 2], c={"d": 2.5}, m=[[1]])
    assert isinstance(s.b, Vector)
    assert isinstance(s.m, Matrix)
    assert isinstance(s.c, Struct)
    s.a = 2.5
    assert s.to_dict() == {"a": 2.5, "b": [1, 2], "c": {"d": 2.5}, "m": [[1]]}
    assert Struct({"x": 1}, y=2).keys() == ["x", "y"]
    assert (s.type, s.methods) == (None, {})


def test_making_and_copying_takes_copies():
    inner = Inner(1, 2)
    outer = Outer(0, 0, inner)
    loose = Struct(i=inner, v=outer.b)
    inner.d = 9
    outer.b.x = 9
    assert outer.c.d == 1.0
    assert loose.to_dict() == {"i": {"d": 1.0, "e": 2}, "v": [0.0, 0.0]}
    for other in (outer.copy(), copy.deepcopy(outer)):
        other.c.d = 5
        other.b.x = 5
        assert (outer.c.d, outer.b.x) == (1.0, 9)


def test_pickling_keeps_members():
    loose = pickle.loads(pickle.dumps(Struct(a=1, b=[1, 2])))
    assert loose.to_dict() == {"a": 1, "b": [1, 2]}


def test_assigning_a_nested_member_is_seen_through_a_reference_to_it():
    s = Outer()
    c, b = s.c, s.b
    s.c = Inner(3, 4)
    s.b = [5, 6]
    assert (c.d, b.to_list()) == (3.0, [5.0, 6.0])


def test_assign_takes_all_members():
    s = Inner(1, 2)
    s.assign({"e": 4, "d": 3})
    assert s.to_dict() == {"d": 3.0, "e": 4}
    with pytest.raises(AdstackTypeError, match="a struct of d, e can't be assigned d"):
        s.assign({"d": 1})
    with pytest.raises(AdstackTypeError, match="can't be assigned a int"):
        s.assign(3)


def test_a_struct_over_a_mapping_is_a_view_of_it():
    mapping = {"d": 1.0, "e": 2}
    view = Struct.over(mapping, Inner)
    view.d = 5
    mapping["e"] = 7
    assert mapping["d"] == 5.0
    assert view.entries == {"d": 5.0, "e": 7}
    assert dict(view.items()) == {"d": 5.0, "e": 7}


def test_runtime_members_are_cast_by_the_kernel():
    s = Inner(Term(1.5), Term(2.5))
    assert [s.d.dtype, s.e.dtype] == [f32, i32]
    s.e = Term(7.5)
    assert value_of(s.e) == 7


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (struct, "struct has no members"),
        (Struct, "a struct needs a member"),
        (lambda: struct(a="f32"), "member 'a' has no type that a struct can hold .got 'f32'"),
        (lambda: struct({"not valid": f32}), "'not valid' can't be the name"),
        (lambda: struct(THREE), "3 can't be the name"),
        (lambda: struct(_members=f32), "'_members' can't be the name"),
        (lambda: Inner(x=1), "has no member 'x'"),
        (lambda: Inner(1, 2, 3), "has 2 members, got 3 values"),
        (lambda: Inner(1, d=2), "has 2 members, got 2 values"),
        (lambda: Inner({"d": 1}), "members e of types.struct.d, e. are missing"),
        (lambda: Inner.cast([1]), "can't be made of a list"),
        (lambda: Outer(c="3"), "can't be made of a str"),
        (lambda: Outer(b=[1, 2, 3]), "a 3-vector is no types.vector.2, float."),
    ],
)
def test_misuse_is_refused_by_name(use, message):
    with pytest.raises(AdstackTypeError, match=message):
        use()


def test_a_member_that_is_not_there():
    s = Inner()
    assert not hasattr(s, "x")
    with pytest.raises(AttributeError, match="has no member 'x'\n  do: members: d, e"):
        _ = s.x
    with pytest.raises(AttributeError, match="the struct has no member 'x'"):
        Struct(a=1).x = 1


def test_types_with_the_same_members_are_equal():
    assert struct(d=f32, e=i32) == Inner
    assert hash(struct(d=f32, e=i32)) == hash(Inner)
    assert struct(d=f64, e=i32) != Inner
    assert Inner != 3


def test_text_forms():
    assert repr(Inner(1, 2)) == "types.struct(d, e)({'d': 1.0, 'e': 2})"
    assert str(Inner(1, 2)) == "{'d': 1.0, 'e': 2}"
    assert repr(Struct(a=[1])) == "Struct({'a': [1]})"


def test_the_frontend_is_told_the_members():
    spec = Outer.spec(f64, i32)
    inner = StructSpec(Inner, (("d", ScalarSpec(f32)), ("e", ScalarSpec(i32))))
    assert spec.members == (("a", ScalarSpec(i32)), ("b", MatrixSpec(f64, (2,))), ("c", inner))
    assert struct(x=float, y=bool).spec(f64, i32).members[0] == ("x", ScalarSpec(f64))


def test_values_are_converted_to_any_type_of_member():
    assert convert(1.5, i32) == 1
    assert convert(2, mat2).to_list() == [[2.0, 2.0], [2.0, 2.0]]
    assert convert({"d": 1, "e": 1}, Inner).d == 1.0


@dataclass
class Ball:
    radius: f32
    at: vec2
    count: i32

    def grow(self, by):
        self.radius = self.radius + by
        return self.area()

    def area(self):
        return 3 * self.radius * self.radius

    @staticmethod
    def unit():
        return Ball(1, 0, 0)


def test_a_dataclass_is_a_struct_type_with_functions():
    ball = Ball(radius=2, at=[1, 2])
    assert isinstance(Ball, StructType)
    assert Ball.__name__ == "Ball"
    assert ball.grow(1) == 27
    assert (ball.radius, ball.at.x, ball.count) == (3.0, 1.0, 0)
    assert ball.unit().radius == 1.0
    assert repr(ball).startswith("Ball({'radius': 3.0")
    assert sorted(ball.methods) == ["area", "grow", "unit"]


def test_functions_of_a_struct_are_funcs_while_a_kernel_is_compiled():
    ball = Ball(1, 0, 0)
    with emitting(Term(0)):
        assert isinstance(ball.area, BoundFunc)
        assert isinstance(ball.unit, Func)
        assert Ball.area is ball.area.func
    assert ball.area() == 3


def test_functions_of_a_dataclass_are_attributes_of_it_too():
    assert Ball.unit().radius == 1.0
    assert Ball.area(Ball(2, 0, 0)) == 12
    assert not hasattr(Ball, "nothing")


def test_a_struct_of_a_dataclass_can_be_pickled():
    ball = pickle.loads(pickle.dumps(Ball(2, [1, 2], 3)))
    assert ball.to_dict() == {"radius": 2.0, "at": [1.0, 2.0], "count": 3}
    assert ball.area() == 12
    assert pickle.loads(pickle.dumps(Ball)) is Ball
    assert pickle.loads(pickle.dumps(Inner(1, 2))).type == Inner


def test_methods_of_a_struct_type_may_be_given_with_its_members():
    doubled = struct({"x": f32, "__struct_methods": {"twice": lambda self: self.x * 2}})
    assert doubled(3).twice() == 6.0


def test_a_dataclass_may_name_types_of_the_scope_it_is_written_in():
    local = vec2

    @dataclass
    class Local:
        v: local

    assert Local([1, 2]).v.y == 2.0


def test_members_hide_attributes_of_structs_that_have_their_name():
    named = struct(items=f32, copy=vec2, type=i32, to_dict=f32, entries=f32, keys=i32)
    s = named(items=1, copy=[2, 3])
    s.type = 4
    t = copy.deepcopy(s)
    t.copy.x = 9
    t.assign({**members_of(t), "entries": 7})
    assert (s.items, s.copy.x, s.type, s.entries, t.entries, t["keys"]) == (1, 2, 4, 0, 7, 0)
    assert str(pickle.loads(pickle.dumps(s))) == str(s)
    assert Struct(items=3).items == 3
    assert isinstance(Struct(items=3), Struct)
    assert [name for name, _ in Inner().items] == ["d", "e"]  # other structs keep theirs


def test_a_number_stands_for_every_number_of_a_member_struct():
    assert Outer(c=3).c.to_dict() == Inner(3, 3).to_dict()


def test_defaults_stand_for_members_that_are_left_out_and_tell_types_apart():
    @dataclass
    class Body:
        mass: f32 = 2
        at: vec2 = (0.5, 1)
        inner: Inner = 4
        n: i32

    body = Body(n=3)
    assert body.to_dict() == {"mass": 2.0, "at": [0.5, 1.0], "inner": {"d": 4.0, "e": 4}, "n": 3}
    body.at.x = 9
    assert Body(1).to_dict() == {"mass": 1.0, "at": [0.5, 1.0], "inner": {"d": 4.0, "e": 4}, "n": 0}
    assert Body != dataclass(type("Body", (), {"__annotations__": Body.members}))


def test_a_dataclass_may_have_functions_alone():
    @dataclass
    class Rules:
        def twice(self, x):
            return 2 * x

        @staticmethod
        def half(x):
            return x / 2

        def copy(self):
            return "ours"

    assert (Rules().twice(4), Rules.half(4), Rules().copy()) == (8, 2, "ours")
    with pytest.raises(AdstackTypeError, match="Rules has no members"):
        Rules.field(shape=2)


def test_a_dataclass_has_members_of_known_types():
    with pytest.raises(AdstackTypeError, match="'kind' of Wrong is neither a member nor a function"):

        @dataclass
        class Wrong:
            x: f32
            kind = 3

    with pytest.raises(AdstackTypeError, match="an annotation of Unknown is not known: name 'nowhere'"):

        @dataclass
        class Unknown:
            x: nowhere  # noqa: F821


def test_fields_of_a_struct_type():
    for field in (Outer.field(3), Struct.field({"a": i32, "b": vec2, "c": Inner}, shape=3)):
        field[1] = Outer(1, [2, 3])
        assert field[1].to_dict() == Outer(1, [2, 3]).to_dict()


class _Angle:  # noqa: PLW1641 - a type of structs
    turns: f32

    def __add__(self, other):
        return Angle(self.turns + other.turns)

    def __rmul__(self, factor):
        return Angle(factor * self.turns)

    def __neg__(self):
        return Angle(-self.turns)

    def __eq__(self, other):
        return self.turns == other.turns


Angle: Any = dataclass(_Angle)


def test_operators_on_the_host_are_functions_of_the_type():
    a, b = Angle(0.25), Angle(0.5)
    assert (a + b).turns == 0.75
    assert (2 * a).turns == (-b).turns * -1 == 0.5
    assert 2 * a == b
    assert a != b
    with pytest.raises(TypeError, match="unsupported operand"):
        a - b
    with pytest.raises(AdstackTypeError, match="declares no function __invert__"):
        _ = ~a


def test_structs_whose_type_does_not_say_what_is_equal_are_compared_by_identity():
    a = Inner(1, 2)
    assert a == a
    assert a != Inner(1, 2)
    assert hash(a) == hash(a)


def test_functions_that_nothing_would_call_are_refused():
    with pytest.raises(AdstackTypeError, match="'__init__' of Body would never be called"):

        @dataclass
        class Body:
            mass: f32

            def __init__(self):
                self.mass = 1.0


def test_names_and_members_are_lists_that_may_be_called():
    s = Inner(1, 2)
    assert list(s.items) == list(s.items()) == [("d", 1), ("e", 2)]
    assert s.keys == s.keys() == ["d", "e"]
    assert dict(**s) == {"d": 1, "e": 2}


def test_a_dict_of_a_struct_may_have_methods_and_axes():
    s = Outer(b=[1, 2])
    assert s.to_dict(include_ndim=True)["__matrix_ndim"] == {"b": 1}
    assert s.to_dict(True) == {**s.to_dict(), "__struct_methods": {}}
