"""The generator asks the manager for facts about regions, and changes nothing that they are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from cpu_kit import tasks_of
from interpreter_kit import parallel

from adstack.analysis.exclusivity import by_place
from adstack.analysis.manager import Analyses, Analysis
from adstack.analysis.uniformity import varying_values
from adstack.backends.codegen_llvm.tasks import emit_program
from adstack.ir.structure import Region

N = 75
LANES = 8
PLACES = "\n".join(f"place @{name} : f32[?] field" for name in "abc")
BODY = """
%x = load @a[%i] : f32
store @b[%i], %x
%old = atomic add @c[%i], %x : f32
"""


class Asked(Analyses):
    """An analysis manager that counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[Analysis] = Counter()

    def get(self, analysis: Callable[[Region], Any], region: Region) -> Any:
        self.asked[analysis] += 1
        return super().get(analysis, region)


def test_the_generator_asks_the_manager_and_leaves_the_program_as_it_is():
    program, analyses = tasks_of(parallel(BODY, N, PLACES)), Asked()
    text = emit_program(program, [LANES], analyses=analyses).text
    assert analyses.asked[varying_values]
    assert analyses.asked[by_place] >= 2
    analyses.check()
    again = emit_program(program, [LANES], analyses=analyses).text
    assert again == text == emit_program(program, [LANES]).text
