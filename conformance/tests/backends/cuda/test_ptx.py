"""The PTX of every case's kernels assembles, and says what the language means: no contraction, no flushing to zero."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cpu_kit import tasks_of
from cuda_kit import ADDS, assemble, device_code, device_text, joined
from interpreter_kit import parallel
from nightly_kit import BY_NIGHT
from suites import first_variants, without_bounds

import adstack as qd
from adstack.backends.cuda.adds import ALWAYS, LEAST
from adstack.backends.cuda.codegen import emit_module
from adstack.backends.cuda.runtime import CudaBackend
from adstack.backends.cuda.toolchain import ptx
from adstack.conformance.harness import execute
from adstack.conformance.harness.loading import CASES
from adstack.errors import AdstackError
from adstack.ir.ops import ATOMIC

BATCHES = 16
BATCH = 64
"""Modules that are assembled at a time."""


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """LLVM text -> name, of what is compiled; nothing is run. Whatever compiling raises is the kernel's own error."""
    listings: dict[str, str] = {}
    failures: list[Exception] = []

    def compile_(self, program, options):
        local = (1 << 20) if options.ad_stack_storage == "stack" else None
        try:
            module = emit_module(program, debug=options.debug, adds=ADDS, host=False, local=local, pairs=True)
        except AdstackError:
            raise
        except Exception as error:
            failures.append(error)
            raise
        listings.setdefault(module.text, program.name)
        return program

    def launch(self, program, scalars, bindings):
        return [0 for _ in program.results]

    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    monkeypatch.setattr(CudaBackend, "compile", compile_)
    monkeypatch.setattr(CudaBackend, "launch", launch)
    monkeypatch.setattr(CudaBackend, "last_launch", lambda self, program: 0)
    monkeypatch.setattr(CudaBackend, "launch_word", lambda self, program: 0)
    monkeypatch.setattr(CudaBackend, "last_scalars", lambda self, program: [])
    monkeypatch.setattr(CudaBackend, "adstacks", lambda self, program: [])
    monkeypatch.setattr(CudaBackend, "entry_of", lambda self, program: None)
    without_bounds(monkeypatch)
    yield listings
    qd.reset()
    assert failures == []


# By day every fourth batch will do: any topic has cases in each.
@pytest.mark.parametrize("batch", range(0, BATCHES, 1 if BY_NIGHT else 4))
def test_the_kernels_of_every_case_assemble(batch, texts, tmp_path):
    capture = SimpleNamespace(mark=lambda: 0, since=lambda mark: "")
    with np.errstate(all="ignore"):
        for entry in first_variants()[batch::BATCHES]:
            for mode in entry.case.modes:
                request = execute.Request(str(CASES), entry.path, entry.id, mode, 1)
                seen = execute.perform(request, execute.Target(qd, "cuda"), capture)
                assert not seen["message"].startswith(("AttributeError", "InternalError")), seen["message"]
    assert len(texts) > 20
    codes = [ptx(text) for text in texts]
    for start in range(0, len(codes), BATCH):
        assemble(joined(codes[start : start + BATCH]), tmp_path, "-O0")
    for code in codes:
        assert odd(code) == []


def odd(code: str) -> list[str]:
    """Instructions that round more or less than once, that flush to zero, or that want code from elsewhere."""
    unrounded = re.findall(
        r"(?<![\w.])(?:add|sub|mul|fma|div|sqrt|mad)(?:\.(?:approx|full|ftz|f16|f32|f64))+\b.*", code
    )
    # the divisors of `division.quotient` are not subnormal, nor are their reciprocals
    flushed = [line for line in re.findall(r".*\.ftz.*", code) if not re.search(r"noftz|rcp\.approx\.ftz\.f32", line)]
    called = [line for line in re.findall(r"\.extern.*", code) if not re.search(r"\b(malloc|free)$", line)]
    return unrounded + flushed + called


