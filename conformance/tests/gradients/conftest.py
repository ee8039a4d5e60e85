"""What the tests of gradients share: the backends that they run on."""

from __future__ import annotations

from typing import Any

import pytest

import adstack as qd


@pytest.fixture(params=["reference", "cpu"])
def arch(request: Any) -> str:
    """The name of the backend, on which a runtime with f64 by default has begun."""
    qd.init(arch=request.param, default_fp=qd.f64)
    name: str = request.param
    return name
