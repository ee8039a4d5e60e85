"""Random sequences of launches, gradients and changes of memory: every gradient is right, or refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest

import adstack as qd
from adstack.conformance.fuzz import changes


@pytest.mark.parametrize("options", [{}, {"debug": True}], ids=str)
@pytest.mark.parametrize("arch", ["reference", "cpu", "vulkan", "cuda"])
def test_no_gradient_is_silently_another_one(arch: str, options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=arch, default_fp=qd.f64, **options)
    changes.World.right = changes.World.refused = 0
    for seed in range(3):
        changes.play(seed, steps=150)
    assert changes.World.right > 20
    assert changes.World.refused > 20


@pytest.mark.parametrize("arch", ["reference", "cpu"])
def test_snapshots_refuse_nothing(arch: str) -> None:
    qd.init(arch=arch, default_fp=qd.f64, ad_snapshot=True)
    changes.World.right = changes.World.refused = 0
    changes.play(7, steps=200)
    assert changes.World.right > 20
    assert changes.World.refused <= 5  # histories and squares that were never launched
