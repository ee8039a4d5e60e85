"""The table of GradBench's evals: figures of runs, rows, what follows from them; and the page that has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adstack.conformance.gradbench.session import TOOL, Outcome
from adstack.tools.gradbench import measure, page, peers
from adstack.tools.gradbench.inputs import EVALS, runs
from adstack.tools.marked import Marked


def test_figures_leave_the_first_run_out() -> None:
    outcomes = [Outcome("f", "n=1", [9_000_000, 3_000_000, 1_000_000, 2_000_000], None)]
    assert measure.figures(outcomes) == {"median": 2e-3, "least": 1e-3, "runs": 3}


def test_a_single_run_counts() -> None:
    assert measure.figures([Outcome("f", "", [5_000], None)]) == {"median": 5e-6, "least": 5e-6, "runs": 1}


def test_a_wrong_output_has_no_times() -> None:
    outcomes = [Outcome("f", "", [5], None), Outcome("f", "", [5], "Traceback:\n  x\nit is 1, not 2\n")]
    assert measure.figures(outcomes) == {"error": "it is 1, not 2"}


def test_outcomes_of_all_tools_with_one_function_and_input_are_a_row() -> None:
    by_tool = {
        "adstack": [Outcome("f", "n=1", [4, 2], None), Outcome("g", "n=1", [3], None)],
        "jax": [Outcome("f", "n=1", [8, 6], None)],
    }
    rows = list(measure.rows("lse", by_tool))
    assert [(row["eval"], row["function"], row["input"], sorted(row["times"])) for row in rows] == [
        ("lse", "f", "n=1", ["adstack", "jax"]),
        ("lse", "g", "n=1", ["adstack"]),
    ]
    assert rows[0]["times"]["jax"]["least"] == 6e-9


def test_a_record_has_a_line_for_each_row() -> None:
    record = {"date": "2026-01-02", "rows": [{"eval": "lse"}, {"eval": "det"}]}
    text = measure.dumped(record)
    assert json.loads(text) == record
    assert [line for line in text.splitlines() if "eval" in line] == ['  {"eval": "lse"},', '  {"eval": "det"}']


def row(name: str, function: str, size: str, **medians: float) -> dict[str, object]:
    times = {tool.replace("_", "-"): {"median": median, "least": median, "runs": 1} for tool, median in medians.items()}
    return {"eval": name, "function": function, "input": size, "times": times}


ROWS = [
    row("lse", "primal", "n=9", adstack=4e-3, manual=1e-3),
    row("lse", "gradient", "n=1", adstack=4e-3, manual=1e-3, jax=5e-3),
    row("lse", "gradient", "n=9", adstack=1e-3, manual=4e-3, manual_openmp=2e-3, jax=5e-4),
    row("det", "gradient", "8", adstack=3e-3, manual=2e-3),
]


def test_an_eval_stands_by_derivatives_of_its_last_input_beside_the_best_tool() -> None:
    assert page.best_compiled(ROWS[2]) == "manual-openmp"
    assert page.standing(ROWS) == {"lse": 0.5, "det": 1.5}
    assert page.behind(ROWS, "jax") == ["lse gradient of n=9"]
    assert page.behind(ROWS, "pytorch") == []


def test_a_tool_whose_output_is_wrong_is_not_the_best() -> None:
    wrong = {"adstack": {"median": 1.0}, "manual": {"error": "off"}, "tapenade": {"median": 2.0}}
    assert page.best_compiled({"times": wrong}) == "tapenade"


def test_a_table_says_what_follows_from_it() -> None:
    wrong = {"eval": "ba", "function": "jacobian", "input": "1", "times": {"adstack": {"error": "off"}}}
    record = {
        "date": "2026-01-02T03:04:05Z",
        "commit": "abc",
        "machine": {"cpu": "A", "cores": 2},
        "versions": {"gradbench": "def", "compiler": "c++ 1", "jax": "0.1"},
        "load": [0.1, 0.25],
        "tools": ["adstack", "manual", "manual-openmp", "jax"],
        "rows": [*ROWS, wrong],
    }
    lines = page.table(record).splitlines()
    assert (
        lines[0]
        == "2026-01-02, commit abc; A, 2 cores, load before and after: 0.10 and 0.25. c++ 1; gradbench def, jax 0.1."
    )
    assert "| lse | gradient | n=9 | 1 | 4 | 2 | 0.5 | 0.50 |" in lines
    assert "| ba | jacobian | 1 | wrong |  |  |  |  |" in lines
    assert lines[-4] == "- adstack's output was judged right in 4 of 5 rows."
    assert lines[-3].endswith("in 1 evals: lse; they take longer in det (1.50).")
    assert lines[-2] == "- JAX is ahead in 1 of 2 rows: lse gradient of n=9."
    assert lines[-1] == "- PyTorch is ahead in 0 of 0 rows."


def test_the_table_of_the_page_is_that_of_the_record() -> None:
    text = page.PAGE.read_text()
    table = page.table(json.loads(measure.FILE.read_text()))
    assert text == page.TABLE.put(text, table), "run python -m adstack.tools.gradbench.page --write"


def test_all_evals_were_measured_and_judged_right() -> None:
    record = json.loads(measure.FILE.read_text())
    assert {one["eval"] for one in record["rows"]} == set(EVALS)
    assert all("median" in one["times"]["adstack"] for one in record["rows"])


def test_a_marked_place_is_replaced_and_no_other() -> None:
    place = Marked("a", "make a")
    text = f"before\n{place.begin}\nold\n{place.end}\nafter <!-- b: end -->\n"
    assert place.put(text, "new") == text.replace("old", "new")
    with pytest.raises(ValueError, match="the page lacks"):
        Marked("b", "make b").put(text, "new")


def test_a_slow_tool_runs_once_and_others_often() -> None:
    assert runs("pytorch", "ba") == ("--min-runs", "1", "--min-seconds", "0")
    assert runs("adstack", "ba")[1] != "1"
    assert runs("adstack", "hello") == ()  # this eval has no arguments


def test_finite_differences_are_asked_where_no_other_tool_in_c_has_a_program() -> None:
    assert [name for name in EVALS if peers.asked("finite", name)] == ["particle", "saddle"]
    assert all(peers.asked("jax", name) for name in EVALS)


def test_a_tool_is_a_command_in_the_checkout(tmp_path: Path) -> None:
    assert list(peers.command("adstack", "py")) == TOOL.split()
    assert list(peers.command("jax", "py"))[::2] == ["py", "jax"]


def test_what_is_not_there_has_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers.shutil, "which", lambda name: None)
    monkeypatch.setattr(peers, "packages", lambda python: {"jax": "0.1"})
    assert peers.versions(tmp_path, "py") == {"gradbench": "", "compiler": "", "adol-c": "", "jax": "0.1"}
