"""Every way in which a cell can end is a result, and the rest of the run goes on."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

import pytest
from suites import no_budgets, plain_subject, run_suite, write_suite

from adstack.conformance.harness.cells import Cell, Gap, Refusal, Result, Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of, stale_gaps
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings, Shared, Station

ENDINGS = """
    @case(rules=["t.pass"])
    def right(qd):
        x = qd.field(qd.f32, 3)
        return Run(lambda: x.from_numpy(np.array([1, 2, 3])), expect={x: [1, 2, 3]})

    @case(rules=["t.wrong"])
    def wrong(qd):
        x = qd.field(qd.f32, 3)
        return Run(lambda: x.from_numpy(np.array([1, 2, 4])), expect={x: [1, 2, 3]})

    @case(rules=["t.refused"])
    def refused(qd):
        return Run(lambda: qd.unheard_of())

    @case(rules=["t.exit"])
    def exits(qd):
        return Run(lambda: os._exit(7))

    @case(rules=["t.segv"])
    def faults(qd):
        def fault():
            import ctypes
            print("last words")
            ctypes.string_at(0)
        return Run(fault)

    @case(rules=["t.hang"], timeout=0.5)
    def hangs(qd):
        return Run(lambda: time.sleep(600))

    @case(rules=["t.broken"])
    def broken(qd):
        x = qd.field(qd.i32, 2)
        return Run(lambda: None, expect={x: [0.5, 0]})

    @case(rules=["t.after"])
    def still_runs(qd):
        return Run(lambda: 3, returns=3)
"""


@pytest.fixture(scope="module")
def endings(tmp_path_factory):
    return run_suite(tmp_path_factory.mktemp("endings"), {"end/ings.py": ENDINGS})


@pytest.mark.parametrize(
    ("name", "status", "phrase"),
    [
        ("right", Status.PASS, ""),
        ("wrong", Status.WRONG_VALUE, "[2]: got 4.0 (0x1.0000000000000p+2), expected 3.0"),
        ("refused", Status.REFUSED, "AttributeError: module 'plainlanguage' has no attribute 'unheard_of'"),
        ("exits", Status.CRASHED, "exit code 7"),
        ("faults", Status.CRASHED, "SIGSEGV"),
        ("hangs", Status.TIMED_OUT, "no result after 0.5 s"),
        ("broken", Status.BROKEN, "1/2 is not an integer"),
        ("still-runs", Status.PASS, ""),
    ],
)
def test_each_ending_has_its_state_and_says_why(endings, name, status, phrase):
    result = endings[f"end/{name}"]
    assert result.status is status, result.message
    assert phrase in result.message


def test_a_refusal_names_the_line_of_the_case(endings):
    assert "at ings.py:" in endings["end/refused"].message


def test_a_crash_shows_what_the_process_wrote_before_it(endings):
    output = endings["end/faults"].output
    assert "Fatal Python error: Segmentation fault" in output


def test_a_failure_fails_the_run_and_a_pass_does_not(endings):
    assert {name for name, result in endings.items() if not result.is_failure} == {"end/right", "end/still-runs"}


def test_several_workers_give_the_results_of_one(tmp_path, endings):
    again = run_suite(tmp_path, {"end/ings.py": ENDINGS}, jobs=3)
    assert {name: result.status for name, result in again.items()} == {
        name: result.status for name, result in endings.items()
    }
    assert list(again) == list(endings)


def test_a_worker_is_kept_while_cells_pass_and_replaced_when_one_fails(tmp_path):
    text = """
        @case(rules=["t.count"], params={"n": ["a1", "b2", "c0", "d1", "e2"]})
        def cells_before_in_this_process(qd, n):
            qd.count = getattr(qd, "count", 0) + 1
            return Run(lambda: qd.count, returns=int(n[1]))
    """
    results = run_suite(tmp_path, {"end/count.py": text})
    assert [result.status.value for result in results.values()] == ["pass", "pass", "wrong value", "pass", "pass"]


ANY_ORDER = """
    @case(rules=["t.sum"])
    def sums_in_any_order(qd):
        x, y = qd.field(qd.f32, 2), qd.field(qd.f32, 1)
        total = np.float32(1) + np.float32(2.0**-23) * (qd.told.get("order", 0) == 1)
        nothing = -np.float32(np.nan) if qd.told.get("order", 0) else np.float32(np.nan)
        def add():
            x.from_numpy(np.array([total, 3]))
            y.from_numpy(np.array([nothing]))
        return Run(add, expect={x: [Total([1, 2.0**-24, 2.0**-24]), 3], y: [float("nan")]})
