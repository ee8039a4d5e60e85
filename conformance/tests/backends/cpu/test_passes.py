"""What LLVM is left to do: functions called from few places are inlined, rare sides are shared, the unused goes."""

from __future__ import annotations

import re

import pytest

import adstack as qd
from adstack.backends.cpu.codegen import emit_module
from adstack.backends.cpu.passes import passes
from adstack.backends.shared.compiler import Recipe, optimised
from adstack.backends.shared.jit import host_target
from adstack.ir.structure import Kernel, Program
from adstack.ir.text.parser import parse_ir
from adstack.transforms.pipeline import lower

CALLS = """
define internal float @twice(float %x) alwaysinline {
  %y = fadd float %x, %x
  ret float %y
}
define internal float @kept(float %x) noinline {
  %y = fmul float %x, %x
  ret float %y
}
define internal float @unused(float %x) {
  ret float %x
}
define float @run(float %x, ptr %out) {
  %slot = alloca float
  %a = call float @twice(float %x)
  store float %a, ptr %slot
  %b = load float, ptr %slot
  %c = call float @kept(float %b)
  ret float %c
}
"""


def test_the_passes_inline_clean_up_and_drop_what_nobody_calls():
    text = str(optimised(CALLS, Recipe(host_target(), passes(len(CALLS)))))
    assert "@twice" not in text
    assert "@unused" not in text
    assert "alloca" not in text
    assert "call float @kept" in text


def _program() -> Program:
    kernel = parse_ir(
        """kernel @k() {
          place @x : f32[1000] field
          %lo = const 0 : i32
          %hi = const 1000 : i32
          parallel_for (%i = %lo to %hi) {
            %v = load @x[%i]
            %s = sin %v
            store @x[%i], %s
            yield
          }
          return
        }
        """
    )
    assert isinstance(kernel, Kernel)
    return lower(kernel)


def _stages(calls: int, lanes: int = 0, shape: tuple[int, ...] = (1024,)) -> dict[str, str]:
    qd.init(arch=qd.cpu, offline_cache=False, cpu_lanes=lanes)
    x = qd.field(qd.f32, shape=shape)

    @qd.kernel
    def many():
        for i in qd.grouped(x):
            v = x[i]
            for k in qd.static(range(calls)):
                v = qd.sin(v + k)
            x[i] = v

    return many.stages()


@pytest.mark.parametrize(("calls", "inlined"), [(1, True), (4, True), (5, False), (20, False)])
def test_a_math_function_is_inlined_where_few_places_call_it(calls: int, inlined: bool):
    texts = _stages(calls, lanes=16)
    assert len(re.findall(r'call <16 x float> @"sin.f32.x16"', texts["llvm"])) == calls
    assert ("sin.f32.x16" not in texts["llvm-opt"].replace("sin.f32.x16.exit", "")) == inlined


def test_a_long_body_stands_once_where_masks_are_cheap():
    program = _program()
    texts = [emit_module(program, debug=False, lanes=16, vector_bytes=size).text for size in (64, 32)]
    assert [len(re.findall(r'call .*@"sin.f32.x', text)) for text in texts] == [1, 2]


def test_code_grows_with_the_calls_and_not_with_what_they_call():
    sizes = [len(_stages(calls, lanes=16)["asm"].splitlines()) for calls in (8, 16, 32)]
    assert sizes[2] - sizes[1] <= 2.5 * (sizes[1] - sizes[0])
    assert (sizes[2] - sizes[1]) / 16 < 60


def test_shifts_by_constants_need_no_guard():
    text = _stages(1, lanes=16)["llvm"]
    assert not re.search(r"icmp uge i64 \d+, 64", text)
    assert not re.search(r"icmp uge <16 x i32> splat \(i32 \d+\), splat", text)


def _sines(arch: str, lanes: int, values: list[float]) -> bytes:
    qd.init(arch=arch, cpu_lanes=lanes)
    x = qd.field(qd.f32, shape=len(values))
    for i, value in enumerate(values):
        x[i] = value

    @qd.kernel
    def every_second():
        for i in x:
            if i % 2 == 0:
                x[i] = qd.sin(x[i])

    every_second()
    return x.to_numpy().tobytes()


@pytest.mark.parametrize("lanes", [1, 16, 64])
def test_rare_and_common_sides_agree_with_the_reference_in_lanes_and_alone(lanes: int):
    values = [0.5, 1e5, 1.5e5, 3e38, -2e7, float("inf"), float("nan"), -0.0, 131072.0, 131073.0, 7.0] * 13
    assert _sines("cpu", lanes, values) == _sines("reference", 0, values)


def test_a_round_of_a_loop_has_one_jump():
    qd.init(arch=qd.cpu, offline_cache=False, cpu_lanes=16)
    x, n = qd.field(qd.f32, shape=1024), qd.field(qd.i32, shape=())

    @qd.kernel
    def loops():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = v * v + 1.0
            x[i] = v

    text = loops.stages()["llvm-opt"]
    (loop,) = re.findall(r"^(body\d+):(?:(?!^\S+:)[^@])*?br i1 \S+, label %(\S+), label %(\S+)$", text, re.MULTILINE)
    assert loop[0] in loop[1:]


@pytest.mark.parametrize("arch", ["reference", "cpu"])
@pytest.mark.parametrize("dtype", ["i8", "u8", "i64"])
def test_loops_end_where_their_type_ends(arch: str, dtype: str):
    qd.init(arch=arch)
    t = getattr(qd, dtype)
    low, high = {"i8": (-128, 127), "u8": (0, 255), "i64": (2**63 - 5, 2**63 - 1)}[dtype]
    lo, hi, y = qd.field(t, shape=()), qd.field(t, shape=()), qd.field(qd.i32, shape=8)

    @qd.kernel
    def count():
        for i in y:
            y[i] = 0
            for _ in range(lo[None], hi[None]):
                y[i] += 1

    for first, end in ((low, high), (high, high), (high, low), (high - 1, high)):
        lo[None], hi[None] = first, end
        count()
        assert y.to_numpy().tolist() == [max(0, end - first)] * 8
