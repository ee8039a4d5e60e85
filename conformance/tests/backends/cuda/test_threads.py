"""What threads of a device do together: values of a block combined into one."""

from __future__ import annotations

import numpy as np
import pytest
from warps import bits_of, number, run_block

from adstack.backends.codegen_llvm.text.writer import Writer, type_text
from adstack.backends.codegen_llvm.waves import agree, peers_of, totals
from adstack.backends.codegen_llvm.workgroups import total_of
from adstack.backends.cuda.device_code.blocks import Block
from adstack.backends.cuda.device_code.warps import Warp
from adstack.ir.types import by_name

LLVM = {"f16": "half", "f32": "float", "f64": "double"}


def combined(kind: str, dtype: str, values: np.ndarray):
    """The first thread's result."""
    result = run_block(total_of(Block(), Writer(), "f", kind, by_name(dtype)), list(values))[0]
    return values.dtype.type(number(LLVM.get(dtype, f"i{values.itemsize * 8}"), result))


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


KINDS = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("dtype", ["i8", "i32", "u64", "f16", "f32", "f64"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_whole_warp_has_the_sums_of_several_values(kind, dtype):
    """Twice the values are a second sum, which each thread adds to the first."""
    w, to = Writer(), by_name(dtype)
    ty = type_text(to, 1)
    for total in totals(Warp(), w, kind, to, ["%x", "%other"]):
        w.do(f"ret {ty} {total}")
    lines = [line.strip() for line in w.lines]
    first = next(k for k, line in enumerate(lines) if line.startswith("ret"))
    values = np.random.default_rng(3).integers(1, 3, 32).astype(to.numpy)
    others = np.random.default_rng(4).integers(1, 3, 32).astype(to.numpy)
    for text, column in ((lines[: first + 1], values), ([*lines[:first], lines[first + 1]], others)):
        body = "\n".join(["f {", "entry:", *text, "}"])
        got = run_block(body, list(values), other=[bits_of(v) for v in others])
        with np.errstate(over="ignore"):
            wanted = bits_of(KINDS[kind].reduce(column, dtype=to.numpy))
        assert set(got) == {wanted}


GROUPS = {
    "one": [0] * 32,
    "all apart": list(range(32)),
    "rows": [k // 10 for k in range(32)],
    "columns": [k % 3 for k in range(32)],
    "pairs far apart": [k % 16 for k in range(32)],
    "one alone": [int(k == 17) for k in range(32)],
    "few threads": [0, 0, 1],
    "one thread": [0],
}


@pytest.mark.parametrize("dtype", ["i16", "i32", "f16", "f32", "f64"])
@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
def test_threads_that_belong_together_have_one_sum(groups, dtype):
    to = by_name(dtype)
    values = (np.arange(len(groups)) % 7 + 1).astype(to.numpy)
    masks = [sum(1 << j for j, other in enumerate(groups) if other == group) for group in groups]
    text = peers_of(Warp(), Writer(), "f", "add", to)
    got = run_block(text, list(values), mask=[(1 << len(groups)) - 1] * len(groups), peers=masks)
    for group in set(groups):
        members = [k for k, other in enumerate(groups) if other == group]
        assert number(type_text(to, 1), got[members[0]]) == values[members].sum()


@pytest.mark.parametrize(
    ("threads", "words", "conditions", "agreed"),
    [
        (32, [5] * 32, [1] * 32, True),
        (31, [5] * 31, [1] * 31, False),
        (32, [5] * 31 + [6], [1] * 32, False),
        (32, [5] * 32, [1] * 31 + [0], False),
    ],
    ids=["all", "one is missing", "one differs", "one is outside"],
)
def test_a_warp_agrees_if_all_do(threads, words, conditions, agreed):
    w = Writer()
    w.do(f"ret i1 {agree(Warp(), w, ['%word', '%word'], '%fine')}")
    body = "\n".join(["f {", "entry:", *(line.strip() for line in w.lines), "}"])
    active = [(1 << threads) - 1] * threads
    got = run_block(body, [np.int32(0)] * threads, active=active, word=words, fine=conditions)
    assert set(got) == {int(agreed)}