"""


@pytest.mark.parametrize(
    ("order", "alike", "status", "exactness"),
    [(0, True, Status.PASS, "exact"), (1, True, Status.WRONG_VALUE, "exact"), (1, False, Status.PASS, "bound")],
)
def test_subjects_may_have_to_have_the_bits_of_the_oracle(tmp_path, order, alike, status, exactness):
    root, oracle = write_suite(tmp_path, {"end/sums.py": ANY_ORDER}), plain_subject(tmp_path)
    subject = replace(oracle, name="other", options=(("order", order),))
    cells = cells_of(collect(root), [subject])
    (result,) = run_cells(cells, Settings(no_budgets, root=root, oracle=oracle, alike=alike))
    assert (result.status, result.exactness) == (status, exactness)
    if status is not Status.PASS:
        assert "other bits than those of the reference: 1 of 2" in result.message


NEAR = """
    @case(rules=["t.near"], bounded=True)
    def near(qd):
        import sys, types
        x, order = qd.field(qd.f32, 1), qd.told.get("order", 0)
        def enclosures(run, of, places, loss):
            assert not order, "asked again"
            return [types.SimpleNamespace(value=None, bound=np.array([0.125]))]
        sys.modules["plainlanguage.inspection"] = types.SimpleNamespace(enclosures=enclosures)
        return Run(lambda: x.from_numpy(np.array([1 + order / 16])), expect={x: [1]})
