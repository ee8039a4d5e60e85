"""The parser: IR written by hand is comfortable, and mistakes in it are shown where they are."""

from __future__ import annotations

import pytest

from adstack.errors import AdstackSyntaxError
from adstack.ir.location import UNKNOWN
from adstack.ir.structure import Kernel, Program
from adstack.ir.text.parser import parse_ir
from adstack.ir.text.printer import print_ir
from adstack.ir.types import ArrayType, f32, f64, i32, u1
from adstack.ir.verify.verifier import verify


def wrapped(*lines):
    return "kernel @k(%a: f32, %n: i32, %c: u1) {\n  place @x : f32[4] field\n" + "\n".join(lines) + "\n  return\n}"


def ops_of(*lines):
    kernel = parse_ir(wrapped(*lines))
    assert isinstance(kernel, Kernel)
    verify(kernel)
    return kernel.body.ops


def test_result_types_follow_from_the_operands():
    ops = ops_of(
        "%y = add %a, %a",
        "%l = lt %a, %y",
        "%e = load @x[%n]",
        "%o = atomic add @x[%n], %a",
        "%h = array.alloc : array<f32, 2>",
        "%v = array.load %h, %n",
        "%s = stack.alloca %n : stack<f32>",
        "%t = stack.load_top %s",
        "%p = popcnt %n",
        "%i = if %c {\n yield %a\n } else {\n yield %y\n }",
    )
    types = [op.result.type for op in ops[:-1] if op.results]
    assert [str(t) for t in types] == [
        "f32",
        "u1",
        "f32",
        "f32",
        "array<f32, 2>",
        "f32",
        "stack<f32>",
        "f32",
        "i32",
        "f32",
    ]
    assert types[4] == ArrayType(f32, 2)


def test_comments_blank_lines_and_breaks_within_brackets_are_fine():
    ops = ops_of("# one", "", " %y = add %a, %a # two", " parallel_for (%i = %n to %n,", " %j = %n to %n) {", "yield }")
    assert [op.name for op in ops] == ["add", "parallel_for", "return"]


def test_results_need_no_names_and_locations_stay_unknown():
    atomic, _ = ops_of("atomic add @x[%n], %a")
    assert atomic.result.type is f32
    assert atomic.loc is UNKNOWN


@pytest.mark.parametrize(
    ("literal", "dtype", "value"),
    [
        ("1", "f32", 1.0), ("0.1", "f32", 0.10000000149011612), ("0x1.8p3", "f64", 12.0),
        ("-0x1p-1074", "f64", -5e-324),
        ("0xff", "u8", 255), ("-7", "i8", -7), ("+inf", "f16", float("inf")), (".5", "f16", 0.5), ("2.", "f64", 2.0),
        ("1e3", "f32", 1000.0), ("false", "u1", False),
    ],
)  # fmt: skip
def test_constants_are_written_in_any_usual_way(literal, dtype, value):
    const, _ = ops_of(f"%y = const {literal} : {dtype}")
    assert const.attrs["value"] == value
    assert type(const.attrs["value"]) is type(value)


def test_sibling_regions_may_use_a_name_again():
    ops = ops_of("if %c {\n %y = neg %a\n yield\n } else {\n %y = neg %n\n yield\n }", "%y = neg %a")
    assert [region.ops[0].result.type for region in ops[0].regions] == [f32, i32]


def test_values_keep_their_names_and_numbers_are_none():
    first, second, _ = ops_of("%speed = neg %a", "%17 = neg %speed")
    assert (first.result.name, second.result.name) == ("speed", "")


def test_an_empty_program_is_a_program():
    assert parse_ir("program @p {\n}") == Program("p", [])
    assert print_ir(Program("p", [])) == "program @p {\n}\n"


def test_a_program_without_tasks_says_what_it_is_passed():
    text = "program @p (i32, f64) {\n}\n"
    program = parse_ir(text)
    assert isinstance(program, Program)
    assert (program.params, print_ir(program)) == ((i32, f64), text)