def test_what_is_odd_is_noticed():
    assert odd("\tadd.f32 \t%f1, %f2, %f3;\n\tmul.rn.f32 %f1, %f2, %f3;") == ["add.f32 \t%f1, %f2, %f3;"]
    assert odd("\tadd.rn.ftz.f32 \t%f1;") == ["\tadd.rn.ftz.f32 \t%f1;"]
    assert odd("\tatom.global.add.noftz.f16 %rs1, [%rd1], %rs2;\n\tsub.rn.f64 %d1;\n\tmul.wide.u32 %rd1;") == []


def test_a_bad_kernel_among_good_ones_is_noticed(tmp_path):
    good = device_code(ADD.replace("{t}", "i32"))
    with pytest.raises(AssertionError, match="nonsense"):
        assemble(joined([good, good.replace("ret;", "nonsense;"), good]), tmp_path, "-O0")


ADD = parallel(
    "%v = load @x[%i] : {t}\n%k = load @at[%i] : i32\n%old = atomic add @y[%k], %v : {t}",
    100,
    "place @x : {t}[?] field\nplace @y : {t}[?] field\nplace @at : i32[?] field",
)


KINDS = [
    ("i32", "add", "add.u32"),
    ("i64", "add", "add.u64"),
    ("f16", "add", "add.noftz.f16"),
    ("f32", "add", "add.f32"),
    ("f64", "add", "add.f64"),
    ("i32", "min", "min.s32"),
    ("u32", "max", "max.u32"),
    ("i64", "max", "max.s64"),
    ("u64", "min", "min.u64"),
    ("u32", "and", "and.b32"),
    ("i64", "xor", "xor.b64"),
    ("i32", "or", "or.b32"),
]


@pytest.mark.parametrize(("dtype", "kind", "instruction"), KINDS)
def test_memory_updates_by_itself(dtype, kind, instruction, tmp_path):
    code = device_code(ADD.replace("{t}", dtype).replace("atomic add", f"atomic {kind}"))
    assert f"red.relaxed.gpu.global.{instruction} " in code
    assert "atom." not in code
    assemble(code, tmp_path)


@pytest.mark.parametrize(("dtype", "kind", "instruction"), KINDS)
def test_memory_tells_what_was_there_if_somebody_asks(dtype, kind, instruction, tmp_path):
    asked = ADD.replace("{t}", dtype).replace("atomic add", f"atomic {kind}")
    code = device_code(asked.replace("yield", "store @x[%i], %old\nyield"))
    assert re.search(rf"atom\.(?:relaxed\.gpu\.)?global\.{re.escape(instruction)} ", code)
    assert "red." not in code
    assemble(code, tmp_path)


def test_an_element_that_one_thread_alone_touches_is_added_to_without_atomics():
    code = device_code(parallel("%old = atomic add @y[%i], %i : i32", 100, "place @y : i32[?] field"))
    assert "atom" not in code
    assert "red." not in code


NATIVE = r"red\.relaxed\.gpu\.global\.add\.f32"
LOOP = r"atom\.relaxed\.gpu\.global\.cas\.b32"


def test_where_memory_adds_wrongly_a_loop_adds():
    code = device_code(ADD.replace("{t}", "f32"), adds=ALWAYS)
    assert "add.rn.f32" in code
    assert re.search(LOOP, code)
    assert not re.search(NATIVE, code)


def test_where_memory_flushes_subnormals_it_adds_what_is_large(tmp_path):
    for text in (ADD, SUM.replace("{kind}", "add")):
        code = device_code(text.replace("{t}", "f32"), adds={**ALWAYS, "f32": LEAST})
        assert re.search(NATIVE, code)
        assert re.search(LOOP, code)
        assert re.search(r"setp\.\w+\.f32 .*0f0D800000", code)  # 2^-100
        assert code.index("ld.relaxed.gpu.global") < re.search(LOOP, code).start()
        assemble(code, tmp_path)


