"""Many launches leave no memory behind. The full run is `python -m adstack.tools.soak`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from adstack.tools import soak

CALLS = soak.LEAST_CALLS + 20_000

PROGRAM = """
import sys
from adstack.tools import soak
kept = []
work = {work}
before, half, after = soak.soak(work, {calls})
print(soak.verdict(half, after))
"""


def _verdict(work: str) -> str:
    program = PROGRAM.format(work=work, calls=CALLS)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=280)
    return done.stdout.strip()


@pytest.mark.parametrize("kind", ["without arguments", "with an array and a scalar", "with a result", "a host access"])
def test_launches_leave_nothing_behind(kind: str):
    assert _verdict(f"soak.workloads('cpu')[{kind!r}]") == ""


@pytest.mark.parametrize("leak", ["kept.append(object())", "kept.append(bytes(600))"])
def test_what_every_call_leaves_behind_is_noticed(leak: str):
    assert "grew" in _verdict(f"lambda: {leak}")


def test_one_arena_is_no_leak():
    half = soak.Reading(10 << 20, 50_000)
    assert soak.verdict(half, soak.Reading(11 << 20, 50_100)) == ""
    assert "1048577" in soak.verdict(half, soak.Reading((11 << 20) + 1, 50_100))
    assert "1001" in soak.verdict(half, soak.Reading(10 << 20, 51_001))


def test_too_few_calls_to_notice_a_leak_are_refused():
    done = subprocess.run(
        [sys.executable, "-m", "adstack.tools.soak", "--calls", "1000"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert str(soak.LEAST_CALLS) in done.stderr