"""


@pytest.mark.parametrize(("order", "status"), [(1, Status.PASS), (3, Status.WRONG_VALUE)])
def test_bounds_that_the_oracle_s_column_has_computed_serve_the_columns_after_it(tmp_path, order, status):
    root, oracle = write_suite(tmp_path, {"end/near.py": NEAR}), plain_subject(tmp_path)
    other = replace(oracle, name="other", options=(("order", order),))
    entries = collect(root)
    results = run_cells(cells_of(entries, [oracle, other]), Settings(no_budgets, root=root, oracle=oracle))
    assert [result.status for result in results] == [Status.PASS, status]
    (alone,) = run_cells(cells_of(entries, [other]), Settings(no_budgets, root=root, oracle=oracle))
    assert "asked again" in alone.message


def test_a_process_that_hangs_in_native_code_and_does_not_read_is_ended_in_time(tmp_path):
    text = """
        @case(rules=["t.later"])
        def hangs_when_it_has_answered(qd):
            import ctypes, threading
            return Run(lambda: threading.Timer(0.2, ctypes.PyDLL(None).sleep, [60]).start())

        @case(rules=["t.long"], params={"n": ["n" * 100_000, "after"]}, timeout=1)
        def longer_than_a_pipe_holds(qd, n):
            time.sleep(0.4)
            return Run(lambda: None)

        @case(rules=["t.leaves"])
        def leaves_a_process_of_another_group_behind(qd):
            def leave():
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(60)
            return Run(leave)
    """
    start = time.monotonic()
    results = run_suite(tmp_path, {"end/less.py": text})
    assert [result.status.value for result in results.values()] == ["pass", "timed out", "pass", "pass"]
    assert time.monotonic() - start < 50


def test_a_subject_that_cannot_be_imported_is_a_result(tmp_path):
    results = run_suite(tmp_path, {"a/b.py": '@case(rules=["t.x"])\ndef x(qd): return Run(lambda: None)'})
    (good,) = results.values()
    command = good.cell.subject.command
    absent = Subject("absent", "no_such_language", "cpu", command)
    (result,) = run_cells([Cell(good.cell.entry, absent, "forward", 0)], Settings(no_budgets))
    assert result.status is Status.CRASHED
    assert "No module named 'no_such_language'" in result.message


def test_an_interpreter_that_dies_at_once_is_a_result(tmp_path):
    results = run_suite(tmp_path, {"a/b.py": '@case(rules=["t.x"])\ndef x(qd): return Run(lambda: None)'})
    (good,) = results.values()
    python = good.cell.subject.command[0]
    dying = Subject("dying", "x", "cpu", (python, "-c", "import sys; sys.exit('cannot start')"))
    (result,) = run_cells([Cell(good.cell.entry, dying, "forward", 0)], Settings(no_budgets))
    assert result.status is Status.CRASHED
    assert "cannot start" in result.message


def test_an_unavailable_subject_gives_cells_that_say_why_and_do_not_pass(tmp_path):
    results = run_suite(tmp_path, {"a/b.py": '@case(rules=["t.x"])\ndef x(qd): return Run(lambda: None)'})
    (good,) = results.values()
    away = Subject("away", "x", "cpu", reason="no such device", fix="buy one")
    (result,) = run_cells([Cell(good.cell.entry, away, "forward", 0)], Settings(no_budgets))
    assert result.status is Status.UNAVAILABLE
    assert result.message == "no such device; buy one"


def test_the_seed_follows_from_the_run_and_the_case_alone(tmp_path):
    text = """
        @case(rules=["t.seed"], params={"n": [1, 2]})
        def draws(qd, n):
            import random
            print(qd.told["random_seed"], random.random(), np.random.rand())
            return Run(lambda: None, prints="unlike anything")
    """
    first, again, other = (run_suite(tmp_path, {"a/b.py": text}, seed=seed) for seed in (1, 1, 2))
    assert [r.output for r in first.values()] == [r.output for r in again.values()]
    assert first["a/draws:1"].output != first["a/draws:2"].output
    assert first["a/draws:1"].output != other["a/draws:1"].output
    assert str(first["a/draws:1"].cell.seed) in first["a/draws:1"].output


def test_an_interruption_ends_the_processes_under_way(tmp_path):
    text = """
        @case(rules=["t.hang"], params={"n": [1, 2, 3]})
        def hangs(qd, n):
            return Run(lambda: time.sleep(600 if n > 1 else 0))
    """
    entries = collect(write_suite(tmp_path, {"a/b.py": text}))
    cells = cells_of(entries, [plain_subject(tmp_path)])
    start, told = time.monotonic(), list[Status]()

    def interrupt(result: Result) -> None:
        told.append(result.status)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, Settings(no_budgets, 500, tmp_path / "cases"), jobs=2, on_result=interrupt)
    assert time.monotonic() - start < 100
    assert told == [Status.PASS]  # a cell whose process was ended with the run has not crashed: it has not been run


def test_a_process_that_starts_while_the_run_is_ended_is_ended_too(tmp_path):
    text = """
        @case(rules=["t.hang"])
        def hangs(qd):
            return Run(lambda: time.sleep(600))
    """
    entries = collect(write_suite(tmp_path, {"a/b.py": text}))
    (cell, *_) = cells_of(entries, [plain_subject(tmp_path)])
    station = Station(Settings(no_budgets, 500, tmp_path / "cases"), Shared())
    station.abort()  # nothing runs yet
    with station:
        assert station.run(cell).status is Status.CRASHED


class TestGaps:
    FILES: ClassVar = {"end/ings.py": ENDINGS}

    def result(self, folder, name: str, *gaps: Gap) -> Result:
        return run_suite(folder, self.FILES, gaps=gaps)[name]

    def test_a_failure_that_is_a_known_gap_does_not_fail_the_run(self, tmp_path):
        result = self.result(tmp_path, "end/wrong", Gap("end/wrong", "it adds badly"))
        assert result.status is Status.WRONG_VALUE
        assert not result.is_failure

    def test_a_gap_can_name_a_rule(self, tmp_path):
        assert not self.result(tmp_path, "end/exits", Gap("t.exit", "it leaves")).is_failure

    def test_a_gap_that_passes_fails_the_run(self, tmp_path):
        assert self.result(tmp_path, "end/right", Gap("end/right", "once it was wrong")).is_failure

    def test_a_gap_does_not_excuse_a_broken_case(self, tmp_path):
        assert self.result(tmp_path, "end/broken", Gap("end/*", "everything")).is_failure

    def test_a_gap_for_another_mode_excuses_nothing(self, tmp_path):
        assert self.result(tmp_path, "end/wrong", Gap("end/wrong", "no gradient", mode="reverse")).is_failure

    def test_a_gap_that_matches_no_case_is_stale(self, tmp_path):
        live, dead = Gap("end/wrong", "it adds badly"), Gap("end/renamed", "it was")
        results = run_suite(tmp_path, self.FILES, gaps=(live, dead))
        cells = [result.cell for result in results.values()]
        assert stale_gaps([cell.entry for cell in cells], [cells[0].subject]) == [(cells[0].subject, dead)]


REFUSING = """
    class BackendUnavailableError(Exception):
        pass

    @case(rules=["t.refused"], params={"n": ["a1", "b2", "c3", "d1"]})
    def cells_before_in_this_process(qd, n):
        def counted():
            qd.count = getattr(qd, "count", 0) + 1
            if n[0] == "b":
                raise BackendUnavailableError("there are no halves here")
            if n[0] == "c":
                raise BackendUnavailableError("there is no third")
            return qd.count
        return Run(counted, returns=int(n[1]))

    @case(rules=["t.another"])
    def another_error_is_asked_for(qd):
        def refuses():
            raise BackendUnavailableError("there are no halves here")
        return Run(refuses, raises=Raises("IndexError"))

    @case(rules=["t.wrong"])
    def there_are_no_halves_here(qd):
        return Run(lambda: print("there are no halves here"), prints="there are halves\\n")
