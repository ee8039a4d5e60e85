"""What the tests of the runtime share: a device."""

from __future__ import annotations

import pytest

from adstack.runtime.reference_backend import ReferenceBackend, open_device


@pytest.fixture
def backend() -> ReferenceBackend:
    """A device of its own for each test."""
    return open_device()
