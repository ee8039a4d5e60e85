"""Random kernels on several workers, one of which is lost: every program has run, and each finding is kept once."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from adstack.conformance.cluster import search
from adstack.conformance.cluster.search import Share, search_on
from adstack.conformance.fuzz.differential.grammar import FEATURES
from adstack.conformance.fuzz.differential.search import Finding, Outcome, drawn
from adstack.conformance.fuzz.differential.trials import Failure
from adstack.conformance.harness.cells import Status
from adstack.tools.commands import cli

pytestmark = [pytest.mark.library("distributed"), pytest.mark.filterwarnings("ignore")]  # warnings of Dask's own making


@pytest.fixture
def cluster() -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """The address of a scheduler, and two workers that have the reference."""
    import distributed

    options = {"n_workers": 0, "processes": False, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(protocol="tcp", host="127.0.0.1", **options) as local:
        start = [sys.executable, "-W", "ignore", "-m", "adstack.tools.cli", "worker", local.scheduler_address]
        command = [*start, "-j", "1", "-b", "reference"]
        workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        try:
            assert all("serves tcp://" in process.stdout.readline() for process in workers)
            yield local.scheduler_address, workers
        finally:
            for process in workers:
                process.terminate()
                process.wait()
                process.stdout.close()


def test_programs_of_a_lost_worker_are_run_again(cluster, monkeypatch) -> None:
    import distributed

    address, workers = cluster
    monkeypatch.setattr(search, "SIZE", 3)
    share = Share("reference", ("forward", "reverse"), 1, FEATURES, "f64", 120.0, 60.0, count=20, seconds=500.0)
    with distributed.Client(address) as client:
        threading.Thread(target=lambda: (time.sleep(2), workers[0].kill())).start()
        outcome = search_on(client, share)
    assert outcome.programs == 20
    assert not outcome.failures


def test_the_command_searches_on_workers(cluster) -> None:
    address, _ = cluster
    words = ("--scheduler", address, "-b", "reference", "--count", "4", "--time", "5m")
    done = CliRunner().invoke(cli, ("fuzz", *words, *(word for one in FEATURES for word in ("--without", one))))
    assert done.exit_code == 0, done.output
    assert "4 programs" in done.output


def test_a_finding_that_two_workers_have_is_kept_once() -> None:
    failure = Failure("reverse", Status.WRONG_GRADIENT)
    parts = [Outcome([Finding(number, failure, "", drawn(1, 5), 9)], programs=8, alike=1) for number in (3, 12)]
    outcome = Outcome()
    assert [len(outcome.add(part)) for part in parts] == [1, 0]
    assert (outcome.programs, outcome.alike, len(outcome.findings)) == (16, 3, 1)
