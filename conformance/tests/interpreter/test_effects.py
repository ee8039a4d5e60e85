"""`assert` and `print`."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kit import parallel, run_text, serial

from adstack.errors import AdstackAssertionError

ASSERTS = parallel(
    """
    %v = load @x[%i] : f32
    %limit = const 2.5 : f32
    %c = lt %v, %limit : u1
    assert %c, "{} of {} is {large}", %v, %i loc("user.py":7:5)
    store @x[%i], %limit
    """,
    4,
    "place @x : f32[?] field",
)


def test_an_assert_fails_in_debug_mode_with_its_message_and_the_first_lane():
    x = np.array([0, 1, 2.6, 3], np.float32)
    with pytest.raises(AdstackAssertionError) as caught:
        run_text(ASSERTS, {"x": x}, debug=True)
    assert str(caught.value).startswith("user.py:7:5: 2.6 of 2 is {large}, in iteration (2)")
    assert x[0] == 0


def test_an_assert_that_holds_or_is_not_in_debug_mode_does_nothing():
    x = np.array([0, 1, 2.6, 3], np.float32)
    run_text(ASSERTS, {"x": x})
    assert (x == 2.5).all()
    run_text(ASSERTS, {"x": np.zeros(4, np.float32)}, debug=True)


def test_an_assert_that_all_lanes_share_names_the_first():
    body = '%no = const false : u1\n assert %no, "never"'
    with pytest.raises(AdstackAssertionError, match=r"^never, in iteration \(0\)"):
        run_text(parallel(body, 3), debug=True)


def test_an_assert_in_serial_code_names_no_iteration():
    with pytest.raises(AdstackAssertionError, match=r"^never$"):
        run_text(serial('%no = const false : u1\n assert %no, "never"\n return'), debug=True)


def printed(text: str, **buffers: np.ndarray) -> str:
    pieces: list[str] = []
    run_text(text, buffers, stdout=pieces.append)
    return "".join(pieces)


def test_lanes_print_in_order_and_only_where_they_get():
    body = """
      %two = const 2 : i32
      %m = mod %i, %two : i32
      %odd = ne %m, %zero : u1
      if %odd {
        print "i = ", %i, " of ", %n, "\\n"
        yield
      } else {
        yield
      }
    """
    assert printed(parallel(body, 6)) == "i = 1 of 6\ni = 3 of 6\ni = 5 of 6\n"


def test_text_without_numbers_is_printed_once_per_lane():
    assert printed(parallel('print "hello\\n"', 3)) == "hello\n" * 3


@pytest.mark.parametrize(
    ("constant", "shown"),
    [
        ("0.1 : f32", "0.1"),
        ("0.1 : f16", "0.1"),
        ("0.1 : f64", "0.1"),
        ("16777216.0 : f32", "16777216.0"),
        ("1e-30 : f32", "1e-30"),
        ("-0.0 : f32", "-0.0"),
        ("inf : f32", "inf"),
        ("nan : f64", "nan"),
        ("true : u1", "True"),
        ("-5 : i8", "-5"),
        ("18446744073709551615 : u64", "18446744073709551615"),
    ],
)
def test_a_number_is_printed_as_python_prints_it_in_its_own_precision(constant, shown):
    assert printed(serial(f"%v = const {constant}\n print %v\n return")) == shown


def test_without_a_writer_text_goes_to_stdout(capsys):
    run_text(serial('print "x\\n"\n return'))
    assert capsys.readouterr().out == "x\n"
