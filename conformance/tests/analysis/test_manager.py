"""The analysis manager: what is computed once, what is forgotten, and what the check finds."""

import ast
from pathlib import Path

import pytest
from transforms_kit import kernel_of, wrap

from adstack.analysis import (
    facts,
    induction,
    iteration_space,
    loop_nests,
    manager,
    order,
    reductions,
    store_sinking,
    strides,
    uniformity,
)
from adstack.analysis.facts import draws_random, mod_ref
from adstack.analysis.manager import Analyses
from adstack.conformance.fuzz.programs import random_kernel
from adstack.errors import IRError
from adstack.transforms import pipeline
from adstack.transforms.rewriting.options import DEFAULT
from adstack.transforms.rewriting.rewrite import clone_kernel

TEXT = """
place @x : i32[4] field
%zero = const 0 : i32
%four = const 4 : i32
parallel_for (%i = %zero to %four) {
  %v = load @x[%i] : i32
  store @x[%i], %v
  yield
}
return
"""


def body():
    return kernel_of(wrap(TEXT)).body


def counted():
    calls = []

    def analysis(region):
        calls.append(region)
        return len(list(region.walk()))

    return analysis, calls


def test_a_result_is_computed_once_per_region():
    analysis, calls = counted()
    analyses, one, other = Analyses(), body(), body()
    assert analyses.get(analysis, one) == analyses.get(analysis, one) == analyses.get(analysis, other) == 7
    assert calls == [one, other]


def test_what_is_not_preserved_is_computed_again():
    (kept, of_kept), (lost, of_lost) = counted(), counted()
    analyses, region = Analyses(), body()
    for preserved in ((kept,), (kept, lost), ()):
        analyses.get(kept, region)
        analyses.get(lost, region)
        analyses.invalidate(preserved)
    assert (len(of_kept), len(of_lost)) == (1, 2)


def test_the_check_names_an_analysis_whose_result_has_changed():
    analyses, region = Analyses(), body()
    analyses.get(draws_random, region)
    analyses.get(mod_ref, region)
    analyses.check()
    region.ops[2].regions[0].keep(lambda op: op.name != "store")
    with pytest.raises(IRError, match="the analysis mod_ref is said to be preserved, and its result has changed"):
        analyses.check()


@pytest.mark.parametrize("name", dict(pipeline.PASSES))
def test_passes_preserve_what_they_say(name):
    """Whatever is known before: every analysis that any pass may preserve."""
    run = dict(pipeline.PASSES)[name]
    for seed in range(25):
        kernel = clone_kernel(random_kernel(seed, 60, transcendentals=False))
        analyses = Analyses()
        for analysis in (draws_random, mod_ref):
            analyses.get(analysis, kernel.body)
        analyses.invalidate(run(kernel.body, DEFAULT, analyses))
        analyses.check()


CACHED = (
    order.Order,
    strides.Strides,
    facts.mod_ref,
    facts.draws_random,
    induction.values_in_32_bits,
    iteration_space.bound_ops,
    iteration_space.side_by_side,
    iteration_space.side_by_side_in_row,
    loop_nests.contains_loop,
    reductions.read_only_places,
    store_sinking.sinkable_stores,
    uniformity.varying_values,
    uniformity.varying_in_row,
)
"""Facts about whole regions that more than one room wants."""


def test_nobody_but_the_manager_computes_what_it_keeps():
    """`by_place` is not among them: a pass that rewrites a loop asks anew, of regions that nobody has seen before."""
    names, home = {analysis.__name__ for analysis in CACHED}, Path(manager.__file__).parent
    called = [
        f"{path.relative_to(home.parent.parent)}:{node.lineno} {node.func.id}"
        for top in (home.parent, home.parent.parent / "backends")
        for path in top.rglob("*.py")
        if home not in path.parents
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]
    assert not called