"""


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    refusals = (Refusal("no halves", "halves are not to be had"),)
    return run_suite(tmp_path_factory.mktemp("refusals"), {"end/r.py": REFUSING}, refusals=refusals)


class TestRefusals:
    def test_one_in_the_subject_s_words_is_a_gap_and_any_other_a_failure(self, refusing):
        counting = [refusing[f"end/cells-before-in-this-process:{n}"] for n in ("a1", "b2", "c3", "d1")]
        assert [(one.status.value, one.is_failure) for one in counting] == [
            *[("pass", False), ("refused", False)],
            *[("refused", True), ("pass", False)],
        ]
        assert counting[1].gap == Refusal("no halves", "halves are not to be had")

    def test_it_is_one_whatever_error_the_case_asks_for(self, refusing):
        result = refusing["end/another-error-is-asked-for"]
        assert (result.status, result.is_failure) == (Status.REFUSED, False)

    def test_words_excuse_no_wrong_result(self, refusing):
        result = refusing["end/there-are-no-halves-here"]
        assert (result.status, result.is_failure) == (Status.WRONG_VALUE, True)

    def test_the_worker_is_kept(self, tmp_path):
        text = REFUSING.replace('"c3", "d1"', '"d3"')
        results = run_suite(tmp_path, {"end/r.py": text}, refusals=(Refusal("no halves", "no halves"),))
        assert results["end/cells-before-in-this-process:d3"].status is Status.PASS
