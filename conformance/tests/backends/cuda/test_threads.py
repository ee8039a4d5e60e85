"""What threads of a device do together: values of a block combined into one."""

from __future__ import annotations

import numpy as np
import pytest
from warps import bits_of, number, run_block

from adstack.backends.cuda.threads import _block
from adstack.ir.types import by_name

LLVM = {"f16": "half", "f32": "float", "f64": "double"}


def combined(kind: str, dtype: str, values: np.ndarray):
    """The first thread's result."""
    found = run_block(_block("f", kind, by_name(dtype)), list(values))[0]
    return values.dtype.type(number(LLVM.get(dtype, f"i{values.itemsize * 8}"), found))


@pytest.mark.parametrize("threads", [1, 5, 31, 32, 33, 64, 100, 128, 256, 1024])
def test_every_thread_counts_once(threads):
    values = 1 << (np.arange(threads, dtype=np.int64) % 40)
    assert combined("add", "i64", values) == values.sum()


@pytest.mark.parametrize("dtype", ["i16", "i32", "i64", "f16", "f32", "f64"])
@pytest.mark.parametrize("kind", ["add", "min", "max"])
@pytest.mark.parametrize("threads", [128, 40])
def test_values_of_every_type_are_combined(kind, dtype, threads):
    values = np.random.default_rng(threads).integers(-15, 15, threads).astype(by_name(dtype).numpy)
    wanted = {"add": np.sum, "min": np.min, "max": np.max}[kind](values)
    assert combined(kind, dtype, values) == wanted


@pytest.mark.parametrize("kind", ["and", "or", "xor"])
def test_bits_are_combined(kind):
    values = np.random.default_rng(1).integers(-(2**62), 2**62, 96)
    wanted = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[kind].reduce(values)
    assert combined(kind, "i64", values) == wanted


def test_the_order_is_fixed():
    values = np.random.default_rng(2).random(256).astype(np.float32)
    assert bits_of(combined("add", "f32", values)) == bits_of(combined("add", "f32", values.copy()))


def test_no_number_loses_to_nan():
    values = np.full(64, np.nan, np.float32)
    values[37] = 3.0
    assert combined("max", "f32", values) == 3.0


def test_a_thread_that_others_wait_for_is_noticed():
    text = """define i32 @f(i32 %x) {
    entry:
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      %first = icmp eq i32 %t, 0
      br i1 %first, label %wait, label %turn
    turn:
      %y = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %x, i32 1, i32 31)
      br label %wait
    wait:
      call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
      ret i32 %x
    }"""
    lines = "\n".join(line.strip() for line in text.splitlines())
    with pytest.raises(AssertionError, match="never come"):
        run_block(lines, list(np.zeros(32, np.int32)))
