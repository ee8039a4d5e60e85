"""Loads and stores: addressing, bounds, what a failed access leaves behind."""

from __future__ import annotations

import linecache

import numpy as np
import pytest
from interpreter_kit import parallel, run_text, serial

from adstack.errors import AdstackOutOfBoundsError
from adstack.ir.types import INTS

XY = "place @x : f32[?, ?] field\n place @y : f32[?, ?] ndarray"


@pytest.mark.parametrize("index", [t.name for t in INTS])
def test_an_index_may_have_any_integer_type(index):
    body = "%v = load @x[%i] : f32\n store @y[%i], %v"
    places = "place @x : f32[?] field\n place @y : f32[?] field"
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    run_text(parallel(body, 5, places, index=index), {"x": x, "y": y})
    assert (x == y).all()


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("kind", ["field", "ndarray"])
@pytest.mark.parametrize(
    "index", ["-1 : i32", "4 : i32", "-128 : i8", "18446744073709551615 : u64", "9223372036854775807 : i64"]
)
@pytest.mark.parametrize(
    "access", ["%v = load @x[%i, %j] : f32", "store @x[%i, %j], %w", "%v = atomic add @x[%i, %j], %w : f32"]
)
def test_an_index_outside_is_an_error_that_names_the_place(n, kind, index, access):
    body = f"%j = const {index}\n %w = const 1.0 : f32\n {access}"
    x = np.zeros((3, 4), np.float32)
    with pytest.raises(AdstackOutOfBoundsError) as caught:
        run_text(parallel(body, n, f'place @x : f32[?, ?] {kind} label "self.x"'), {"x": x})
    number = index.split()[0]
    assert f"Accessing {kind} self.x at (0, {number}), outside its extents (3, 4), in iteration (0)" in str(
        caught.value
    )
    assert isinstance(caught.value, IndexError)


def test_a_negative_index_of_one_lane_is_outside():
    body = "%one = const 1 : i32\n %j = sub %one, %i : i32\n %v = load @x[%j] : f32"
    with pytest.raises(AdstackOutOfBoundsError, match=r"at \(-1\), outside its extents \(5\), in iteration \(2\)"):
        run_text(parallel(body, 3, "place @x : f32[?] field"), {"x": np.zeros(5, np.float32)})


def test_the_first_lane_outside_is_named_and_nothing_is_written():
    body = "%two = const 2 : i32\n %j = mul %i, %two : i32\n %w = const 1.0 : f32\n store @x[%j], %w"
    x = np.zeros(5, np.float32)
    with pytest.raises(AdstackOutOfBoundsError, match=r"at \(6\), outside its extents \(5\), in iteration \(3\)"):
        run_text(parallel(body, 5, "place @x : f32[?] field"), {"x": x})
    assert not x.any()


def test_the_error_shows_the_line_with_a_caret(tmp_path):
    source = tmp_path / "user.py"
    source.write_text("def k():\n    y = x[5]\n")
    linecache.checkcache(str(source))
    body = f'%i = const 5 : i32\n %v = load @x[%i] : f32 loc("{source}":2:9-2:13)\n return'
    with pytest.raises(AdstackOutOfBoundsError) as caught:
        run_text(serial(body, places="place @x : f32[?] field"), {"x": np.zeros(3, np.float32)})
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{source}:2:9: Accessing field x at (5), outside its extents (3)"
    assert lines[1:3] == ["    y = x[5]", "        ^^^^"]


def test_an_empty_place_has_no_element():
    with pytest.raises(AdstackOutOfBoundsError):
        run_text(parallel("%v = load @x[%i] : f32", 1, "place @x : f32[?] field"), {"x": np.zeros(0, np.float32)})


def test_buffers_in_any_order_of_memory_are_changed_in_place():
    body = "%v = load @x[%i, %zero] : f32\n store @y[%zero, %i], %v"
    x = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    matrix = np.zeros((4, 6), np.float32)
    run_text(parallel(body, 3, XY), {"x": x, "y": matrix.T[::2, 1:4]})
    assert matrix[1:4, 0].tolist() == [0, 4, 8]
    assert matrix.sum() == 12


def test_lanes_that_store_to_one_element_leave_the_last_value():
    body = "store @x[%zero], %i"
    x = np.zeros(1, np.int32)
    run_text(parallel(body, 7, "place @x : i32[?] field"), {"x": x}, lanes=4)
    assert x[0] == 6


def test_an_element_that_all_lanes_read_is_the_same_for_all():
    body = "%v = load @x[] : i32\n %r = add %v, %i : i32\n store @y[%i], %r"
    y = np.zeros(3, np.int32)
    run_text(
        parallel(body, 3, "place @x : i32[] field\n place @y : i32[?] field"), {"x": np.array(5, np.int32), "y": y}
    )
    assert y.tolist() == [5, 6, 7]


def test_a_shape_is_that_of_the_buffer():
    body = "%a = shape @x, 0 : i32\n %b = shape @x, 1 : u8\n return %a, %b"
    assert run_text(
        serial(body, "() -> (i32, u8)", "place @x : f32[?, ?] field"), {"x": np.zeros((3, 4), np.float32)}
    ) == (3, 4)
