"""`adstack bench`: figures, workers, who runs when, what is reported."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from adstack.tools.bench import environments, runners, subjects, workers
from adstack.tools.bench import measure as measuring
from adstack.tools.bench.asv.commits import described
from adstack.tools.bench.command import bench
from adstack.tools.bench.figures import figure, geometric_mean, ratio
from adstack.tools.bench.measure import measure
from adstack.tools.bench.report import Run, quantity
from adstack.tools.bench.rows import DEFAULT, ROWS, Row, chosen
from adstack.tools.bench.runners import jax_adjoints, language
from adstack.tools.bench.subjects import Subject, compiled_backends, mine
from adstack.tools.bench.workers import Worker, WorkerError, environment
from adstack.tools.terminal.console import console

FAKE = """
import json, os, sys
log, seconds = sys.argv[1], float(sys.argv[2])
for line in sys.stdin:
    request = json.loads(line)
    with open(log, "a") as file:
        print(os.getpid(), seconds, request["row"], request.get("kind"), request.get("cache"), file=file)
    if request["row"] == "dies":
        sys.exit("out of order")
    if request["row"] == "refused":
        print(json.dumps({"error": "NotImplementedError: no"}), flush=True)
    else:
        print(json.dumps({"wall": seconds, "cpu": seconds / 2, "version": "1.0", "python": "3"}), flush=True)
