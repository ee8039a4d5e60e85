"""What the tests of calls by machine code share: who serves a call."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import pytest

import adstack as qd


def is_short(kernel: Any) -> bool:
    """Whether machine code serves calls of the kernel."""
    return isinstance(kernel.__call__, BuiltinFunctionType)


def settled(kernel: Any, *args: Any) -> Any:
    """The kernel, called often enough with these arguments for machine code to serve them."""
    kernel(*args)
    kernel(*args)
    assert is_short(kernel)
    return kernel


def warm(run: Callable[..., Any], *args: Any) -> None:
    """Launch until machine code serves the calls."""
    for _ in range(3):
        run(*args)


def by_machine_code(call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a call gives that may not ask Python."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("Python was asked")

    with monkeypatch.context() as patch:
        patch.setattr(qd.kernels.kernel.Kernel, "_call", refuse)
        return call()
