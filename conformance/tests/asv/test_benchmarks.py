"""The benchmarks that asv runs: they import, they are boring, and every one gives a figure."""

from __future__ import annotations

import ast
import importlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3] / "asv_benchmarks"
if not ROOT.is_dir():
    pytest.fail("the benchmarks are part of a clone of adstack")
FILES = sorted(path for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__")
KINDS = ("time_", "timeraw_", "track_", "peakmem_", "mem_")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(ROOT))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]


def _classes(path: Path) -> list[type]:
    module = importlib.import_module(f"benchmarks.{path.stem}")
    classes = [v for v in vars(module).values() if isinstance(v, type) and v.__module__ == module.__name__]
    return [cls for cls in classes if _measures(cls)]


def _measures(cls: type) -> list[str]:
    return [name for name in dir(cls) if name.startswith(KINDS)]


def _counts_instructions() -> bool:
    """Whether this machine lets a process count the instructions of another."""
    return importlib.import_module("benchmarks.compile_time").counted("pass") is not None


def _first_parameters(cls: Any) -> tuple[Any, ...]:
    """The smallest of every parameter; the backend that most machines have comes last."""
    return tuple(values[-1] if "cpu" in values else values[0] for values in getattr(cls, "params", ()))


def test_the_configuration_names_folders_that_are_there():
    settings = json.loads((ROOT / "asv.conf.json").read_text())
    assert (ROOT / settings["benchmark_dir"]).is_dir()
    assert (ROOT / settings["repo"] / "pyproject.toml").is_file()
    for kept in ("env_dir", "html_dir"):
        assert settings[kept].startswith(".asv/")
    assert settings["results_dir"] == "results"  # the history is committed


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_file_needs_adstack_to_be_imported(path: Path):
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.modules['adstack'] = None; import benchmarks.{path.stem}"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bodies_that_are_timed_are_one_statement(path: Path):
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    timed = [f for f in functions if f.name.startswith(("time_", "timeraw_"))]
    assert all(len(f.body) == 1 for f in timed)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_parameter_has_a_name_and_every_method_takes_it(path: Path):
    for cls in _classes(path):
        names = getattr(cls, "param_names", ())
        assert len(names) == len(getattr(cls, "params", ()))
        for method in _measures(cls):
            code = getattr(cls, method).__code__
            assert code.co_varnames[1 : code.co_argcount] == tuple(names)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.alone] * (path.stem == "tapes")) for path in FILES],
    ids=lambda path: path.stem,
)
def test_every_benchmark_runs(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_CACHE_DIR", "")
    figures = importlib.import_module("benchmarks.recorded").FIGURES
    for cls in _classes(path):
        parameters = _first_parameters(cls)
        monkeypatch.setitem(figures, (cls.__name__, *parameters), 1e-3)
        benchmark: Any = cls()
        if cls.__name__ == "Instructions" and not _counts_instructions():
            with pytest.raises(NotImplementedError, match="does not count"):
                benchmark.setup(*parameters)
            continue
        if hasattr(benchmark, "setup"):
            benchmark.setup(*parameters)
        for method in _measures(cls):
            figure = getattr(benchmark, method)(*parameters)
            if method == "track_growth":
                assert figure < 1024, "KiB, after tapes that are alike"
            elif method.startswith("track_"):
                assert figure > 0, (cls, method)
            elif method.startswith("timeraw_"):
                statement, setup = figure
                subprocess.run([sys.executable, "-c", f"{setup}\n{statement}"], check=True, timeout=120)
        if hasattr(benchmark, "teardown"):
            benchmark.teardown(*parameters)


def test_a_backend_that_is_not_there_is_skipped():
    common = importlib.import_module("benchmarks.common")
    with pytest.raises(NotImplementedError, match="no-such-arch"):
        common.opened("no-such-arch")


def test_exact_figures_repeat():
    code = importlib.import_module("benchmarks.code_size")
    runs = []
    for _ in range(2):
        benchmark = code.Code()
        benchmark.setup("cpu", "recurrence")
        runs.append([getattr(benchmark, name)("cpu", "recurrence") for name in _measures(code.Code)])
    assert runs[0] == runs[1]
    assert len(set(itertools.chain(*runs))) > 1


@pytest.mark.parametrize(("kernel", "stacks", "pushed"), [("recurrence", 1, 4), ("many", 64, 256), ("ragged", 1, 4)])
def test_memory_is_taken_for_what_is_pushed_and_nothing_else(kernel: str, stacks: int, pushed: int):
    benchmark = importlib.import_module("benchmarks.heap").Adstacks()
    benchmark.setup("cpu", kernel)
    assert benchmark.track_stacks("cpu", kernel) == stacks
    assert benchmark.track_slot_bytes("cpu", kernel) == pushed
    assert benchmark.track_stride_over_pushed("cpu", kernel) == 1
    assert 1 <= benchmark.track_slack("cpu", kernel) <= 1.05


def test_gradients_are_skipped_where_there_are_none():
    common = importlib.import_module("benchmarks.common")
    with pytest.raises(NotImplementedError, match="no reverse mode"):
        common.gradient(lambda: None)


def _stencil(size: int) -> Any:
    """The gradient of a stencil kernel with 3 `size` floats, `size` integers and as many flags, after a launch."""
    common, stencils = (importlib.import_module(f"benchmarks.{name}") for name in ("common", "stencils"))
    kernel, _ = stencils.stencil(common.opened("cpu"), 3 * size, size, size, (3, 3, 2), needs_grad=True)
    kernel()
    kernel.grad()
    return kernel.grad


def test_a_large_stencil_keeps_what_reverse_mode_needs_of_every_cell_and_nothing_else():
    report = _stencil(12).adstack_report(use=True)
    kept = [(str(row.dtype), row.slot_bytes, row.capacity, row.used) for row in report]
    assert kept.count(("f32", 4, 27, 27)) == 36
    assert kept.count(("i32", 4, 27, 27)) == 12
    assert kept.count(("u1", 1, 27, 27)) == 12
    assert len(kept) == 36 + 12 + 12
    assert report.tasks[0].stride == 27 * (36 * 4 + 12 * 4 + 12 * 1)


def test_the_code_of_a_large_stencil_grows_in_step_with_it():
    stages = [_stencil(size).stages() for size in (4, 8, 16)]
    for name in ("tasks", "llvm"):
        small, middle, large = (len(stage[name].splitlines()) for stage in stages)
        assert 0 < large - middle <= 2 * (middle - small), name


def test_the_record_of_the_whole_stencil_is_within_its_bounds():
    (path,) = (ROOT.parent / "conformance/results/bench").glob("*-large-stencil.json")
    record = json.loads(path.read_text())
    assert record["stacks"] == {"f32": 563, "i32": 204, "u1": 204}
    assert record["depths"] == [27]
    assert record["bytes_per_thread"] == 27 * (563 * 4 + 204 * 4 + 204 * 1)
    assert record["shape"] == list(importlib.import_module("benchmarks.large").WHOLE["shape"])
    assert record["first_call"] + record["first_gradient"] < 60
    assert record["peak_bytes"] < 4 * 2**30