def test_memory_adds_by_itself_what_is_not_below_the_least():
    text = device_text(ADD.replace("{t}", "f32"), adds={**ALWAYS, "f32": LEAST})
    branch = re.search(r"fcmp olt float .*\n\s*br i1 \S+, label %(\S+), label %(\S+)", text)
    assert branch is not None
    small, large = (
        re.search(rf"^{re.escape(label)}:\n((?:  .*\n)*)", text, re.MULTILINE)[1] for label in branch.groups()
    )
    assert "load atomic i32" in small
    assert "red.relaxed.gpu.global.add.f32" in large


INNER = parallel(
    """%two = const 2 : i32
%three = const 3 : i32
for %k = %two to %n {
  %v = load @x[%i] : {t}
  %0 = atomic {kind} @y[%k, %zero], %v : {t}
  %1 = atomic {kind} @y[%k, %two], %v : {t}
  yield
}""",
    100,
    "place @x : {t}[?] field\nplace @y : {t}[?, 3] field",
)


@pytest.mark.parametrize("kind", ["add", "mul", "max"])
@pytest.mark.parametrize("dtype", ["i8", "u16", "i32", "u64", "f16", "f32", "f64"])
def test_what_a_warp_adds_to_one_element_is_combined_first(kind, dtype, tmp_path):
    """Both updates at once: the warp looks once whether all its threads are here with one element."""
    code = device_code(INNER.replace("{t}", dtype).replace("{kind}", kind), adds={**ALWAYS, "f32": LEAST})
    words = 2 if dtype in ("u64", "f64") else 1
    assert code.count("shfl.sync.bfly.b32") == 2 * 5 * words
    assert code.count("vote.sync.all") == code.count("match.any.sync.b64") == 1
    assert code.count(f"call.uni {kind}_$_{dtype}_$_peers") == 2
    assemble(code, tmp_path)


def test_updates_are_combined_in_a_loop_that_does_without_guards_as_in_the_guarded_one(tmp_path):
    source = INNER.replace("{t}", "f32").replace("{kind}", "add").replace("atomic", "atomic guarded (0)")
    code = device_code(source)
    assert code.count("vote.sync.all") == 2
    assert code.count("shfl.sync.bfly.b32") == 2 * 2 * 5
    assemble(code, tmp_path)


BESIDE = parallel(
    """%two = const 2 : i32
for %k = %zero to %two {
  %v = load @x[%i] : f32
  %old = atomic add @z[%k, %i], %v : f32
  %sum = atomic add @y[%k], %v : f32
  yield
}""",
    100,
    "place @x : f32[?] field\nplace @y : f32[2] field\nplace @z : f32[2, ?] field",
)


def test_threads_that_one_may_have_left_meet_before_they_combine(tmp_path):
    """What is too small for memory to add takes a loop, from which threads would not come back to the others."""
    program = tasks_of(BESIDE)
    for task in program.tasks:
        for op in task.body.walk():
            if op.opdef is ATOMIC:
                op.attrs["sums"] = "subgroup" if op.attrs["place"].name == "y" else "atomic"
    code = ptx(emit_module(program, debug=False, adds={**ALWAYS, "f32": LEAST}, host=False).text)
    assert code.count("bar.warp.sync") == 1
    assert code.index("red.relaxed.gpu.global.add.f32", code.index(".entry")) < code.index("bar.warp.sync")
    assert code.index("bar.warp.sync") < code.index("vote.sync.all")
    assemble(code, tmp_path)


def test_threads_that_combine_nothing_need_not_meet():
    assert "bar.warp.sync" not in device_code(ADD.replace("{t}", "f32"), adds={**ALWAYS, "f32": LEAST})


def test_where_checks_say_which_iteration_was_wrong_nothing_is_combined():
    code = device_code(INNER.replace("{t}", "f32").replace("{kind}", "add"), debug=True)
    assert "shfl" not in code


def test_where_memory_adds_rightly_there_is_no_loop():
    code = device_code(ADD.replace("{t}", "f32"))
    assert not re.search(LOOP, code)


