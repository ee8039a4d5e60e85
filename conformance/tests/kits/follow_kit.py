"""Backends that follow tapes, and tapes that are not followed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest

import adstack as qd
from adstack.gradients.tapes.follow import Follow
from adstack.gradients.tapes.run import Run

BOUND = "vulkan by bindings"
ARCHES = ("cpu", "vulkan", BOUND, "cuda")


def begin(arch: str, **options: Any) -> None:
    """Use a backend; that of cuda is played by the host."""
    if arch == "cuda":
        options |= {"offline_cache": False}
    qd.init(arch="vulkan" if arch == BOUND else arch, default_fp=qd.f64, **options)


def begin_in_test(arch: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Use a backend until the test ends; its name."""
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    if arch == BOUND:
        monkeypatch.setenv("ADSTACK_VULKAN_ADDRESSES", "0")
    begin(arch)
    return arch


@contextmanager
def recorded_only() -> Iterator[None]:
    """A context in which tapes record each launch."""
    with patch.object(Follow, "matches", lambda *_: False):
        yield


def served(tape: Any) -> int:
    """How many calls of a tape machine code has served."""
    runs = [event for event in tape._events if isinstance(event, Run)]
    return sum(run.end - run.first for run in runs)
