"""A kernel as a function of another library's arrays: what it writes, what its derivative needs, and the derivative."""

from __future__ import annotations

import numpy as np
import pytest
from libraries_kit import cubes, picked, square, swing, swung

import adstack as qd
from adstack.interop.bridge import Bridge, WithGradient


def with_adjoints(*pairs):
    return tuple(WithGradient(np.array(data), np.array(adjoint)) for data, adjoint in pairs)


@pytest.mark.parametrize("arch", [qd.reference, qd.cpu, qd.vulkan])
def test_a_derivative_needs_what_it_reads_and_no_launch(arch):
    qd.init(arch=arch, offline_cache=False)
    bridge = Bridge(square)
    pairs = (*with_adjoints(([1.0, 2.0], [0.0, 0.0]), ([9.0, 9.0], [1.0, 10.0])), 3.0)
    assert bridge.written((*(np.ones(2), np.ones(2)), 3.0)) == (1,)
    demand = bridge.demand(pairs)
    assert (demand.contents, demand.again) == ({0}, False)
    bridge.pull(pairs, demand, None)
    assert pairs[0].grad.tolist() == [6.0, 120.0]
    assert pairs[1].grad.tolist() == [0.0, 0.0]  # what was there before has been overwritten
    assert pairs[1].data.tolist() == [9.0, 9.0]


@pytest.mark.parametrize("arch", [qd.reference, qd.cpu, qd.vulkan])
def test_a_launch_that_overwrites_what_its_derivative_needs_is_made_again(arch):
    qd.init(arch=arch, offline_cache=False)
    bridge, x, v = Bridge(swing), np.array([1.0, 2.0]), np.array([4.0, 8.0])
    adjoints = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for _ in range(2):
        pairs = with_adjoints((x, adjoints[0]), (v, adjoints[1]))
        demand = bridge.demand(pairs)
        assert (demand.contents, demand.again) == ({0, 1}, True)
        bridge.pull(pairs, demand, None)
        assert [pair.grad.tolist() for pair in pairs] == [one.tolist() for one in swung(x, v, *adjoints)]


def test_what_a_kernel_returns_is_an_array_and_has_an_adjoint(on_cpu):
    bridge = Bridge(cubes)
    assert bridge.launch((np.array([1.0, 2.0]),)) == 9.0
    assert bridge.returns == ((), np.float64)
    pairs = with_adjoints(([1.0, 2.0], [0.0, 0.0]))
    bridge.pull(pairs, bridge.demand(pairs), np.array(2.0))
    assert pairs[0].grad.tolist() == [6.0, 24.0]


def test_fields_are_read_as_they_were_and_never_written(on_cpu):
    weight = qd.field(qd.f64, shape=2, name="weight", needs_grad=True)
    total = qd.field(qd.f64, shape=(), name="total")

    @qd.kernel
    def weigh(x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[i] = weight[i] * x[i]

    @qd.kernel
    def add(x: qd.types.ndarray()):
        for i in x:
            total[None] += x[i]

    bridge, pairs = Bridge(weigh), with_adjoints(([1.0, 2.0], [0.0, 0.0]), ([0.0, 0.0], [1.0, 1.0]))
    weight.fill(3.0)
    demand = bridge.demand(pairs, kept=(0, 1))
    bridge.pull(pairs, demand, None)
    assert pairs[0].grad.tolist() == [3.0, 3.0]
    assert weight.grad.to_numpy().tolist() == [1.0, 2.0]
    weight.fill(4.0)
    with pytest.raises(qd.AdstackDataAccessError, match="weight, which has been written since the launch"):
        bridge.pull(pairs, demand, None)
    with pytest.raises(qd.AdstackRuntimeError, match="weigh reads weight, which is none of its array arguments"):
        bridge.refuse_fields(pairs)
    with pytest.raises(qd.AdstackRuntimeError, match="add writes total, which is none of its array arguments"):
        Bridge(add).written((np.ones(2),))


def test_arguments_are_passed_by_position_or_name_and_outputs_are_made(on_cpu):
    bridge = Bridge(square, {"y": lambda x, scale: np.zeros_like(x)})
    x = np.ones(2)
    for args in (bridge.arranged((x, 2.0), {}), bridge.arranged((x,), {"scale": 2.0})):
        assert (args[0] is x, args[1].tolist(), args[2]) == (True, [0.0, 0.0], 2.0)
    for wrong in (((x,), {}), ((x, 1.0, 2.0), {}), ((x, 1.0), {"y": x}), ((x, 1.0), {"x": x})):
        with pytest.raises(qd.AdstackCallError, match="square takes the arguments x, scale"):
            bridge.arranged(*wrong)
    with pytest.raises(qd.AdstackCallError, match="no parameter 'z'"):
        Bridge(square, {"z": np.zeros_like})
    with pytest.raises(qd.AdstackRuntimeTypeError, match="takes a kernel"):
        Bridge(len)


def test_kernels_of_objects_are_bound(on_cpu):
    @qd.data_oriented
    class Law:
        scale = 5.0

        @qd.kernel
        def apply(self, x: qd.types.ndarray(), y: qd.types.ndarray()):
            for i in x:
                y[i] = self.scale * x[i]

    bridge = Bridge(Law().apply)
    pairs = with_adjoints(([1.0], [0.0]), ([0.0], [1.0]))
    assert bridge.names == ("x", "y")
    bridge.pull(pairs, bridge.demand(pairs), None)
    assert pairs[0].grad.tolist() == [5.0]


def test_integers_have_no_adjoints(on_cpu):
    bridge, index = Bridge(picked), np.array([1, 1], np.int32)
    pairs = (index, *with_adjoints(([2.0, 3.0], [0.0, 0.0]), ([0.0, 0.0], [1.0, 1.0])))
    bridge.pull(pairs, bridge.demand(pairs), None)
    assert pairs[1].grad.tolist() == [0.0, 12.0]