ERRORS = {
    "%y = add %a, %z": ("%z is not defined here", "%z"),
    "%y = frob %a": ("unknown operation frob", "frob"),
    "%y = add %a, %n": ("add: operand 1 must be one of f32, got i32 (rule: T T -> T)", "%n"),
    "%y = add %a %a": ("expected the end of the line, got %a", "%a"),
    "%a = neg %a": ("%a is defined twice", "%a"),
    "%y, %z = neg %a": ("neg has 1 results, got 2 names", "neg"),
    "%y = load @z[%n]": ("@z is not declared: expected a line 'place @z : ...' at the top", "@z"),
    "%y = load x[%n]": ("expected a place (like @name), got x", "x"),
    "%y = load @x(%n)": ("expected [, got (", "("),
    "%y = const 1.5 : i32": ("const: 1.5 can't be a i32", "1.5"),
    "%y = const 1 : u1": ("const: 1 can't be a u1", "1"),
    "%y = const 300 : u8": ("const: 300 is out of the range of u8", "300"),
    "%y = const 1e10 : f16": ("const: 1e10 is out of the range of f16", "1e10"),
    "%y = const pi : f32": ("const: expected a number, true or false, got pi", "pi"),
    "%y = const 1.5": ("const: expected : and the type of the result", ""),
    "%y = cast %a": ("cast: expected : and the type of the result", ""),
    "%y = cast %a : float": ("expected a scalar type (like f32), got float", "float"),
    "%y = array.alloc : f32": ("array.alloc: expected : and the type of the result", ""),
    "%y = array.load %a, %n": ("array.load: operand 0 must be a handle, got f32", "%n"),
    "%y = shape @x, one : i32": ("expected an axis, got one", "one"),
    "%y = neg %a loc(kernel.py:3:4)": ("expected a file name in quotes, got kernel.py", "kernel.py"),
    '%y = neg %a loc("f":3)': ("expected :, got )", ")"),
    "if %c {\n yield\n }": ("expected else { ... }: an if has two regions", ""),
    "for %i = %n until %n {": ("expected to, got until", "until"),
    "for i = %n to %n {": ("expected the name of the index, got i", "i"),
    "%w = while (%s = %a) {\n yield %c, %s\n } do () {": ("while: expected 1 names of carried values, got 0", "{"),
    "parallel_for (%i = %n to %n) {\n yield\n": ("expected an operation, got the end of the text", ""),
    'assert %c, "no': ("unexpected character '\"'", '"'),
    'print "\\x"': ("a string with an escape that is none", '"\\x"'),
    "%y = neg ~%a": ("unexpected character '~'", "~"),
    "atomic @x[%n], %a": ("expected the kind of the atomic, got @x", "@x"),
}


@pytest.mark.parametrize("line", ERRORS)
def test_a_mistake_is_shown_where_it_is(line):
    with pytest.raises(AdstackSyntaxError) as caught:
        parse_ir(wrapped(line), "hand.ir")
    message, under = ERRORS[line]
    assert caught.value.message == message
    loc = caught.value.loc
    shown = wrapped(line).split("\n")[loc.line - 1][loc.col - 1 : loc.end_col - 1]
    assert shown.strip("\n") == under


def test_an_error_has_line_column_and_caret():
    with pytest.raises(AdstackSyntaxError) as caught:
        parse_ir(wrapped("  %y = add %a, %zed"), "hand.ir")
    assert str(caught.value) == "hand.ir:3:16: %zed is not defined here\n    %y = add %a, %zed\n                 ^^^^"


WHOLE = {
    "": "expected kernel or program, got the end of the text",
    "module @m {\n}": "expected kernel or program, got module",
    "kernel k() {\n}": "expected the kernel's name (like @name), got k",
    "kernel @k() {\n return\n}\nmore": "expected the end of the text, got more",
    "kernel @k() {\n place @x : f32[] field\n place @x : f32[] field\n return\n}": "@x is declared twice",
    "kernel @k() {\n place @x : f32[] register\n}": (
        "expected field or ndarray or temp or result or depths, got register"
    ),
    "kernel @k() {\n place @x : f32[y] field\n}": "expected an extent, or ? for one known at launch, got y",
    "kernel @k() {\n place @x : f32[1.5] field\n}": "expected an extent, or ? for one known at launch, got 1.5",
    "kernel @k(%a: f32, %a: f32) {\n return\n}": "%a is defined twice",
    "program @p {\n task @t sideways () {\n": "expected serial or parallel, got sideways",
    "program @p {\n kernel": "expected task or }, got kernel",
    "kernel @k() {\n if %c {\n yield\n } else {\n": "%c is not defined here",
}


@pytest.mark.parametrize("text", WHOLE)
def test_a_malformed_frame_is_refused(text):
    with pytest.raises(AdstackSyntaxError) as caught:
        parse_ir(text)
    assert caught.value.message == WHOLE[text]


def test_given_types_are_left_for_the_verifier_to_judge():
    kernel = parse_ir(wrapped("%y = lt %a, %a : f32"))
    assert isinstance(kernel, Kernel)
    assert kernel.body.ops[0].result.type is f32
    assert kernel.body.args[2].type is u1
