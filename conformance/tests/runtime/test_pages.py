"""Elements of memory that the host does not address: read and written in parts, and always what the memory holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_kit import Parts, Whole

import adstack as qd
from adstack.runtime.memory import blocks
from adstack.runtime.memory.buffers import Buffer
from adstack.runtime.memory.pages import Pages
from adstack.runtime.reference_backend import ReferenceBackend


def test_pages_are_fetched_once_and_changed_where_they_are_kept():
    fetched = []

    def fetch(start: int, count: int) -> Any:
        fetched.append((start, count))
        return np.arange(start, start + count)

    pages = Pages(7, 10, 4)
    assert [pages.item(k, fetch) for k in (5, 4, 9, 5)] == [5, 4, 9, 5]
    assert fetched == [(4, 4), (8, 2)]
    pages.put(2, np.array([-2, -3, -4, -5]))
    pages.put(9, np.array([-9]))
    assert [pages.item(k, fetch) for k in (4, 5, 6, 9, 2)] == [-4, -5, 6, -9, 2]
    assert fetched == [(4, 4), (8, 2), (0, 4)]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.integers(0, 23)),
        st.tuples(st.just("put"), st.integers(0, 23)),
        st.tuples(st.just("row"), st.integers(0, 7)),
        st.tuples(st.sampled_from(["device", "write", "share"]), st.just(0)),
    ),
    max_size=40,
)


@pytest.mark.parametrize("kind", [ReferenceBackend, Whole, Parts])
@given(steps=STEPS, page=st.sampled_from([4, 12, 20, 1 << 16]))
@settings(deadline=None)
def test_elements_are_those_of_the_memory_whatever_was_done_to_it(kind, steps, page):
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(blocks, "PAGE", page)
        buffer, model = Buffer(kind(), qd.f32, (8, 3)), np.zeros((8, 3), np.float32)
        for number, (what, at) in enumerate(steps, 1):
            match what:
                case "read":
                    assert buffer.item(divmod(at, 3)) == model[divmod(at, 3)]
                case "put":
                    buffer.put(divmod(at, 3), number)
                    model[divmod(at, 3)] = number
                case "row":
                    buffer.put((at,), [number, number + 0.5, -number])
                    model[at] = [number, number + 0.5, -number]
                case "device":
                    buffer.storage[...] = model[...] = number
                    buffer.touch()
                case "write":
                    buffer.write(number)
                    model[...] = number
                case "share":
                    buffer.share()
                    buffer.storage[1, 1] = model[1, 1] = number
        assert (buffer.read() == model).all()
        assert [buffer.item((i, j)) for i in range(8) for j in range(3)] == model.reshape(-1).tolist()


def test_of_memory_that_others_write_single_elements_are_read():
    backend = Parts()
    buffer = Buffer(backend, qd.f64, (100_000,))
    assert [buffer.item((k,)) for k in (0, 1, 99_999)] == [0, 0, 0]
    assert backend.copied == [8192, 8192 - (-100_000 % 8192)]
    buffer.share()
    backend.copied.clear()
    assert [buffer.item((k,)) for k in (0, 1, 1)] == [0, 0, 0]
    assert backend.copied == [1, 1, 1]


@pytest.mark.parametrize("kind", [ReferenceBackend, Whole, Parts])
def test_elements_anywhere_are_exchanged(kind):
    buffer = Buffer(kind(), qd.f64, (4, 3))
    buffer.write(np.arange(12.0).reshape(4, 3))
    before = buffer.exchange(np.array([10, 2, 7]), np.array([-10.0, -2.0, -7.0]))
    assert before.tolist() == [10.0, 2.0, 7.0]
    assert buffer.read().reshape(-1).tolist() == [0, 1, -2, 3, 4, 5, 6, -7, 8, 9, -10, 11]
    assert buffer.part(((1, 2), (0, 1))).tolist() == [[3, 4], [6, -7]]


def test_numbers_without_axes_have_one_element():
    for kind in (Whole, Parts):
        buffer = Buffer(kind(), qd.i32, ())
        buffer.put((), 5)
        assert (buffer.item(()), buffer.read().item()) == (5, 5)
