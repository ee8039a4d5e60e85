"""Guards of threads of a device: reports behind the accesses, and launches that need no guards."""

from __future__ import annotations

import numpy as np
from assumptions_kit import STEP, steps
from cuda_kit import agree_on, assemble, device_code, device_text
from interpreter_kit import parallel


def test_accesses_beside_each_other_are_reported_behind_all_of_them(tmp_path):
    source = parallel(
        "%at = load @count[%i] : i32\n%a = load guarded (0) @x[%at] : f32\n%b = load guarded (0) @y[%at] : f32\n"
        "%c = add %a, %b : f32\nstore guarded (0) @z[%at], %c",
        100,
        "place @x : f32[9] field\nplace @y : f32[?] field\nplace @z : f32[7] field\nplace @count : i32[?] field",
    )
    code = device_code(source)
    assert code.count("atom.relaxed.gpu.global.cas.b64") == 3
    assert code.index("atom.relaxed.gpu.global.cas.b64") > code.index("st.global.b32")
    assemble(code, tmp_path)
    for number in (3, 7, 8, 9, -1):
        values = {
            "x": np.arange(9, dtype=np.float32),
            "y": np.arange(8, dtype=np.float32),
            "z": np.zeros(7, np.float32),
        }
        agree_on(source, [({**values, "count": np.full(100, number, np.int32)}, ())])


def test_launches_whose_arguments_and_extents_are_in_order_run_without_guards(tmp_path):
    """The others run with them: where an argument is outside, an extent, both, or where the argument's sum wraps."""
    text = device_text(STEP)
    _, _, launches = text.partition("\nfits")
    fits, _, every = launches.partition("\nevery")
    assert ("cmpxchg" in fits, "cmpxchg" in every) == (False, True)
    assemble(device_code(STEP), tmp_path)
    agree_on(STEP, steps())
