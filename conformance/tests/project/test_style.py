"""The sizes that keep files and functions readable: style is measured, not remembered."""

from __future__ import annotations

import ast
import functools
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "conformance" / "tests"
NOT_PRODUCT = ("conformance/tests", "conformance/cases", "conformance/programs", "asv_benchmarks", "examples")
SOURCES = [
    path
    for folder in ("reference", "backends", "conformance", "tools", "asv_benchmarks", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path.stat().st_size
]
LINES = {path: len(path.read_text().splitlines()) for path in SOURCES}


PRODUCT = [path for path in SOURCES if not str(path.relative_to(ROOT)).startswith(NOT_PRODUCT)]


@functools.cache
def function_lengths() -> dict[str, int]:
    """Lines of each function of the product."""
    lengths = {}
    for path in PRODUCT:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
                name = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                lengths[name] = node.end_lineno - node.lineno + 1
    return lengths


def ninth_decile(values: list[int]) -> float:
    return statistics.quantiles(values, n=10)[-1]


def test_no_file_is_longer_than_500_lines_and_none_of_the_product_than_400():
    limits = {path: 400 if path in PRODUCT else 500 for path in SOURCES}
    assert {str(path.relative_to(ROOT)): n for path, n in LINES.items() if n > limits[path]} == {}


def test_half_of_the_files_are_under_110_lines_and_nine_tenths_under_250():
    sizes = [LINES[path] for path in PRODUCT]
    assert statistics.median(sizes) < 110
    assert ninth_decile(sizes) < 250


def test_half_of_the_functions_are_under_10_lines_nine_tenths_under_30_and_all_up_to_40():
    sizes = function_lengths()
    assert statistics.median(sizes.values()) < 10
    assert ninth_decile(list(sizes.values())) < 30
    assert {name: n for name, n in sizes.items() if n > 40} == {}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_file_speaks_of_what_is_there(path):
    text = path.read_text()
    forbidden = ["TO" + "DO", "FIX" + "ME", "X" * 3]
    assert [word for word in forbidden if word in text] == []


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_no_test_is_skipped_or_expected_to_fail(path):
    attributes = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    assert attributes.isdisjoint({"skip", "skipif", "xfail", "importorskip"})
