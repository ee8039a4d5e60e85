"""The checks of shared memory: with numpy as the guest of a device that the host plays, and with wrong guests."""

from __future__ import annotations

import ctypes
import json
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.tools.device import exchange


class Numpy(exchange.Guest):
    """numpy, which may look at the memory of this device."""

    module = "numpy"

    def made(self, values: Any) -> Any:
        return np.array(values)

    def shared(self, array: Any) -> Any:
        about = array.__cuda_array_interface__
        words = (ctypes.c_float * about["shape"][0]).from_address(about["data"][0])
        return np.ctypeslib.as_array(words)

    def read(self, array: Any) -> list[float]:
        found: list[float] = array.tolist()
        return found


class Copying(Numpy):
    """Takes copies for views."""

    def shared(self, array: Any) -> Any:
        return np.array(array.to_numpy())


class Nobody(exchange.Guest):
    module = "nobody_has_this"


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    yield
    qd.reset()


@pytest.mark.parametrize(
    "check", [exchange.argument_in_place, exchange.shared_both_ways, exchange.gradients_are_shared]
)
def test_what_is_shared_is_found_to_be_right(check):
    assert exchange.outcome(check, Numpy) == "ok"


@pytest.mark.parametrize("check", [exchange.shared_both_ways, exchange.gradients_are_shared])
def test_a_copy_is_found_to_be_wrong(check):
    assert exchange.outcome(check, Copying).startswith("wrong: AssertionError: ")


def test_whoever_is_missing_is_told():
    said = exchange.outcome(exchange.late_argument, Nobody)
    assert said == "missing: ModuleNotFoundError: No module named 'nobody_has_this'"


@pytest.mark.parametrize(("found", "status"), [("ok", 0), ("missing: all", 0), ("wrong: this", 1)])
def test_only_what_is_wrong_fails(monkeypatch, tmp_path, found, status):
    monkeypatch.setattr(exchange, "outcome", lambda check, kind: found)
    assert exchange.main(str(tmp_path / "found.json")) == status
    told = json.loads((tmp_path / "found.json").read_text())
    assert set(told.values()) == {found}
    assert {name.partition(":")[0] for name in told} == {"torch", "cupy", "jax"}
