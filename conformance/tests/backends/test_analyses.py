"""The generators ask the manager for facts about regions, and change nothing that they are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from cpu_kit import tasks_of
from interpreter_kit import parallel

from adstack.analysis.accumulation import APART
from adstack.analysis.exclusivity import by_place
from adstack.analysis.induction import values_in_32_bits
from adstack.analysis.iteration_space import side_by_side
from adstack.analysis.manager import Analyses, Analysis
from adstack.backends.codegen_llvm import tasks as llvm
from adstack.backends.codegen_spirv import tasks as spirv
from adstack.ir.structure import Program, Region
from adstack.transforms.memory.accumulate import accumulate

N = 75
LANES = 8
PLACES = "\n".join(f"place @{name} : f32[?] field" for name in "abc")
SUM = """
%x = load @a[%i] : f32
store @b[%i], %x
%old = atomic add @c[%i], %x : f32
"""
WHILE = """
%x = load @a[%i] : f32
%one = const 1.0 : f32
%r = while (%s = %x) {
  %more = lt %s, %one : u1
  yield %more, %s
} do (%v) {
  %t = add %v, %one : f32
  yield %t
}
store @b[%i], %r
"""


class Asked(Analyses):
    """An analysis manager that counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[Analysis] = Counter()

    def get(self, analysis: Callable[[Region], Any], region: Region) -> Any:
        self.asked[analysis] += 1
        return super().get(analysis, region)


def by_llvm(program: Program, analyses: Analyses | None = None) -> object:
    return llvm.emit_program(program, [LANES], analyses=analyses).text


def by_spirv(program: Program, analyses: Analyses | None = None) -> object:
    return [shader.words for shader in spirv.emit_program(program, analyses=analyses).shaders]


@pytest.mark.parametrize("body", [SUM, WHILE], ids=["sum", "while"])
@pytest.mark.parametrize(
    ("emit", "wanted"), [(by_llvm, (side_by_side, by_place)), (by_spirv, (values_in_32_bits, by_place))]
)
def test_generators_ask_the_manager_and_leave_what_they_are_told_as_it_is(emit, wanted, body):
    program, analyses = tasks_of(parallel(body, N, PLACES)), Asked()
    for task in program.tasks:
        accumulate(task, APART)
    code = emit(program, analyses)
    assert all(analyses.asked[analysis] for analysis in wanted)
    analyses.check()
    again = emit(program, analyses)
    assert again == code == emit(program)
