"""A run on several machines, played by processes: cells go where their subject is, also those of a lost worker."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from suites import no_budgets, write_suite

from adstack.conformance.cluster import run as cluster_run
from adstack.conformance.cluster.member import announcement
from adstack.conformance.cluster.run import announced, run_on
from adstack.conformance.harness.cells import Result, Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of
from adstack.conformance.harness.station import Settings
from adstack.tools.commands import cli

pytestmark = [pytest.mark.library("distributed"), pytest.mark.filterwarnings("ignore")]  # warnings of Dask's own making

CASES = """
    def worker():
        pid = os.getppid()  # of the process that has forked this one, or of the worker
        while b"adstack.tools.cli" not in open(f"/proc/{pid}/cmdline", "rb").read():
            pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
        return pid

    @case(rules=["t.x"], params={"n": list(range(24))})
    def waits(qd, n):
        def wait():
            with open(os.path.join(SEEN, str(n)), "a") as file:
                file.write(f"{worker()}\\n")
            victims = os.path.join(SEEN, "victims")
            if n == 10 and os.path.exists(victims) and str(worker()) in open(victims).read().split():
                os.unlink(victims)
                os.kill(worker(), 9)
            time.sleep(0.02)
            return n
        return Run(wait, returns=n, returns_dtype="i32")
"""


def worker(address: str, *words: str) -> subprocess.Popen[str]:
    """A worker that says when it is ready."""
    command = [sys.executable, "-W", "ignore", "-m", "adstack.tools.cli", "worker", address, "-j", "1", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[tuple[list[Result], list[Result], Path, str]]:
    """What a run gave, its results as they came, a folder that says who ran a case, and the scheduler's address.

    One of the cases kills the worker that runs it, the first time that it is one of those for the reference.
    """
    import distributed

    folder = tmp_path_factory.mktemp("cluster")
    (folder / "seen").mkdir()
    root = write_suite(folder, {"t/a.py": CASES.replace("SEEN", repr(str(folder / "seen")))})
    options = {"n_workers": 0, "processes": False, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(protocol="tcp", host="127.0.0.1", **options) as cluster:
        workers = [worker(cluster.scheduler_address, "-b", name) for name in ("reference", "reference", "cpu")]
        (folder / "seen" / "victims").write_text(f"{workers[0].pid} {workers[1].pid}")
        try:
            assert all("serves tcp://" in process.stdout.readline() for process in workers)
            with distributed.Client(cluster) as client:
                yield (*played(client, root), folder / "seen", cluster.scheduler_address)
        finally:
            for process in workers:
                process.terminate()
                process.wait()
                process.stdout.close()


def played(client, root: Path) -> tuple[list[Result], list[Result]]:
    subjects = announced(client)
    assert sorted(subject.name for subject in subjects) == ["cpu", "reference"]
    away = Subject("away", "x", "cpu", reason="no worker has it", fix="start one")
    cells = cells_of(collect(root), [*sorted(subjects, key=lambda one: one.name, reverse=True), away])
    came: list[Result] = []
    return run_on(client, cells, Settings(no_budgets, root=root), came.append), came


def test_every_cell_has_one_result_in_order_whoever_is_lost(run):
    results, came, _, _ = run
    assert len(results) == len(came) == 72
    assert [result.cell.subject.name for result in results] == ["reference"] * 24 + ["cpu"] * 24 + ["away"] * 24
    names = Counter((result.cell.subject.name, result.cell.entry.id) for result in came)
    assert set(names.values()) == {1}


def test_results_are_those_of_a_run_at_home(run):
    results, _, _, _ = run
    assert {one.status for one in results[:48]} == {Status.PASS}
    assert {one.exactness for one in results[:48]} == {"exact"}
    assert {one.status for one in results[48:]} == {Status.UNAVAILABLE}


def test_what_a_lost_worker_had_was_run_again_by_another_one(run):
    _, _, seen, _ = run
    assert not (seen / "victims").exists()
    runs = {int(path.name): path.read_text().split() for path in seen.iterdir()}
    for n in (8, 9, 10):  # the batch of the case that killed its worker, once more than there are subjects
        assert len(runs[n]) == len(set(runs[n])) == 3
    assert len(runs[11]) == 2


def test_the_command_runs_what_workers_have_and_says_what_none_has(run):
    words = ("--scheduler", run[-1], "--case", "arith/floor-division-of-negatives", "-b", "reference", "-b", "vulkan")
    done = CliRunner().invoke(cli, ("conformance", *words))
    assert done.exit_code == 0, done.output
    assert "passed: 1 pass, 1 unavailable" in done.output
    assert "vulkan is unavailable: no worker has announced it" in done.output


def test_a_run_that_no_worker_can_go_on_with_is_told_of(run, tmp_path, monkeypatch):
    import distributed

    def end(subjects: list[str]) -> None:
        raise InterruptedError(*subjects)

    monkeypatch.setattr(cluster_run, "PATIENCE", 0.1)
    root = write_suite(tmp_path, {"t/a.py": CASES})
    cells = cells_of(collect(root), [Subject("gone", "x", "cpu")])
    with distributed.Client(run[-1]) as client, pytest.raises(InterruptedError, match="gone"):
        run_on(client, cells[:1], Settings(no_budgets, root=root), on_waiting=end)


def test_a_process_that_is_no_worker_of_the_suite_announces_nothing():
    assert announcement() is None


@pytest.mark.parametrize("address", ["foo", "foo:bar", "foo://x:1", ""])
def test_what_is_no_address_is_told_before_anything_runs(address: str) -> None:
    result = CliRunner().invoke(cli, ["worker", address], prog_name="adstack")
    assert result.exit_code == 2
    assert f"{address!r} is no address such as tcp://10.0.0.1:8786" in " ".join(result.output.split())
