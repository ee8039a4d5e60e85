"""Views of memory that begin and end anywhere: which are one memory, in part or whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adstack.ir.types import f64
from adstack.runtime.memory.buffers import Buffer
from adstack.runtime.memory.overlaps import overlap
from adstack.runtime.reference_backend import ReferenceBackend

BACKEND = ReferenceBackend()


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ((0, 4), (4, 8), False),
        ((0, 4), (3, 8), True),
        ((0, 8), (2, 4), True),
        ((0, 8), (0, 2), True),
        ((0, 2), (6, 8), False),
    ],
)
def test_views_meet_where_they_have_an_element_in_common(
    one: tuple[int, int], other: tuple[int, int], meet: bool
) -> None:
    memory = np.zeros(8)
    a, b = (Buffer(BACKEND, f64, (end - start,), memory[start:end], shared=True) for start, end in (one, other))
    assert overlap(a, b) is meet
    assert overlap(b, a) is meet
    assert overlap(a, Buffer(BACKEND, f64, (4,))) is False


def test_of_memory_whose_address_is_not_known_nothing_is_said() -> None:
    class Far(ReferenceBackend):
        """One whose memory is elsewhere."""

        def __init__(self) -> None:
            super().__init__()
            self.capabilities = replace(self.capabilities, direct=False, addressed=False)

    backend, memory = Far(), np.zeros(8)
    a, b = (Buffer(backend, f64, (4,), memory[start : start + 4], shared=True) for start in (0, 4))
    assert overlap(a, b) is None
    assert overlap(a, a) is True
