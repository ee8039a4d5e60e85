"""Allocations of Python's that fail, one after another, while kernels are compiled, launched and differentiated: the
error says so, and everything works afterwards.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from memory_kit import ARCHES
from process_kit import unmeasured

SITES = 8
"""How many allocations fail, over all that there are."""
PROGRAM = """
import math
import re
import sys
from collections import Counter

import _testcapi

import adstack as qd
from adstack.errors import AdstackMemoryError

qd.init(arch=getattr(qd, sys.argv[1]), offline_cache=False)
sites = int(sys.argv[2])


def problem():
    x, y = (qd.field(qd.f32, 8, needs_grad=True) for _ in range(2))
    x.fill(0.5)

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(5):
                v = qd.sin(v) * 2.0
            y[i] = v

    def work():
        k()
        y.grad.fill(1.0)
        x.grad.fill(0.0)
        k.grad()
        return x.grad[3]

    return work


def wanted():
    v, slope = 0.5, 1.0
    for _ in range(5):
        v, slope = 2 * math.sin(v), slope * 2 * math.cos(v)
    return slope


def outcome(work, site):
    _testcapi.set_nomemory(site, site + 1)
    try:
        work()
    except AdstackMemoryError:
        return "refused"
    except MemoryError:  # Python had none for what stands around the call
        return "lost"
    except SystemError as error:  # Python itself, or numpy, forgets now and then what went wrong
        assert re.search("without (exception set|setting an exception)", str(error))
        return "lost"
    finally:
        _testcapi.remove_mem_hooks()
    return "done"


assert abs(problem()() - wanted()) < 1e-4
last, seen = 20_000, Counter()
while outcome(problem(), last) != "done":
    last *= 2
for number in range(sites):
    work = problem()
    seen[outcome(work, last * number // sites)] += 1
    assert abs(work() - wanted()) < 1e-4, number
assert seen["refused"] >= sites // 3, seen
print(dict(seen))
"""


@pytest.mark.parametrize("arch", ARCHES)
def test_whichever_allocation_fails_it_is_an_error_that_says_so_and_nothing_is_broken(arch: str):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, arch, str(SITES)],
        env={**unmeasured(), "ADSTACK_CUDA_DEVICE": "host"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
