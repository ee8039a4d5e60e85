"""A backend is five modules, a line in the registry, and one protocol: the one in `toy` forwards to the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy.runtime
from sizing_kit import uneven, uneven_gradients

import adstack as qd
from adstack import inspection
from adstack.runtime import state
from adstack.runtime.protocol import abilities, registry

FOLDER = Path(toy.runtime.__file__).parent


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BACKENDS, "toy", "toy.runtime")


def on_both(run: Callable[[], Any], **options: Any) -> Any:
    """What `run` gives on the toy device, which is to the bit what it gives on the reference."""
    results = []
    for arch in ("reference", "toy"):
        qd.init(arch=arch, **options)
        results.append(run())
    assert repr(results[0]) == repr(results[1])
    return results[1]


def test_it_is_five_modules_in_less_than_150_lines() -> None:
    files = sorted(FOLDER.glob("*.py"))
    assert [file.stem for file in files] == ["capability", "codegen", "layout", "runtime", "toolchain"]
    assert sum(len(file.read_text().splitlines()) for file in files) < 150


def test_it_is_opened_by_its_name_and_has_none_of_the_optional_parts() -> None:
    qd.init(arch="toy")
    backend = state.current().backend
    assert state.current().arch == "toy"
    assert inspection.probe("toy") == backend.capabilities
    assert inspection.gaps("toy") == ()
    parts = (abilities.serving, abilities.transferring, abilities.reclaiming, abilities.capturing, abilities.rebinding)
    assert [part(backend) for part in (*parts, abilities.sharing)] == [None] * 6


def test_kernels_work_on_fields_ndarrays_and_arrays_of_the_host() -> None:
    def run() -> Any:
        x, y, out = qd.field(qd.f32, shape=5), qd.ndarray(qd.f32, shape=5), np.zeros(5, np.float32)
        x.from_numpy(np.linspace(-1, 2, 5, dtype=np.float32))
        y.fill(0.25)
        y[3] = 7

        @qd.kernel
        def k(a: qd.types.ndarray(), b: qd.types.ndarray(), c: qd.i32) -> qd.f32:
            total = 0.0
            for i in range(5):
                b[i] = qd.sin(x[i]) * a[i] + c
                total += b[i]
            return total

        returned = [k(y, out, c) for c in (1, 2)]
        return returned, out.tobytes(), x[2], y.to_numpy().tobytes()

    on_both(run)


def test_gradients_and_their_adstacks() -> None:
    gradients, used = on_both(lambda: uneven_gradients(qd.f64))
    assert gradients[0] != gradients[1]
    assert used == [9] * len(used) != []


def test_tapes_and_forward_mode() -> None:
    def run() -> Any:
        x, y, _, step = uneven(qd.f64)
        loss = qd.field(qd.f64, shape=(), needs_grad=True)

        @qd.kernel
        def total():
            for i in y:
                loss[None] += y[i] * y[i]

        with qd.ad.Tape(loss):
            step()
            total()
        return x.grad.to_numpy().tobytes(), loss[None]

    on_both(run)


def test_graphs_launch_their_calls_one_by_one() -> None:
    def run() -> Any:
        x, y, _, step = uneven(qd.f64)

        @qd.kernel(graph=True)
        def back():
            for i in x:
                x[i] = 0.5 * y[i]
            for i in x:
                x[i] += 1

        with qd.graph() as g:
            step()
            back()
        for _ in range(3):
            g.launch()
        back()
        return x.to_numpy().tobytes()

    on_both(run)


def test_errors() -> None:
    def run() -> Any:
        x, _, _, _ = uneven(qd.f64)

        @qd.kernel
        def outside(i: qd.i32):
            x[i] = 1

        @qd.kernel
        def wrong():
            assert x[0] > 100, "too small"

        messages = []
        for call in (lambda: outside(99), wrong, lambda: outside("a"), outside):
            with pytest.raises(qd.AdstackError) as caught:
                call()
            messages.append((type(caught.value), str(caught.value)))
        return messages

    raised = on_both(run, debug=True)
    assert [kind.__name__ for kind, _ in raised][:2] == ["AdstackOutOfBoundsError", "AdstackAssertionError"]
