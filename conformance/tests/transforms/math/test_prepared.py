"""Functions of the math library on file: what their sources give today, and read back as they were written."""

from __future__ import annotations

import numpy as np
import pytest

from adstack.ir.functions import evaluate
from adstack.ir.structure import Function
from adstack.ir.text.parser import parse_ir
from adstack.ir.types import f16, f32, f64
from adstack.tools.accuracy.prepared import text_of, texts, write
from adstack.transforms.math import library, prepared
from adstack.transforms.math.library import NAMES, from_source

KEPT = sorted(name for name, (_, dtype, _) in NAMES.items() if dtype is not f16)
ARGUMENTS = [-1e30, -3e5, -2.5, -0.0, 1e-30, 0.3, 1.0, 40.0, 7e5, 1e19, np.inf, np.nan]


def test_the_files_are_what_the_sources_give():
    """If not: python -m adstack.tools.accuracy.prepared."""
    assert {path.name: path.read_text() for path in prepared.FOLDER.glob("*")} == {
        f"{name}.ir": text for name, text in texts().items()
    }


def test_every_function_of_f32_and_f64_has_a_file():
    assert sorted(texts()) == KEPT


@pytest.mark.parametrize("name", KEPT)
def test_what_is_read_is_what_was_written(name):
    body = prepared.load(name)
    assert body is not None
    assert text_of(Function(name, body)) == (prepared.FOLDER / f"{name}.ir").read_text()


@pytest.mark.parametrize("name", ["sin.f32", "sincos.f64", "pow.f32", "rsqrt.fast.f64"])
def test_a_function_on_file_computes_what_its_source_does(name):
    _, dtype, _ = NAMES[name]
    body = prepared.load(name)
    assert body is not None
    with np.errstate(over="ignore"):
        numbers = np.array(ARGUMENTS).astype(dtype.numpy)
    args = [numbers, numbers[::-1].copy()][: len(body.args)]
    for a, b in zip(*(evaluate(Function(name, r), args) for r in (body, from_source(*NAMES[name]))), strict=True):
        assert a.tobytes() == b.tobytes()


def test_the_parser_reads_a_file_too():
    text = (prepared.FOLDER / "sin.f32.ir").read_text().replace("@sin.f32", "@mine")
    kernel = parse_ir(text + "kernel @k(%a: f32) -> (f32) {\n  %0 = call @mine %a : f32\n  return %0\n}\n")
    called = kernel.body.ops[0].attrs["function"]
    assert text_of(Function("mine", called.body)) == text


def test_the_library_reads_files_and_builds_the_rest(monkeypatch):
    read = []
    load = prepared.load
    monkeypatch.setattr(prepared, "load", lambda name: read.append((name, load(name))) or read[-1][1])
    built = library.built.__wrapped__
    for dtype in (f16, f32, f64):
        assert built("exp", dtype, False).params == [dtype]
    assert [(name, body is None) for name, body in read] == [("exp.f16", True), ("exp.f32", False), ("exp.f64", False)]


def test_writing_removes_what_is_no_function_any_more(tmp_path):
    (tmp_path / "gone.f32.ir").write_text("")
    write(tmp_path)
    assert sorted(path.stem for path in tmp_path.iterdir()) == KEPT
