"""Calls of all kinds get from machine code what they get from Python: results, errors, and what they leave behind."""

from __future__ import annotations

from typing import Any

from both_ways_kit import CHANGES, World, calls, outcome, python_only
from calls_kit import is_short
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd


def test_calls_get_the_same_from_machine_code_as_from_python() -> None:
    qd.init(arch=qd.cpu)
    with python_only():
        straight = World()
        straight.warm_up()
    short = World()
    short.warm_up()
    assert is_short(short.kernels["put"])
    assert not is_short(straight.kernels["put"])

    @given(st.lists(st.one_of(calls(), st.sampled_from(list(CHANGES))), min_size=1, max_size=8))
    @settings(max_examples=400)
    def check(steps: list[Any]) -> None:
        for step in steps:
            if isinstance(step, str):
                for world in (short, straight):
                    CHANGES[step](world)
                continue
            with python_only():
                wanted = outcome(straight, step)
            assert outcome(short, step) == wanted

    check()
