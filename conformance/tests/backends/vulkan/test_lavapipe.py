"""The width of vectors that Mesa's driver for the processor is asked for."""

from __future__ import annotations

import os

import pytest

from adstack.backends.vulkan.driver.lavapipe import ADDRESSES, VARIABLE, widen

WIDE = "processor\t: 0\nflags\t\t: fpu sse2 avx2 avx512f avx512dq avx512bw avx512vl\n\nprocessor\t: 1\n"
NARROW = "processor\t: 0\nflags\t\t: fpu sse2 avx2 avx512f\n"


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What is asked for on a machine with such a description, with the variable as it is given."""

    def run(text, before=None):
        monkeypatch.setenv(VARIABLE, before or "")
        if before is None:
            monkeypatch.delenv(VARIABLE)
        path = tmp_path / "cpuinfo"
        if text is not None:
            path.write_text(text)
        widen(path)
        return os.environ.get(VARIABLE)

    return run


def test_wide_vectors_are_asked_for_where_the_processor_has_them(asked):
    assert asked(WIDE) == "512"


@pytest.mark.parametrize("text", [NARROW, "", None])
def test_a_processor_without_them_is_left_alone(asked, text):
    assert asked(text) is None


def test_what_the_user_asks_for_stays(asked):
    assert asked(WIDE, "256") == "256"


def test_bound_buffers_are_left_to_shorter_vectors(asked, monkeypatch):
    monkeypatch.setenv(ADDRESSES, "0")
    assert asked(WIDE) is None
