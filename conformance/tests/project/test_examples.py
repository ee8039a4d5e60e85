"""The programs of `examples/` run, each with the checks that it makes itself: gradients, and losses that fall."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_its_loss_falls(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    losses = example.main("cpu")
    assert losses[-1] < 0.1 * losses[0]


def test_every_example_is_named_in_the_readme():
    readme = (EXAMPLES[0].parents[1] / "README.md").read_text()
    assert [path.name for path in EXAMPLES if f"examples/{path.name}" not in readme] == []
