"""Several threads: what is a thread's own, who launches when, and what a reset means to the others."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from functools import partial

import pytest
from threads_kit import Launching, all_at_once, work_of

import adstack as qd
from adstack.kernels import kernel as kernels

ARCHES = ["reference", "cpu", "cuda"]


@pytest.fixture(autouse=True)
def _switching(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads take turns much more often than usual; the host plays the CUDA device."""
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("again", ["reset", "init"])
@pytest.mark.parametrize("arch", ARCHES)
def test_a_reset_is_an_error_in_the_threads_that_launch(arch: str, again: str) -> None:
    """threads.reset"""
    for _ in range(2):
        threads = [Launching(work) for work in work_of(arch)]
        for thread in threads:
            thread.wait(3)
        if again == "reset":
            qd.reset()
        else:
            qd.init(arch=arch)
        assert [type(thread.ended()) for thread in threads] == [qd.AdstackRuntimeError] * len(threads)


@pytest.mark.parametrize("arch", ARCHES)
def test_after_resets_under_way_the_next_runtime_works(arch: str) -> None:
    for _ in range(3):
        threads = [Launching(work) for work in work_of(arch)]
        qd.reset()
        for thread in threads:
            thread.ended()
    _, _, tape, _ = work_of(arch)
    tape()


def test_data_that_is_made_while_the_runtime_ends_is_of_one_runtime() -> None:
    qd.init(arch=qd.cpu)

    def data() -> None:
        field = qd.field(qd.f32, 4)
        field[1] = 2.0
        assert field[1] == 2.0

    threads = [Launching(data) for _ in range(3)]
    for _ in range(20):
        qd.init(arch=qd.cpu)
    qd.reset()
    ends = [thread for thread in threads if thread.raised is not None]
    assert all(isinstance(thread.raised, qd.AdstackRuntimeError) for thread in ends)
    for thread in threads:
        thread.work = _stop
        assert isinstance(thread.ended(), (KeyError, qd.AdstackRuntimeError))


def _stop() -> None:
    raise KeyError


@pytest.mark.parametrize("arch", ARCHES)
def test_a_kernel_that_threads_call_at_the_same_time_is_compiled_once(
    arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """threads.turns"""
    qd.init(arch=arch)
    x = qd.field(qd.i32, 8)
    compiled = []
    specialise = kernels.specialise

    def counted(*args: object) -> object:
        compiled.append(args)
        return specialise(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(kernels, "specialise", counted)

    @qd.kernel
    def add(n: qd.i32):
        for i in x:
            x[i] += n

    assert all_at_once(*[lambda: [add(1) for _ in range(50)]] * 6) == []
    assert len(compiled) == 1
    assert x.to_numpy().tolist() == [300] * 8


@pytest.mark.parametrize("arch", ARCHES)
def test_tapes_of_threads_add_to_one_gradient(arch: str) -> None:
    """threads.accumulation"""
    qd.init(arch=arch)
    x = qd.field(qd.f32, 4, needs_grad=True)
    losses = [qd.field(qd.f32, (), needs_grad=True) for _ in range(3)]

    @qd.kernel
    def add(loss: qd.template()):
        for i in x:
            loss[None] += 2.0 * x[i]

    def tapes(loss: object) -> None:
        for _ in range(10):
            with qd.ad.Tape(loss, clear_gradients=False):
                add(loss)

    assert all_at_once(*[lambda loss=loss: tapes(loss) for loss in losses]) == []
    assert x.grad.to_numpy().tolist() == [60.0] * 4


@pytest.mark.parametrize("arch", ARCHES)
def test_a_graph_records_the_calls_of_its_thread(arch: str) -> None:
    """threads.recorders"""
    qd.init(arch=arch)
    x, y = (qd.field(qd.i32, 4) for _ in range(2))

    @qd.kernel
    def add(n: qd.i32, to: qd.template()):
        for i in to:
            to[i] += n

    add(0, x)
    add(0, y)
    with qd.graph() as graph:
        add(1, x)
        assert all_at_once(lambda: add(5, y), y.to_numpy) == []
        with pytest.raises(qd.AdstackRuntimeError, match="while a graph is recorded"):
            x.to_numpy()
    assert len(graph) == 1
    assert (x.to_numpy().tolist(), y.to_numpy().tolist()) == ([0] * 4, [5] * 4)
    graph.launch()
    assert (x.to_numpy().tolist(), y.to_numpy().tolist()) == ([1] * 4, [5] * 4)


def test_elements_are_read_and_written_while_others_launch() -> None:
    """threads.host"""
    qd.init(arch=qd.cpu)
    x, y = (qd.field(qd.i32, 1000) for _ in range(2))

    @qd.kernel
    def count():
        for i in x:
            x[i] += 1

    def write() -> None:
        for k in range(1000):
            y[k] = k
            assert y[k] == k

    launching = Launching(count)
    assert all_at_once(write) == []
    launching.work = _stop
    launching.ended()
    assert y.to_numpy().tolist() == list(range(1000))
    assert len(set(x.to_numpy().tolist())) == 1


def test_a_tape_waits_for_the_launches_of_machine_code_under_way() -> None:
    """threads.outside: another thread's launch of longer than the tape's begins before the tape, and writes after."""
    qd.init(arch=qd.cpu)
    x = qd.field(qd.f32, 1 << 12, needs_grad=True)
    loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def slow(turns: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(turns):
                v = v * 0.5 + 1.0
            x[i] = v

    @qd.kernel
    def squares():
        for i in x:
            loss[None] += x[i] * x[i]

    for turns in (1, 1, 2000):
        begun = threading.Thread(target=slow, args=(turns,))
        begun.start()
        with qd.ad.Tape(loss):
            squares()
        begun.join()
        assert set(x.grad.to_numpy().tolist()) <= {0.0, 2.0, 3.0, 4.0}
        assert len(set(x.grad.to_numpy().tolist())) == 1


@pytest.mark.parametrize("arch", ["cpu", "cuda", "vulkan"])
def test_threads_that_differentiate_one_kernel_have_adstacks_of_their_own_depths(arch: str) -> None:
    """threads.turns"""
    qd.init(arch=arch)

    @qd.kernel
    def power(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1), n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = v * v
            y[i] = v

    def work(number: int) -> None:
        x, y = (qd.ndarray(qd.f32, 20 * number + 1, needs_grad=True) for _ in range(2))
        x.fill(1)
        for turn in range(12):
            n = 1 + (number + turn // 4) % 5
            x.grad.fill(0)
            y.grad.fill(1)
            power(x, y, n)
            power.grad(x, y, n)
            assert x.grad.to_numpy().tolist() == [2.0**n] * x.shape[0]

    assert all_at_once(*(partial(work, number) for number in range(4))) == []
