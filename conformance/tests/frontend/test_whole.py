"""Methods of whole fields in kernels: `fill` is a loop, what the host does is refused."""

from __future__ import annotations

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


def test_fill_is_a_parallel_task_of_the_kernel():
    x = qd.field(qd.f32, shape=4)

    @qd.kernel
    def run(v: qd.f32):
        x.fill(v)

    assert run.stages(2.0)["tasks"].count("parallel") >= 1
    assert x.to_numpy().tolist() == [0, 0, 0, 0]
    run(2.0)
    assert x.to_numpy().tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("name", ["from_numpy", "copy_from", "from_torch"])
def test_what_the_host_does_is_refused_before_it_acts(name):
    x = qd.field(qd.f32, shape=4)
    source = np.ones(4, np.float32)

    @qd.kernel
    def run():
        getattr(x, name)(source)

    with pytest.raises(qd.AdstackTypeError, match=f"{name} is for the host"):
        run()
    assert x.to_numpy().tolist() == [0, 0, 0, 0]