"""


def _fake(tmp_path: Path, name: str, seconds: float) -> Subject:
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    return Subject(name, "cpu", (sys.executable, str(script), str(tmp_path / "log"), str(seconds)), version="1.0")


def _log(tmp_path: Path) -> list[list[str]]:
    return [line.split(maxsplit=4) for line in (tmp_path / "log").read_text().splitlines()]


# ---- figures


def test_a_figure_is_the_middle_sample_with_its_median_deviation():
    summary = figure([1.0, 9.0, 2.0, 3.0, 2.5])
    assert (summary.median, summary.spread, summary.least, summary.count) == (2.5, 0.5, 1.0, 5)


def test_ratios_are_of_samples_of_one_round():
    summary = ratio([1.0, 10.0, 1.0], [2.0, 20.0, 2.0])
    assert (summary.median, summary.spread) == (0.5, 0.0)


def test_the_least_ratio_is_that_of_the_least_samples():
    assert ratio([3.0, 1.0], [2.0, 4.0]).least == 0.5


def test_the_geometric_mean_of_a_ratio_and_its_inverse_is_one():
    assert geometric_mean([4.0, 0.25]) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0"), (2.5, "2.5 s"), (0.0125, "12.5 ms"), (3e-6, "3 us"), (4.56e-8, "45.6 ns"), (1e-11, "0.01 ns")],
)
def test_times_have_the_unit_that_suits_them(seconds: float, text: str):
    assert quantity(seconds) == text


# ---- rows


def test_rows_come_in_the_order_of_the_table():
    assert [row.name for row in chosen(["first", "nop"])] == ["nop", "first"]
    assert set(DEFAULT) <= set(ROWS)


def test_an_unknown_row_is_an_error():
    with pytest.raises(KeyError, match="knop"):
        chosen(["nop", "knop"])


# ---- workers


def test_a_worker_answers_until_it_is_closed(tmp_path: Path):
    with Worker(_fake(tmp_path, "a", 0.5).command) as worker:
        assert worker.ask({"row": "nop"})["wall"] == 0.5
        assert worker.ask({"row": "args"})["wall"] == 0.5
    assert len({line[0] for line in _log(tmp_path)}) == 1


def test_what_a_worker_refuses_is_an_error_with_its_words(tmp_path: Path):
    with Worker(_fake(tmp_path, "a", 0.5).command) as worker:
        with pytest.raises(WorkerError, match="NotImplementedError: no"):
            worker.ask({"row": "refused"})
        assert worker.ask({"row": "nop"})["wall"] == 0.5


def test_the_last_words_of_a_worker_that_dies_are_kept(tmp_path: Path):
    with Worker(_fake(tmp_path, "a", 0.5).command) as worker:
        with pytest.raises(WorkerError, match="status 1: out of order"):
            worker.ask({"row": "dies"})
        with pytest.raises(WorkerError, match="status 1"):
            worker.ask({"row": "nop"})


def test_a_worker_that_is_silent_for_too_long_is_ended():
    with (
        Worker((sys.executable, "-c", "import time; time.sleep(60)")) as worker,
        pytest.raises(WorkerError, match="in time"),
    ):
        worker.ask({"row": "nop"}, timeout=0.2)


def test_a_program_that_is_not_there_is_an_error():
    with pytest.raises(WorkerError, match="does not start"):
        Worker(("/nowhere/python",))


def test_workers_keep_bytecode(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "PYTHONDONTWRITEBYTECODE" not in environment()


def test_workers_do_not_inherit_what_adstack_asks_of_a_driver(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LP_NATIVE_VECTOR_WIDTH", "512")
    assert "LP_NATIVE_VECTOR_WIDTH" not in environment()
    monkeypatch.setattr(workers, "_GIVEN", frozenset({"LP_NATIVE_VECTOR_WIDTH"}))
    assert environment()["LP_NATIVE_VECTOR_WIDTH"] == "512"


# ---- who runs when


def test_subjects_take_turns_in_one_process_each(tmp_path: Path):
    a, b = _fake(tmp_path, "a", 1.0), _fake(tmp_path, "b", 2.0)
    measured = measure([Row("nop", "")], [a, b], 3)
    assert measured["nop", a].wall == [1.0] * 3
    assert measured["nop", b].cpu == [1.0] * 3
    assert [line[1] for line in _log(tmp_path)] == ["1.0", "2.0"] * 3
    assert len({line[0] for line in _log(tmp_path)}) == 2


def test_rounds_are_divided_among_processes_in_which_each_subject_is_first_once(tmp_path: Path):
    a, b = _fake(tmp_path, "a", 1.0), _fake(tmp_path, "b", 2.0)
    measured = measure([Row("nop", ""), Row("first", "", "cold")], [a, b], 3, processes=2)
    assert len(measured["nop", a].wall) == len(measured["nop", b].wall) == len(measured["first", a].wall) == 3
    steady = [line for line in _log(tmp_path) if line[2] == "nop"]
    assert [line[1] for line in steady] == ["1.0", "2.0", "2.0", "1.0", "2.0", "1.0"]
    assert len({line[0] for line in steady}) == 4


def test_a_cold_row_has_a_process_for_every_sample(tmp_path: Path):
    a, b = _fake(tmp_path, "a", 1.0), _fake(tmp_path, "b", 2.0)
    measured = measure([Row("first", "", "cold")], [a, b], 3)
    assert len(measured["first", a].wall) == 3
    assert len({line[0] for line in _log(tmp_path)}) == 6
    assert {tuple(line[3:]) for line in _log(tmp_path)} == {("cold",)}


def test_a_cached_row_is_warmed_in_a_folder_that_is_gone_afterwards(tmp_path: Path):
    a = _fake(tmp_path, "a", 1.0)
    measured = measure([Row("first-cached", "", "cached")], [a], 2)
    folders = {line[4] for line in _log(tmp_path)}
    assert len(measured["first-cached", a].wall) == 2
    assert len(_log(tmp_path)) == 3
    assert len(folders) == 1
    assert not Path(folders.pop()).exists()


def test_progress_counts_every_round_once(tmp_path: Path):
    seen: list[str] = []
    rows = [Row("nop", ""), Row("first", "", "cold"), Row("first-cached", "", "cached")]
    measure(rows, [_fake(tmp_path, "a", 1.0)], 2, lambda row: seen.append(row.name))
    assert seen == ["nop"] * 2 + ["first"] * 2 + ["first-cached"] * 2


def test_a_subject_that_fails_in_a_row_goes_on_in_the_next(tmp_path: Path):
    a, b = _fake(tmp_path, "a", 1.0), _fake(tmp_path, "b", 2.0)
    measured = measure([Row("refused", ""), Row("nop", "")], [a, b], 2)
    assert measured["refused", a].problem == "NotImplementedError: no"
    assert measured["nop", a].wall == [1.0, 1.0]
    assert len([line for line in _log(tmp_path) if line[2] == "refused"]) == 2


def test_an_unavailable_subject_is_never_started(tmp_path: Path):
    a = Subject("taichi", "cpu", ("/nowhere/python",), reason="not installed", fix="install it")
    measured = measure([Row("nop", ""), Row("first", "", "cold")], [a], 2)
    assert {samples.problem for samples in measured.values()} == {"not installed"}


# ---- subjects


def test_a_peer_that_is_not_installed_says_how_to_install_it():
    peer = subjects.peer("quadrants", "cpu", {"quadrants": sys.executable}, Path("/nowhere"))
    assert not peer.is_available
    assert "No module named 'quadrants'" in peer.reason
    assert "--install" in peer.fix
    assert "--python quadrants=" in peer.fix


def test_the_environment_names_interpreters(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_PYTHON_JAX", "/nowhere/python")
    assert subjects.peer("jax", "cpu", {}, Path("/nowhere")).command[0] == "/nowhere/python"
    named = subjects.peer("jax", "cpu", {"jax": "/elsewhere/python"}, Path("/nowhere"))
    assert named.command[0] == "/elsewhere/python"


def test_an_environment_in_the_folder_of_peers_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ADSTACK_PYTHON_TAICHI", raising=False)
    assert environments.interpreter("taichi", {}, tmp_path) == sys.executable
    monkeypatch.setitem(environments.PEERS, "taichi", ("pip",))  # which every environment has
    environments.install(["taichi"], tmp_path)
    python = environments.interpreter("taichi", {}, tmp_path)
    assert Path(python).is_relative_to(tmp_path)
    assert subprocess.run([python, "-c", ""], check=False).returncode == 0
    assert environments.interpreter("taichi", {"taichi": "/elsewhere/python"}, tmp_path) == "/elsewhere/python"


def test_what_cannot_be_installed_is_an_error_in_the_installers_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(environments.PEERS, "taichi", ("--no-such-option",))
    with pytest.raises(environments.EnvironmentFailedError, match="no-such-option"):
        environments.install(["taichi"], tmp_path)


# ---- runners


@pytest.mark.parametrize("path", sorted(Path(runners.__path__[0]).glob("*.py")), ids=lambda path: path.stem)
def test_runners_depend_on_nothing_of_adstack(path: Path):
    names = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, (ast.Import, ast.ImportFrom))]
    roots = {(getattr(node, "module", None) or node.names[0].name).partition(".")[0] for node in names}
    assert not any(getattr(node, "level", 0) for node in names)
    assert roots <= {"numpy", "jax"} | set(sys.stdlib_module_names)


SLOW = ("recurrence", "recurrence-reverse", "gather")
"""Steady rows that are too much for an interpreter, besides those of works with shared sums."""


@pytest.mark.parametrize(
    "row",
    [
        name
        for name, row in ROWS.items()
        if row.kind == "steady" and not row.size and not name.startswith((*SLOW, "args-torch", language.ADJOINT))
    ],
)
def test_the_language_runner_times_every_row_on_the_reference(row: str):
    with Worker(subjects.mine("reference").command) as worker:
        answer = worker.ask({"row": row, "kind": "steady", "calls": 2, "cache": ""})
    assert answer["wall"] > 0


def test_a_row_with_tensors_needs_torch():
    with Worker(subjects.mine("reference").command) as worker:
        request = {"row": "args-torch", "kind": "steady", "calls": 2, "cache": ""}
        if importlib.util.find_spec("torch"):
            assert worker.ask(request)["wall"] > 0
        else:
            with pytest.raises(WorkerError, match="No module named 'torch'"):
                worker.ask(request)


@pytest.mark.parametrize("row", ["first", "many16", "recurrence-reverse", "first-gradient", "gradient-many-16"])
def test_the_language_runner_times_cold_rows_on_the_best_backend(row: str):
    (arch, *_) = (*compiled_backends(), "reference")
    with Worker(subjects.mine(arch).command) as worker:
        answer = worker.ask({"row": row, "kind": "cold", "calls": 1, "cache": ""})
    assert answer["wall"] > 0


@pytest.mark.parametrize("kind", ["steady", "cold"])
def test_the_language_runner_times_programs(kind: str):
    (arch, *_) = (*compiled_backends(), "reference")
    with Worker(subjects.mine(arch).command) as worker:
        row = "program-charges" if kind == "steady" else "first-program-charges"
        answer = worker.ask({"row": row, "kind": kind, "calls": 1, "cache": "", "size": "reduced"})
    assert answer["wall"] > 0
    assert ("outcome" in answer) == (kind == "cold")
    if kind == "cold":
        assert answer["outcome"]["loss"] > 0
        assert answer["outcome"]["strength"] > 0


def test_programs_have_the_size_that_is_asked_for():
    assert {row.size for row in chosen(["nop", "program-wave"], "reduced")} == {"", "reduced"}
    assert {row.size for row in chosen([name for name in ROWS if "program" in name])} == {"full"}
    assert not any("program" in name for name in DEFAULT)


@pytest.mark.parametrize("module", ["language", "jax_scan"])
def test_runners_know_every_row(module: str):
    """But those that have no meaning in JAX, and works and programs, which are files of their own."""
    runner = importlib.import_module(f"adstack.tools.bench.runners.{module}")
    elsewhere = {name for name, row in ROWS.items() if row.size or name.startswith(runner.ADJOINT)}
    elsewhere |= (
        {"args-torch", "adstack-reverse", "tape", "element-read", "element-write", "first-cached"}
        if module == "jax_scan"
        else set()
    )
    names = {name for name in ROWS if name in runner.ROWS or name.startswith(("many", runner.MANY_GRADIENT))}
    assert names == set(ROWS) - elsewhere
    assert names >= runner.ROWS.keys()


def test_works_with_shared_sums_are_rows_forward_and_with_their_gradients(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(language.ADJOINTS.parents[1]))
    works = importlib.import_module("benchmarks.adjoint_kernels").WORKS
    rows = {name.removeprefix(language.ADJOINT) for name in ROWS if name.startswith(language.ADJOINT)}
    assert rows == {f"{name}{how}" for name in works for how in ("", language.BOTH)}
    assert jax_adjoints.WORKS.keys() == works.keys()


def test_a_work_with_shared_sums_has_its_gradient_behind_it():
    with Worker(mine("cpu").command) as worker:
        request = {"kind": "steady", "calls": 1, "cache": "", "size": ""}
        forward, both = (worker.ask({"row": row, **request}) for row in ("adjoint-sums", "adjoint-sums-both"))
    assert forward["wall"] > 0
    assert both["wall"] > 0


@pytest.mark.parametrize(("row", "size"), [("first-gradient", 65536), ("gradient-many-16", 1024)])
def test_rows_of_gradients_give_the_gradient_of_what_they_call(row: str, size: int):
    import adstack as qd

    arrays: list[Any] = []

    class Seen:
        def __getattr__(self, name: str) -> Any:
            return getattr(qd, name)

        def field(self, *args: Any, **kwargs: Any) -> Any:
            arrays.append(qd.field(*args, **kwargs))
            return arrays[-1]

    (arch, *_) = (*compiled_backends(), "reference")
    qd.init(arch=arch)
    gradient = language.prepare(Seen(), row)
    x = arrays[0]
    assert not np.any(x.grad.to_numpy())
    gradient()
    slopes = x.grad.to_numpy()
    assert slopes.shape == (size,)
    assert np.all(np.isfinite(slopes))
    assert np.any(slopes)


def test_a_row_that_there_is_not_is_refused_by_the_runner():
    with Worker(subjects.mine("reference").command) as worker, pytest.raises(WorkerError, match="KeyError"):
        worker.ask({"row": "knop", "kind": "steady", "calls": 1})


# ---- the report


def _run(tmp_path: Path) -> Run:
    a, b = _fake(tmp_path, "adstack", 1.0), _fake(tmp_path, "quadrants", 4.0)
    c = Subject("taichi", "cpu", (), reason="not installed", fix="install it")
    rows = [Row("nop", "a call"), Row("first", "the first call", "cold"), Row("refused", "never")]
    return Run("cpu", rows, [a, b, c], measure(rows, [a, b, c], 3), (0.5, 1.5))


def test_the_report_holds_figures_ratios_and_reasons(tmp_path: Path):
    record = json.loads(json.dumps(_run(tmp_path).record()))
    nop, first, refused = record["rows"]
    assert nop["results"]["adstack"]["wall"] == {"median": 1.0, "spread": 0.0, "least": 1.0, "count": 3}
    assert nop["results"]["quadrants"]["ratio"]["median"] == 0.25
    assert first["results"]["quadrants"]["cpu_ratio"]["median"] == 0.25
    assert "cpu" not in nop["results"]["adstack"]
    assert "ratio" not in nop["results"]["adstack"]
    assert nop["results"]["taichi"] == {"problem": "not installed"}
    assert refused["results"]["adstack"] == {"problem": "NotImplementedError: no"}
    assert record["load"] == [0.5, 1.5]
    assert record["machine"]["cores"] >= 1


def test_programs_have_a_geometric_mean_by_kind_and_peer(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    a, b = _fake(tmp_path, "adstack", 1.0), _fake(tmp_path, "quadrants", 4.0)
    rows = [
        Row("nop", ""),
        Row("p", "", size="full"),
        Row("refused", "", size="full"),
        Row("q", "", "cold", size="full"),
    ]
    run = Run("cpu", rows, [a, b], measure(rows, [a, b], 2))
    one = {"quadrants": {"ratio": 0.25, "count": 1}}
    assert run.record()["programs"] == {"steady": one, "cold": one}
    run.show(console())
    assert "later iterations: ours / quadrants, geometric mean of 1: 0.250" in capsys.readouterr().out


def test_the_report_names_the_commit_and_whether_files_differ_from_it(tmp_path: Path):
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b")
    assert described(tmp_path) == ""
    subprocess.run([*git, "init", "--quiet"], check=True)
    (tmp_path / "file").write_text("one")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "one"], check=True)
    clean = described(tmp_path)
    assert re.fullmatch("[0-9a-f]{12}", clean)
    (tmp_path / "file").write_text("two")
    assert described(tmp_path) == f"{clean}-dirty"
    assert re.fullmatch("([0-9a-f]{12}(-dirty)?)?", _run(tmp_path).record()["commit"])


def test_the_table_shows_what_is_missing_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run = _run(tmp_path)
    run.show(console())
    text = capsys.readouterr().out
    assert "0.250" in text
    assert "taichi: not installed" in text
    assert "install it" in text
    assert "quadrants, refused: NotImplementedError: no" in text
    assert run.failed


# ---- the command


def test_the_command_measures_and_writes(tmp_path: Path):
    if not compiled_backends():
        assert CliRunner().invoke(bench, ["--rows", "nop"]).exit_code == 2
        return
    file = tmp_path / "new" / "bench.json"
    done = CliRunner().invoke(bench, ["--rows", "n[!a]p,element-r*", "--rounds", "2", "--json", str(file)])
    assert done.exit_code == 0, done.output
    (run,) = json.loads(file.read_text())[:1]
    assert [row["name"] for row in run["rows"]] == ["nop", "element-read"]
    assert run["rows"][0]["results"]["adstack"]["wall"]["count"] == 2


def test_the_command_compares_adstack_with_itself(tmp_path: Path):
    file, arch = tmp_path / "bench.json", "cpu"
    variants = [
        f"other:bounds=off,debug=False,python={sys.executable}",
        "wrong:bounds=sometimes",
        "gone:python=/nowhere",
    ]
    command = ["-b", arch, "--rows", "nop", "--rounds", "2", "--json", str(file)]
    done = CliRunner().invoke(bench, [*command, *(part for v in variants for part in ("--variant", v))])
    assert done.exit_code == 0, done.output
    (run,) = json.loads(file.read_text())
    results = run["rows"][0]["results"]
    assert results["other"]["ratio"]["count"] == 2
    assert "bounds" in results["wrong"]["problem"]
    assert "does not start" in results["gone"]["problem"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--rows", "knop"], "'knop'; there are nop"),
        (["--against", "warp"], "'warp'; there are quadrants"),
        (["--python", "quadrants"], "is not NAME=PATH"),
        (["--python", "cuda=/x"], "with NAME one of"),
        (["--backend", "reference"], "compiles here"),
        (["--variant", "unchecked"], "NAME:OPTION=VALUE"),
        (["--variant", "jax:bounds=off"], "a name that nothing else has"),
    ],
)
def test_a_wrong_command_line_says_what_would_be_right(args: list[str], words: str):
    done = CliRunner().invoke(bench, args)
    assert done.exit_code == 2
    assert words in done.output


def test_the_default_number_of_calls_matches_what_the_rows_promise():
    assert ROWS["nop"].calls == ROWS["args"].calls == 2000
    assert measuring.__all__ == ["Samples", "measure"]
