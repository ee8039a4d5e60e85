"""What numpy writes between launches, into memory that it shares: constants in forward mode, and inputs of a Tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adstack as qd

BESIDE = {"needs_grad": True, "needs_dual": True}
MAKERS = {"field": lambda: qd.field(qd.f64, 2, **BESIDE), "ndarray": lambda: qd.ndarray(qd.f64, 2, **BESIDE)}


def view(y: Any) -> Any:
    return y.to_numpy(copy=False)


class Chain:
    """y = x x, then the loss is three times the sum of y; both inputs are 2."""

    def __init__(self, arch: str, make: Callable[[], Any]) -> None:
        qd.init(arch=arch, default_fp=qd.f64)
        self.x, self.y, self.loss = make(), make(), qd.field(qd.f64, shape=(), **BESIDE)
        self.x.fill(2.0)
        loss = self.loss

        @qd.kernel
        def square(x: qd.template(), y: qd.template()):
            for i in range(2):
                y[i] = x[i] * x[i]

        @qd.kernel
        def total(y: qd.template()):
            for i in range(2):
                loss[None] += y[i] * 3.0

        self.square, self.total = square, total

    def run(self, write: Callable[[], object]) -> None:
        self.square(self.x, self.y)
        write()
        self.total(self.y)

    def along(self, seed: list[float], write: Callable[[], object]) -> float:
        self.loss[None] = 0.0
        with qd.ad.FwdMode(loss=self.loss, param=self.x, seed=seed):
            self.run(write)
        return float(self.loss.dual[None])


@pytest.fixture(params=["reference", "cpu"])
def arch(request: Any) -> str:
    name: str = request.param
    return name


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_element_that_numpy_writes_through_a_view_ends_the_derivative_of_what_was_there(
    arch: str, make: Any
) -> None:
    chain = Chain(arch, make)
    lent = view(chain.y)
    for number in (1.0, 2.0, 3.0):  # a tape that is followed, too
        with qd.ad.Tape(chain.loss):
            chain.run(lambda number=number: lent.__setitem__(0, number))
        assert chain.x.grad.to_numpy().tolist() == [0.0, 12.0]
        assert chain.y.grad.to_numpy().tolist() == [3.0, 0.0]
    assert chain.along([1.0, 0.0], lambda: lent.__setitem__(0, 5.0)) == 0.0
    assert chain.along([0.0, 1.0], lambda: lent.__setitem__(0, 6.0)) == 12.0


@pytest.mark.parametrize("lend", [view, np.from_dlpack], ids=["view", "dlpack"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_so_does_one_through_a_view_that_is_made_in_between(arch: str, make: Any, lend: Callable[[Any], Any]) -> None:
    chain = Chain(arch, make)
    with qd.ad.Tape(chain.loss):
        chain.run(lambda: lend(chain.y).__setitem__(0, 1.0))
    assert chain.x.grad.to_numpy().tolist() == [0.0, 12.0]
    fresh = Chain(arch, make)
    assert fresh.along([1.0, 0.0], lambda: lend(fresh.y).__setitem__(0, 5.0)) == 0.0


def test_a_view_that_nobody_writes_through_ends_nothing(arch: str) -> None:
    chain = Chain(arch, MAKERS["field"])
    lent = view(chain.y)
    with qd.ad.Tape(chain.loss):
        chain.run(lent.sum)
    assert chain.x.grad.to_numpy().tolist() == [12.0, 12.0]
    assert chain.along([1.0, 1.0], lent.sum) == 24.0


@pytest.mark.parametrize("options", [{"ad_snapshot": True}, {}], ids=["snapshot", "plain"])
def test_an_array_passed_twice_is_refused_though_what_the_launch_read_was_copied(
    arch: str, options: dict[str, bool]
) -> None:
    """The copies that stand for what the launch read are two arrays; those of the call are one."""
    qd.init(arch=arch, default_fp=qd.f64, **options)

    @qd.kernel
    def square(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in a:
            b[i] = a[i] * a[i]

    array = qd.ndarray(qd.f64, 2, needs_grad=True)
    array.fill(2.0)
    lent = view(array)
    square(array, array)
    assert lent.tolist() == [4.0, 4.0]
    lent[0] = 3.0
    array.grad.fill(1.0)
    with pytest.raises(qd.AdstackDataAccessError, match="share memory"):
        square.grad(array, array)
    assert array.grad.to_numpy().tolist() == [1.0, 1.0]
