"""What a launch works with and the other library does not keep: a derivative finds the same, or is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import adstack as qd
from adstack.interop.bridge import Bridge, WithGradient
from adstack.interop.surroundings import Surroundings


@pytest.fixture(params=["reference", "cpu", "vulkan"])
def arch(request):
    qd.init(arch=getattr(qd, request.param), offline_cache=False)
    return request.param


def pairs():
    """x, and y with an adjoint."""
    return WithGradient(np.array([1.0, 2.0]), np.zeros(2)), WithGradient(np.zeros(2), np.ones(2))


Numbers = qd.types.struct(scale=qd.f64)


@dataclass
class Weights:
    w: qd.types.ndarray()


@qd.kernel
def by_array(x: qd.types.ndarray(), y: qd.types.ndarray(), w: qd.types.ndarray()):
    for i in x:
        y[i] = x[i] * w[i]


@qd.kernel
def by_member(x: qd.types.ndarray(), y: qd.types.ndarray(), weights: Weights):
    for i in x:
        y[i] = x[i] * weights.w[i]


@qd.kernel
def by_struct(x: qd.types.ndarray(), y: qd.types.ndarray(), numbers: Numbers):
    for i in x:
        y[i] = x[i] * numbers.scale


@qd.kernel
def by_vector(x: qd.types.ndarray(), y: qd.types.ndarray(), scales: qd.math.vec2):
    for i in x:
        y[i] = x[i] * scales[0]


@qd.data_oriented
class Law:
    def __init__(self):
        self.scale = 3.0

    @qd.kernel
    def apply(self, x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[i] = x[i] * self.scale


def ndarray():
    array = qd.ndarray(qd.f64, shape=2)
    array.fill(3.0)
    return array


def of_numpy():
    w = np.array([3.0, 3.0])
    return by_array, w, lambda: w.__setitem__(1, 4.0)


def of_an_ndarray():
    w = ndarray()
    return by_array, w, lambda: w.__setitem__(1, 4.0)


def of_a_member():
    weights = Weights(np.array([3.0, 3.0]))
    return by_member, weights, lambda: weights.w.__setitem__(1, 4.0)


def of_a_struct():
    numbers = Numbers(scale=3.0)
    return by_struct, numbers, lambda: setattr(numbers, "scale", 4.0)


def of_a_list():
    scales = [3.0, 1.0]
    return by_vector, scales, lambda: scales.__setitem__(0, 4.0)


@pytest.mark.parametrize("case", [of_numpy, of_an_ndarray, of_a_member, of_a_struct, of_a_list])
def test_what_was_passed_beside_is_the_same_or_refused(arch, case):
    kernel, beside, change = case()
    bridge, (x, y) = Bridge(kernel), pairs()
    demand = bridge.demand((x, y, beside), kept=(0, 1))
    bridge.launch((x.data, y.data, beside))
    bridge.pull((x, y, beside), demand, None)
    assert x.grad.tolist() == [3.0, 3.0]
    change()
    with pytest.raises(qd.AdstackDataAccessError, match=r"ha(s|ve) (been written|changed) since the launch"):
        bridge.pull((x, y, beside), demand, None)


def test_attributes_that_were_compiled_in_are_the_same_or_refused(arch):
    law, (x, y) = Law(), pairs()
    bridge = Bridge(law.apply)
    demand = bridge.demand((x, y), kept=(0, 1))
    law.scale = 4.0
    with pytest.raises(qd.AdstackDataAccessError, match="attributes of objects, which has changed since the launch"):
        bridge.pull((x, y), demand, None)
    law.scale = 3.0
    bridge.pull((x, y), demand, None)
    assert x.grad.tolist() == [3.0, 3.0]


def test_what_was_compiled_twice_by_threads_is_the_same(arch):
    args = (*pairs(), 3.0 * np.ones(2))
    specialisation, call, _ = by_array.prepared(args, {})
    surroundings = Surroundings.of(specialisation, call, ["w"])
    surroundings.check(replace(specialisation), call)
    other, call, _ = by_vector.prepared((*pairs(), [3.0, 3.0]), {})
    with pytest.raises(qd.AdstackDataAccessError, match="what is compiled in"):
        surroundings.check(other, call)


@pytest.mark.parametrize("early", [True, False])
def test_fields_that_others_may_write_are_compared(on_cpu, early):
    weight = qd.field(qd.f64, shape=2, name="weight")
    weight.fill(3.0)

    @qd.kernel
    def weigh(x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[i] = weight[i] * x[i]

    view = np.from_dlpack(weight) if early else None
    bridge, (x, y) = Bridge(weigh), pairs()
    demand = bridge.demand((x, y), kept=(0, 1))
    if early:
        bridge.pull((x, y), demand, None)
        assert x.grad.tolist() == [3.0, 3.0]
    view = np.from_dlpack(weight) if view is None else view
    view[0] = 4.0
    with pytest.raises(qd.AdstackDataAccessError, match="weight, which has been written since"):
        bridge.pull((x, y), demand, None)


def test_a_launch_that_would_draw_other_random_numbers_again_is_refused(arch):
    @qd.kernel
    def noise(x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[i] = x[i] * qd.random(qd.f64)

    @qd.kernel
    def added(x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[i] = 2.0 * x[i] + qd.random(qd.f64)

    with pytest.raises(qd.AdstackRuntimeError, match=r"(?s)draw other random numbers.*qd.random.*pass the random"):
        Bridge(noise).demand(pairs())
    bridge, (x, y) = Bridge(added), pairs()
    bridge.pull((x, y), bridge.demand((x, y)), None)
    assert x.grad.tolist() == [2.0, 2.0]
