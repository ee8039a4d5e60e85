"""`qd.profiler`: every call is counted once, on every backend; times add up; nothing is left behind."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack import inspection
from adstack.errors import AdstackRuntimeError
from adstack.profiler import KINDS, Profile
from adstack.profiler.report import Report, rows_of
from adstack.profiler.seams import CALLS, SEAMS, SERVED, owner_of
from adstack.profiler.spans import Spans

ARCHES = [arch for arch in inspection.ARCHES if not isinstance(inspection.probe(arch), inspection.Unavailable)]


@pytest.fixture(params=ARCHES)
def arch(request: Any) -> str:
    qd.init(arch=request.param)
    name: str = request.param
    return name


class World:
    def __init__(self) -> None:
        x = self.x = qd.field(qd.f32, shape=8, needs_grad=True)
        y = self.y = qd.field(qd.f32, shape=(), needs_grad=True)

        @qd.kernel
        def total():
            for i in x:
                y[None] += x[i] * x[i]

        @qd.kernel
        def pair(a: qd.f32) -> qd.types.vector(2, qd.f32):
            return qd.Vector([a, 2.0 * a])

        self.total, self.pair = total, pair


def row(report: Report, name: str) -> Any:
    return next(one for one in report.rows if one.name == name)


# ---- spans


def test_the_share_of_a_stretch_is_what_those_inside_it_leave():
    spans = Spans(clock=itertools.count().__next__)
    outer = spans.enter("python", "k")
    inner = spans.enter("device", "")
    spans.leave(inner)
    spans.leave(outer)
    assert spans.seconds == {("k", "python"): 2, ("k", "device"): 1}
    assert spans.counts == {("k", "python"): 1, ("k", "device"): 1}


def test_rows_come_by_cost():
    rows = rows_of({("a", "python"): 1.0, ("b", "device"): 2.0}, Counter(a=1), Counter(), {("b", "device"): 3})
    assert [(one.name, one.calls, one.launches, one.seconds) for one in rows] == [("b", 0, 3, 2.0), ("a", 1, 0, 1.0)]


# ---- what is measured


def test_every_call_is_counted_and_the_time_adds_up(arch: str):
    world = World()
    with qd.profiler.Profile() as profile:
        for _ in range(5):
            world.total()
    report = profile.report()
    total = row(report, "total")
    served = sum(one.calls for one in report.fallbacks if one.name == "total")
    assert total.calls == 5 == total.by_machine + served
    assert total.launches == served
    assert total.compile > 0
    assert 0 < sum(one.seconds for one in report.rows) <= report.seconds
    assert report.program + sum(report.total(kind) for kind in KINDS) == pytest.approx(report.seconds, rel=1e-9)


def test_results_are_what_they_are_without_a_profile(arch: str):
    world = World()
    world.x.from_numpy(np.arange(8, dtype=np.float32))
    with Profile(), qd.ad.Tape(world.y):
        world.total()
    assert world.y[None] == 140
    assert world.x.grad.to_numpy().tolist() == [2.0 * i for i in range(8)]


def test_gradients_under_a_tape_have_rows_of_their_own(arch: str):
    world = World()
    with Profile() as profile, qd.ad.Tape(world.y):
        world.total()
        world.total()
    report = profile.report()
    assert row(report, "total.grad").launches == 2
    assert row(report, "total.grad").device > 0
    assert ("total", "recorded: Tape", 2) in {(one.name, one.reason, one.calls) for one in report.fallbacks}


def test_a_gradient_that_is_called_is_counted(arch: str):
    world = World()
    world.total()
    with Profile() as profile:
        world.total.grad()
        world.total.grad()
    gradient = row(profile.report(), "total.grad")
    assert gradient.calls == 2
    assert gradient.compile > 0


@pytest.mark.parametrize("arch", [arch for arch in ARCHES if arch != "reference"], indirect=True)
def test_machine_code_is_told_apart_and_reasons_are_given(arch: str):
    world = World()
    world.total()
    world.total()
    with Profile() as profile:
        for _ in range(4):
            world.total()
            world.pair(1.0)
        world.pair(a=2.0)
    report = profile.report()
    assert row(report, "total").by_machine == 4
    assert row(report, "total").launches == 0
    why = {(one.name, one.reason): one.calls for one in report.fallbacks}
    assert why["pair", "it returns more than a number"] == 4
    assert any(name == "pair" and "by name" in reason for name, reason in why)


def test_the_reference_says_that_it_has_no_machine_code():
    qd.init(arch=qd.reference)
    world = World()
    with Profile() as profile:
        world.total()
    (fallback,) = profile.report().fallbacks
    assert fallback.reason == "the backend reference has no machine code for calls"


def test_an_error_is_the_users_and_is_counted(arch: str):
    world = World()
    with Profile() as profile, pytest.raises(qd.AdstackError):
        world.pair()
    assert row(profile.report(), "pair").calls == 1
    assert profile.report().fallbacks == ()


def test_other_threads_are_not_measured():
    qd.init(arch=qd.reference)
    world = World()
    with Profile() as profile:
        other = threading.Thread(target=world.total)
        other.start()
        other.join()
    assert profile.report().rows == ()


# ---- before and after


def originals() -> list[object]:
    places = [(seam.module, seam.path) for seam in SEAMS]
    places += [*SERVED, *((module, f"{name}.__call__") for module, name, _ in CALLS)]
    owners = [owner_of(*place) for place in places]
    return [vars(owner)[name] for owner, name in owners]


def test_functions_are_put_back(arch: str):
    before = originals()
    world = World()
    with Profile():
        world.total()
        assert not any(now is then for now, then in zip(originals(), before, strict=True))
    assert all(now is then for now, then in zip(originals(), before, strict=True))
    world.total()
    assert world.y[None] == 0


def test_one_profile_at_a_time():
    before = originals()
    with Profile(), pytest.raises(AdstackRuntimeError, match="entered already"), Profile():
        pass
    assert all(now is then for now, then in zip(originals(), before, strict=True))


def test_the_report_is_plain_data_and_text(arch: str):
    world = World()
    with Profile() as profile:
        world.total()
    record = profile.report().record()
    assert record["rows"][0]["name"] == "total"
    assert set(record["totals"]) == {"program", *KINDS}
    assert "total: python" in str(profile.report())
