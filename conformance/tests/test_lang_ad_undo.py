"""The undo log: what changed between marks, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adstack.ir.types import f32, f64
from adstack.lang.ad.undo import Log, Overwritten, Touched, identity, whole
from adstack.runtime.memory import Buffer
from adstack.runtime.reference_backend import ReferenceBackend

BACKEND = ReferenceBackend()


def buffer(values: Any, dtype: Any = f64) -> Buffer:
    array = np.array(values, dtype.numpy)
    made = Buffer(BACKEND, dtype, array.shape)
    made.write(array)
    return made


def test_changes_are_logged_undone_and_done_again() -> None:
    memory, log = buffer([1.0, 2.0, 3.0]), Log()
    log.watch([Touched("x", memory, whole(memory))])
    memory.write([1.0, 5.0, 6.0])
    (change,) = log.mark()
    assert (change.positions.tolist(), change.values.tolist()) == ([1, 2], [2.0, 3.0])
    assert change.nbytes == 2 * 16
    change.swap()
    assert memory.read().tolist() == [1.0, 2.0, 3.0]
    change.swap()
    assert memory.read().tolist() == [1.0, 5.0, 6.0]
    assert log.mark() == []


def test_bits_are_compared_not_values() -> None:
    memory, log = buffer([0.0, np.nan]), Log()
    log.watch([Touched("x", memory, whole(memory))])
    memory.write([-0.0, np.nan])
    (change,) = log.mark()
    assert change.positions.tolist() == [0]


def test_only_what_is_needed_is_logged() -> None:
    memory, log = buffer(np.zeros((4, 3))), Log()
    log.watch([Touched("x", memory, [((1, 1), (0, 2))])])
    memory.write(np.ones((4, 3)))
    (change,) = log.mark()
    assert change.positions.tolist() == [3, 4, 5]
    log.watch([Touched("x", memory, [((3, 3), (2, 2))])])
    memory.write(np.full((4, 3), 2.0))
    (change,) = log.mark([Touched("x", memory, [((3, 3), (0, 2))])])
    assert change.positions.tolist() == [11]
    assert change.values.tolist() == [1.0]


def test_elements_that_are_needed_later_add_to_those_before() -> None:
    memory, log = buffer(np.zeros((4, 3))), Log()
    log.watch([Touched("x", memory, [((1, 1), (0, 0))])])
    log.watch([Touched("x", memory, [((3, 3), (2, 2))])])
    memory.write(np.ones((4, 3)))
    (change,) = log.mark()
    assert sorted(change.positions.tolist()) == [3, 11]


@pytest.mark.parametrize("shape", [(), (1,), (2, 1, 2)])
def test_buffers_of_any_rank(shape: Any) -> None:
    memory, log = buffer(np.zeros(shape), f32), Log()
    log.watch([Touched("x", memory, whole(memory))])
    memory.write(np.ones(shape))
    (change,) = log.mark()
    assert change.positions.tolist() == list(range(int(np.prod(shape))))
    assert change.mask().all()
    assert (change.undone(memory.read()) == 0).all()


def test_memory_of_others_is_compared_at_every_mark() -> None:
    array, log = np.zeros(3), Log()
    memory = Buffer(BACKEND, f64, (3,), BACKEND.adopt(array), shared=True)
    log.watch([Touched("a", memory, whole(memory))])
    array[1] = 4.0
    (change,) = log.mark([])
    assert change.positions.tolist() == [1]
    again = Buffer(BACKEND, f64, (3,), BACKEND.adopt(array), shared=True)
    assert identity(memory) == identity(again)
    assert identity(memory) != identity(buffer([0.0]))


def test_gradients_are_cut_where_something_was_overwritten() -> None:
    grad = buffer([1.0, 2.0, 3.0])
    taken = Overwritten(grad, np.array([True, False, True]), given=True).cut()
    assert taken.tolist() == [1.0, 0.0, 3.0]
    assert grad.read().tolist() == [0.0, 2.0, 0.0]
