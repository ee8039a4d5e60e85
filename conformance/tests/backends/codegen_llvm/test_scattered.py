"""Lanes that update elements anywhere, of which some do not run."""

from __future__ import annotations

import re

import numpy as np

import adstack as qd


def test_no_address_is_an_offset_from_null():
    """LLVM takes for granted that such addresses point to nothing, and moves loads over stores."""
    qd.init(arch=qd.cpu, offline_cache=False)
    x, y, where = qd.field(qd.f32, 64), qd.field(qd.f32, 512), qd.field(qd.i32, 64)

    @qd.kernel
    def scatter():
        for i in x:
            if x[i] > 0.5:
                y[where[i]] += x[i]

    x.from_numpy(np.tile([0.25, 0.75], 32).astype(np.float32))
    where.from_numpy(np.arange(64, dtype=np.int32) // 4)
    scatter()
    assert y.to_numpy()[:17].tolist() == [1.5] * 16 + [0.0]
    for stage in ("llvm", "llvm-opt"):
        text = scatter.stages()[stage]
        assert "inttoptr" in text
        assert re.findall(r"getelementptr [^\n]*ptr null.*", text) == []
