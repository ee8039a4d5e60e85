"""Every bad program of bad_programs.txt is refused where and how the table says."""

from __future__ import annotations

import itertools
import linecache
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack import errors

_TABLE = Path(__file__).with_name("bad_programs.txt")
_numbers = itertools.count()
_WITHOUT_REMEDY = frozenset(
    {
        "Python function that raises",
        "failed assert in debug mode",
        "division by zero in debug mode",
        "shift by the width in debug mode",
        "negative exponent in debug mode",
        "index from a star of a number",
        "dict with a key that can't be one",
        "object with a hash that fails",
        "property that fails",
    }
)
"""Programs whose own error is shown, or whose operation has no result: what to do, the program knows best."""


@dataclass(frozen=True)
class Bad:
    """A row: the source without marks, and where the mark was (1-based; None if there is none)."""

    name: str
    kind: str
    phrase: str
    source: str
    call: str
    start: tuple[int, int] | None
    end: tuple[int, int] | None


def _position(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _row(block: str) -> Bad:
    name, error, rest = block.split("\n", 2)
    kind, _, phrase = error.partition(": ")
    source, _, call = f"\n{rest.rstrip()}".partition("\ncall: ")
    source = source.removeprefix("\n")
    opened, closed = source.find("«"), source.find("»")
    if opened < 0:
        return Bad(name, kind, phrase, source, call or "k()", None, None)
    plain = source.replace("«", "").replace("»", "")
    return Bad(name, kind, phrase, plain, call or "k()", _position(plain, opened), _position(plain, closed - 1))


ROWS = [_row(block) for block in _TABLE.read_text().split("\n== ")[1:]]


def _world() -> dict[str, Any]:
    """The names that the programs use."""
    return {
        "qd": qd,
        "np": np,
        "N": 4,
        "a3": np.arange(3),
        "x": qd.field(qd.f32, 8, name="x", needs_grad=True),
        "y": qd.field(qd.f32, 8, name="y"),
        "n": qd.field(qd.i32, 8, name="n"),
        "g": qd.field(qd.f32, (4, 4), name="g"),
        "s": qd.field(qd.f32, (), name="s"),
        "v": qd.Vector.field(3, qd.f32, 4, name="v"),
        "m": qd.Matrix.field(2, 2, qd.f32, 4, name="m"),
    }


def _run(row: Bad) -> None:
    file = f"<bad program {next(_numbers)}>"
    source = row.source + "\n"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    world = _world()
    exec(compile(source, file, "exec"), world)
    eval(row.call, world)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "-"))
def test_a_bad_program_is_refused(row: Bad) -> None:
    qd.init(arch=qd.reference)
    with pytest.raises(getattr(errors, row.kind)) as caught:
        _run(row)
    error = caught.value
    assert type(error).__name__ == row.kind or isinstance(error, errors.AdstackCompilationError)
    assert row.phrase in str(error)
    assert ("\n  do: " in str(error)) == (row.name not in _WITHOUT_REMEDY)
    if row.start is not None:
        assert error.loc is not None
        assert (error.loc.line, error.loc.col) == row.start
        assert (error.loc.end_line, error.loc.end_col) == row.end


def test_the_table_is_large_and_its_names_are_unique() -> None:
    assert len(ROWS) >= 80
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_an_error_shows_the_line_a_caret_and_the_remedy() -> None:
    qd.init(arch=qd.reference)
    row = next(row for row in ROWS if row.name == "recursion")
    with pytest.raises(errors.AdstackCompilationError) as caught:
        _run(row)
    text = str(caught.value)
    assert "return f(a - 1)" in text
    assert "       ^^^^^^^^" in text
    assert "called from" in text
    assert "do: write @qd.real_func" in text
