"""Two additions by one instruction: only where the two elements are side by side, and nobody asks for more."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_kit import assemble, device_code, device_text

PAIR = "red.relaxed.gpu.global.add.v2.f32"


def source(updates: str, place: str = "f32[?, 2] field") -> str:
    return f"""program @k() -> () {{
  place @ix : i32[?] field
  place @y : {place}
  task @main.parallel parallel () {{
    %zero = const 0 : i32
    %one = const 1 : i32
    %three = const 3 : i32
    %v = const 0.5 : f32
    %w = const 0.25 : f32
    parallel_for (%i = %zero to %three) {{
      %at = load @ix[%i] : i32
{updates}
      yield
    }}
    return
  }}
}}
"""


FORWARD = "%a = atomic add @y[%at, %zero], %v : f32\n%b = atomic add @y[%at, %one], %w : f32"
ACROSS = "%two = const 2 : i32\n%a = atomic add @y[%at, %one], %v : f32\n%b = atomic add @y[%at, %two], %w : f32"
BACKWARD = "%a = atomic add @y[%at, %one], %v : f32\n%b = atomic add @y[%at, %zero], %w : f32"


@pytest.mark.parametrize("updates", [FORWARD, BACKWARD])
def test_both_elements_of_a_vector_are_added_to_at_once(updates: str, tmp_path: Path) -> None:
    text = device_text(source(updates), pairs=True)
    assert text.count(PAIR) == 1
    assert PAIR not in device_text(source(updates))
    assemble(device_code(source(updates), pairs=True), tmp_path)


@pytest.mark.parametrize("updates", [FORWARD, BACKWARD])
def test_each_value_goes_to_its_element(updates: str) -> None:
    text = device_text(source(updates), pairs=True)
    (line,) = (line for line in text.splitlines() if PAIR in line)
    half, quarter = "0x3FE0000000000000", "0x3FD0000000000000"
    first, second = (half, quarter) if updates == FORWARD else (quarter, half)
    assert line.index(f"float {first}") < line.index(f"float {second}")


@pytest.mark.parametrize(
    ("updates", "place"),
    [
        (FORWARD, "f32[?, 3] field"),
        (FORWARD, "f32[?, ?] ndarray"),
        (FORWARD, "f64[?, 2] field"),
        (FORWARD.replace("%one]", "%three]"), "f32[?, 4] field"),
        (FORWARD.replace("%zero]", "%three]"), "f32[?, 4] field"),
        (ACROSS, "f32[?, 4] field"),
        (FORWARD.replace("add", "max"), "f32[?, 2] field"),
        (FORWARD.replace("@y[%at, %one]", "@y[%i, %one]"), "f32[?, 2] field"),
        (FORWARD + "\nstore @y[%i, %zero], %a", "f32[?, 2] field"),
    ],
    ids=["odd", "array", "f64", "gap", "crossing", "unaligned", "max", "rows", "wanted"],
)
def test_others_are_added_one_by_one(updates: str, place: str) -> None:
    if place.startswith("f64"):
        updates = "%x = cast %v : f64\n" + updates.replace("%v", "%x").replace("%w", "%x").replace(": f32", ": f64")
    assert PAIR not in device_text(source(updates, place), pairs=True)
