"""The programs of `examples/workers`, in several processes: what each of them asserts, and that losses fall."""

from __future__ import annotations

import subprocess
import sys

import pytest

from adstack.tools.pictures import EXAMPLES

PROGRAMS = {
    "torch_ddp": pytest.mark.library("torch"),
    "dask_shots": pytest.mark.library("distributed"),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=mark) for name, mark in PROGRAMS.items()])
def test_the_program_trains_in_two_processes(name):
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / "workers" / f"{name}.py"), "cpu", "8"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("loss ")


def test_every_program_is_run_and_has_a_row_in_the_readme():
    readme = (EXAMPLES.parent / "README.md").read_text("utf-8")
    programs = sorted((EXAMPLES / "workers").glob("*.py"))
    assert [path.stem for path in programs] == sorted(PROGRAMS)
    assert [path.name for path in programs if f"examples/workers/{path.name}" not in readme] == []
