"""What all tests share: a fresh runtime for each, and hypothesis without deadlines, repeatable where CI is set."""

from __future__ import annotations

import os
from collections.abc import Iterator

import hypothesis
import pytest

import adstack as qd

# Every pass is checked: the verifier runs before the first and after each one.
os.environ["ADSTACK_VERIFY"] = "1"

# Deadlines measure the machine; the first call of a kernel compiles it.
_DEV = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("dev", _DEV)
hypothesis.settings.register_profile("ci", _DEV, derandomize=True, print_blob=True, database=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def fresh_runtime() -> Iterator[None]:
    """No field, option or compiled kernel of a test is seen by the next."""
    yield
    qd.reset()
