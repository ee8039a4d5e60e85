"""Code asks whether an op is of a row of the table by identity, and never by comparing its name with words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from adstack.ir.ops import TABLE

ROOT = Path(__file__).parents[3]
SOURCES = ("backends", "conformance/fuzz", "conformance/harness", "reference", "tools")

COMPARISON = re.compile(r"\.name (?:==|!=|in|not in) [({]?((?:\"[^\"\n]*\"(?:, )?)+)")


def compared(source: str) -> Iterator[str]:
    """The places in which a `name` is compared with nothing but names of ops."""
    for match in COMPARISON.finditer(source):
        words = re.findall(r"\"([^\"]*)\"", match[1])
        if TABLE.keys() >= set(words):
            yield match[0]


def test_no_op_is_told_by_its_name() -> None:
    files = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))]
    places = [
        (path.relative_to(ROOT).as_posix(), words) for path in files for words in compared(path.read_text("utf-8"))
    ]
    assert places == []


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ('op.name == "for"', 1),
        ('loop.op.name not in ("for", "while")', 1),
        ('kind.name == "xchg"', 0),
        ('place.name == "x"', 0),
        ("op.opdef is FOR", 0),
    ],
)
def test_such_a_comparison_is_seen(line: str, count: int) -> None:
    assert len(list(compared(line))) == count
