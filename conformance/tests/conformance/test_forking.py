"""Worker processes are forked from one that has imported the subject, or are ready before they are needed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from suites import MODULE, no_budgets, plain_subject, write_suite

from adstack.conformance.harness.cells import Result, Subject
from adstack.conformance.harness.execute import Request
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.nursery import Nursery
from adstack.conformance.harness.plan import cells_of
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.process import WorkerCrashError
from adstack.conformance.harness.server import Server
from adstack.conformance.harness.station import Settings

CASES = """
    @case(rules=["t.way"], params={"way": ["right", "noise", "server", "wrong", "exit", "fault", "hang", "last"]},
          timeout=2)
    def ends(qd, way):
        def end():
            import ctypes, signal
            if way == "exit":
                os._exit(7)
            if way == "fault":
                ctypes.string_at(0)
            if way == "hang":
                ctypes.PyDLL(None).sleep(60)
            if way == "server":
                os.kill(os.getppid(), signal.SIGKILL)
            if way == "noise":
                for descriptor in range(64):
                    try:
                        os.write(descriptor, b"{} garbage \\xff\\x00 {\\n" * 100)
                    except OSError:
                        pass
            return 1
        return Run(end, returns=2 if way == "wrong" else 1)
"""
STATES = ["pass", "pass", "pass", "wrong value", "crashed", "crashed", "timed out", "pass"]
COUNTED = MODULE + "\nopen(IMPORTS, 'a').write('imported\\n')\n"
THREADED = COUNTED + "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"


def counted(folder: Path, module: str) -> tuple[Subject, Callable[[], int]]:
    """A subject, and how often it has been imported."""
    subject, file = plain_subject(folder), folder / "imports"
    (folder / "plainlanguage.py").write_text(f"IMPORTS = {str(file)!r}\n{module}")
    return subject, lambda: file.read_text().count("imported")


def ended(folder: Path, subject: Subject, without: str = "") -> list[Result]:
    root = write_suite(folder, {"end/ways.py": CASES.replace(f'"{without}", ', "")})
    return run_cells(cells_of(collect(root), [subject]), Settings(no_budgets, 60.0, root))


def test_cells_that_fail_crash_or_hang_cost_no_import_and_one_that_kills_its_parent_costs_one(tmp_path):
    subject, imports = counted(tmp_path, COUNTED)
    assert [result.status.value for result in ended(tmp_path, subject)] == STATES
    assert imports() == 2


def test_what_has_threads_after_its_import_is_not_forked_and_the_next_process_is_ready(tmp_path):
    subject, imports = counted(tmp_path, THREADED)
    assert [result.status.value for result in ended(tmp_path, subject, without="server")] == STATES[1:]
    assert imports() == 6  # for the first, after each of the four that fail, and one that was not needed


@pytest.mark.parametrize("over_pipes", [False, True])
def test_a_worker_tells_how_it_ended_and_another_follows(tmp_path, over_pipes):
    root = write_suite(tmp_path, {"end/ways.py": CASES})
    nursery = Nursery(plain_subject(tmp_path), over_pipes)
    for way, told in (("exit", "exit code 7"), ("fault", "SIGSEGV")):
        worker = nursery.worker()
        with pytest.raises(WorkerCrashError, match=told):
            worker.ask(Request(str(root), "end/ways.py", f"end/ends:{way}", "forward", 0), 30)
        worker.close()
    worker = nursery.worker()
    assert worker.ask(Request(str(root), "end/ways.py", "end/ends:right", "forward", 0), 30)["outcome"] == "finished"
    worker.close()
    nursery.close()


def test_a_server_that_dies_unseen_is_replaced(tmp_path, monkeypatch):
    subject, imports = counted(tmp_path, COUNTED)
    nursery = Nursery(subject)
    first = nursery.worker()
    monkeypatch.setattr(Server, "runs", True)  # nobody has been told yet
    assert nursery._server is not None
    os.kill(nursery._server._process.pid, signal.SIGKILL)
    second = nursery.worker()
    root = write_suite(tmp_path, {"end/ways.py": CASES})
    assert second.ask(Request(str(root), "end/ways.py", "end/ends:right", "forward", 0), 30)["outcome"] == "finished"
    assert imports() == 2
    for each in (first, second, nursery):
        each.close()


@pytest.mark.parametrize("over_pipes", [False, True])
def test_what_cannot_be_imported_is_not_tried_again(tmp_path, over_pipes):
    subject, imports = counted(tmp_path, COUNTED + "raise ImportError('never')\n")
    nursery = Nursery(subject, over_pipes)
    for _ in range(3):
        with pytest.raises(WorkerCrashError, match=r"can't be imported: (.|\n)*never"):
            nursery.worker()
    nursery.close()
    assert imports() == 1


def test_what_dies_while_it_starts_says_how_and_is_tried_again(tmp_path):
    dying = Subject("dying", "x", "cpu", (sys.executable, "-c", "import sys; print('why'); sys.exit(9)"))
    nursery = Nursery(dying)
    for _ in range(2):
        with pytest.raises(WorkerCrashError, match=r"while starting: (.|\n)*exit code 9\n(.|\n)*why"):
            nursery.worker()