SUM = parallel(
    "%v = load @x[%i] : {t}\n%old = atomic {kind} @y[%zero], %v : {t}",
    100000,
    "place @x : {t}[?] field\nplace @y : {t}[1] field",
)


COMBINED = [
    *itertools.product(["add", "mul", "min", "max"], ["i8", "u16", "i32", "u64", "f16", "f32", "f64"]),
    *itertools.product(["and", "or", "xor"], ["u1", "i8", "u16", "i32", "u64"]),
]


@pytest.mark.parametrize(("kind", "dtype"), COMBINED)
def test_what_all_threads_add_to_one_element_is_combined_in_blocks(kind, dtype, tmp_path):
    code = device_code(SUM.replace("{t}", dtype).replace("{kind}", kind))
    assert "shfl.sync.down.b32" in code
    assert code.count("bar.sync") == 2
    assemble(code, tmp_path)


@pytest.mark.parametrize(("kind", "cached"), [("field", True), ("ndarray", False)])
def test_memory_that_nobody_writes_to_is_read_by_way_of_the_cache_for_such(kind, cached, tmp_path):
    """An array may be any memory that the caller can name, that which is written to as well."""
    body = "%v = load @x[%i] : f32\n%w = load @y[%i] : f32\n%u = add %v, %w : f32\nstore @y[%i], %u"
    code = device_code(parallel(body, 100, f"place @x : f32[?] {kind}\nplace @y : f32[?] field"))
    assert code.count("ld.global.nc") == cached
    assert len(re.findall(r"ld\.global(?!\.nc)", code)) == 2 - cached
    assemble(code, tmp_path)


def test_what_a_task_reads_before_its_iterations_is_read_when_the_launch_before_has_ended():
    body = "%v = load @x[%i] : i32\nstore @y[%i], %v"
    source = parallel(body, 100, "place @x : i32[?] field\nplace @y : i32[?] field\nplace @n : i32[] field")
    source = source.replace("%n = const 100 : i32", "%n = load @n[] : i32")
    text = emit_module(tasks_of(source), debug=False, adds=ADDS, host=False, waits=True).text
    code = ptx(text)
    assert code.index("griddepcontrol.wait") < code.index("ld.global")
    assert code.count("ld.global.nc") == 1


def test_arguments_come_with_the_launch():
    code = device_code(ADD.replace("{t}", "i32"))
    assert re.search(r"\.param \.align 8 \.b8 task0_param_0\[\d+\]", code)
    assert "ld.param" in code
    assert "ld.global" in code  # not the address space that may be anything


def test_nothing_spills_in_the_reverse_pass_of_the_recurrence(tmp_path, texts):
    qd.init(arch=qd.cuda)
    x, n = qd.field(qd.f32, shape=64, needs_grad=True), qd.field(qd.i32, shape=())
    y = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def recurrence():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = qd.sin(v) * 0.9 + 0.1
            y[None] += v

    recurrence()
    recurrence.grad()
    assert len(texts) == 2
    for text in texts:
        said = assemble(ptx(text), Path(tmp_path), "-v")
        assert set(re.findall(r"(\d+) bytes spill", said)) == {"0"}
        used = [int(count) for count in re.findall(r"Used (\d+) registers", said)]
        assert max(used) <= 64  # half as many threads as there can be, and each does four turns at once
    inner = loops(ptx(list(texts)[1]))
    assert len(inner) == 6  # forward and back: several iterations at once, one by one, and whole
    for loop in inner:
        assert not re.findall(r"(?:mul|mad)\.lo\.s64", loop)  # addresses of slots are counted up and down


def loops(code: str) -> list[str]:
    """Innermost loops: from a label to the last branch back to it."""
    bodies = {}
    for label, rest in re.findall(r"^(\$L__\w+:)\n(?=(.*?)^\})", code, re.MULTILINE | re.DOTALL):
        body, back, _ = rest.rpartition(f"bra \t{label[:-1]};")
        if back:
            bodies[label] = body
    return [body for body in bodies.values() if not any(label in body for label in bodies)]
