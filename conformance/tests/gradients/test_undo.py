"""The undo log: what changed between marks, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_kit import Parts

from adstack.gradients.memory.undo import Log, Overwritten, Touched, identity, undone, whole
from adstack.ir.types import f32, f64
from adstack.runtime.memory.buffers import Buffer
from adstack.runtime.reference_backend import ReferenceBackend

BACKEND = ReferenceBackend()


def buffer(values: Any, dtype: Any = f64) -> Buffer:
    array = np.array(values, dtype.numpy)
    filled = Buffer(BACKEND, dtype, array.shape)
    filled.write(array)
    return filled


class Comparing(Log):
    """A log of memory that others write, too."""

    def watch(self, touched: Iterable[Touched]) -> None:
        regions = list(touched)
        for one in regions:
            one.buffer.share()
        super().watch(regions)


@pytest.fixture(params=[Comparing, Log], ids=["compared", "kept"])
def log(request: pytest.FixtureRequest) -> Log:
    kind: type[Log] = request.param
    return kind()


def test_changes_are_logged_undone_and_done_again(log: Log) -> None:
    memory = buffer([1.0, 2.0, 3.0])
    log.watch([Touched("x", memory, whole(memory))])
    memory.write([1.0, 5.0, 6.0])
    (change,) = log.mark()
    assert (change.positions.tolist(), change.values.tolist()) == ([1, 2], [2.0, 3.0])
    assert change.nbytes == 2 * 16
    version = memory.version
    with log.quiet(), undone([change]):
        assert memory.read().tolist() == [1.0, 2.0, 3.0]
        assert (change.values.tolist(), memory.version == version) == ([5.0, 6.0], False)
    assert (memory.read().tolist(), memory.version) == ([1.0, 5.0, 6.0], version)
    assert change.values.tolist() == [2.0, 3.0]
    assert log.mark() == []


def test_bits_are_compared_not_values(log: Log) -> None:
    memory = buffer([0.0, np.nan])
    log.watch([Touched("x", memory, whole(memory))])
    memory.write([-0.0, np.nan])
    (change,) = log.mark()
    assert change.positions.tolist() == [0]


def test_only_what_is_needed_is_logged(log: Log) -> None:
    memory = buffer(np.zeros((4, 3)))
    log.watch([Touched("x", memory, [((1, 1), (0, 2))])])
    memory.write(np.ones((4, 3)))
    (change,) = log.mark()
    assert change.positions.tolist() == [3, 4, 5]
    log.watch([Touched("x", memory, [((3, 3), (2, 2))])])
    written = [Touched("x", memory, [((3, 3), (0, 2))])]
    with log.launching(written):
        memory.storage[3] = 2.0
        memory.touch()
    (change,) = log.mark()
    assert change.positions.tolist() == [11]
    assert change.values.tolist() == [1.0]


def test_elements_that_are_needed_later_add_to_those_before(log: Log) -> None:
    memory = buffer(np.zeros((4, 3)))
    log.watch([Touched("x", memory, [((1, 1), (0, 0))])])
    log.watch([Touched("x", memory, [((3, 3), (2, 2))])])
    memory.write(np.ones((4, 3)))
    (change,) = log.mark()
    assert sorted(change.positions.tolist()) == [3, 11]


@pytest.mark.parametrize("shape", [(), (1,), (2, 1, 2)])
def test_buffers_of_any_rank(shape: Any, log: Log) -> None:
    memory = buffer(np.zeros(shape), f32)
    log.watch([Touched("x", memory, whole(memory))])
    memory.write(np.ones(shape))
    (change,) = log.mark()
    assert change.positions.tolist() == list(range(int(np.prod(shape))))
    assert change.mask().all()
    assert (change.undone(memory.read()) == 0).all()


def test_memory_of_others_is_compared_at_every_mark(log: Log) -> None:
    array = np.zeros(3)
    memory = Buffer(BACKEND, f64, (3,), BACKEND.adopt(array), shared=True)
    log.watch([Touched("a", memory, whole(memory))])
    array[1] = 4.0
    (change,) = log.mark()
    assert change.positions.tolist() == [1]
    again = Buffer(BACKEND, f64, (3,), BACKEND.adopt(array), shared=True)
    assert identity(memory) == identity(again)
    assert identity(memory) != identity(buffer([0.0]))


def test_memory_that_others_get_later_is_compared_from_then_on(log: Log) -> None:
    memory = buffer([0.0, 0.0, 0.0])
    log.watch([Touched("x", memory, whole(memory))])
    memory.share()
    for at in (1, 2):
        memory.storage[at] = 4.0  # by numpy, which says nothing
        (change,) = log.mark()
        assert (change.positions.tolist(), change.values.tolist()) == ([at], [0.0])
    log.close()


BOXES = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)).map(
    lambda b: ((min(b[:2]), max(b[:2])), (min(b[2:]), max(b[2:])))
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["watch", "launch", "refused launch"]), BOXES, st.integers(0, 9)),
        st.tuples(st.sampled_from(["host", "element", "other launch", "exchange", "share"]), BOXES, st.integers(0, 9)),
    ),
    max_size=25,
)


def step(log: Log, memory: Buffer, what: str, box: Any, value: int) -> list[Any]:
    """Do something to memory; what the log has of it."""
    touched, ((low, high), (left, right)) = [Touched("x", memory, [box])], box
    match what:
        case "watch":
            log.watch(touched)
            return []
        case "launch" | "refused launch":
            log.mark()
            with log.launching(touched):
                memory.storage[low : high + 1, left : right + 1] = value
                memory.touch()
            return log.mark() if what == "launch" else []
        case "host":
            memory.write(value)
        case "element":
            memory.put((low, left), value)
        case "other launch":
            if memory.watch is not None:
                for saver in memory.watch.savers:
                    saver.before(memory)
            memory.storage[low : high + 1] += 1
            memory.touch()
        case "exchange":
            memory.exchange(np.array([3 * low + left]), np.array([float(value)]))
        case _:
            memory.share()
    return log.mark() if value % 2 else []


@pytest.mark.parametrize("kind", [ReferenceBackend, Parts])
@given(steps=STEPS)
@settings(deadline=None)
def test_what_is_saved_before_it_is_written_is_what_comparing_finds(kind: Any, steps: Any) -> None:
    logs = Comparing(), Log()
    memories = [Buffer(kind(), f64, (4, 3)) for _ in logs]
    for what, box, value in [*steps, ("element", ((0, 0), (0, 0)), 1)]:
        if what == "watch":
            for log in logs:
                log.mark()
        answers = [step(log, memory, what, box, value) for log, memory in zip(logs, memories, strict=True)]
        eager, guarded = (
            {k: v for one in changes for k, v in zip(one.positions.tolist(), one.values.tolist(), strict=True)}
            for changes in answers
        )
        assert eager == guarded
    assert (memories[0].read() == memories[1].read()).all()


def test_of_guarded_memory_nothing_is_copied_that_is_not_overwritten() -> None:
    backend = Parts()
    memory, log = Buffer(backend, f64, (1000, 50)), Log()
    for t in range(100):
        log.watch([Touched("x", memory, [((t, t), (0, 49))])])
        written = [Touched("x", memory, [((t + 1, t + 1), (0, 49))])]
        with log.launching(written):
            memory.storage[t + 1] = t
            memory.touch()
        assert log.mark() == []
    assert backend.copied == []
    again = [Touched("x", memory, [((40, 60), (7, 7))])]
    with log.launching(again):
        memory.storage[40:61, 7] = -1.0
        memory.touch()
    (change,) = log.mark()
    assert change.values.tolist() == list(range(39, 60))
    assert backend.copied == [21 * 50, 21 * 50]
    log.close()
    assert memory.watch is not None
    assert memory.watch.savers == []


def test_gradients_are_cut_where_something_was_overwritten() -> None:
    grad = buffer([1.0, 2.0, 3.0])
    taken = Overwritten(grad, np.array([True, False, True]), given=True).cut()
    assert taken.tolist() == [1.0, 0.0, 3.0]
    assert grad.read().tolist() == [0.0, 2.0, 0.0]
