"""Sparse fields that are mostly inactive, and large enough for backends to have their memory by the page."""

import numpy as np

from adstack.conformance.case import Run, case

CELLS, WITHIN = 1 << 11, 1 << 12
AT = [0, 5, 4095, 4096, 70_000, 1_000_003, CELLS * WITHIN - 1]


@case(rules=["sparse.gradient", "sparse.host"], dtypes=["f32"], options={"default_fp": "dtype"})
def few_of_many_elements(qd, dtype):
    """What is inactive is 0, whoever had the memory before, and after everything was active and was deactivated."""
    x, at = qd.field(dtype), qd.field(qd.i32, len(AT))
    loss = qd.field(dtype, (), needs_grad=True)
    blocks = qd.root.pointer(qd.i, CELLS)
    blocks.dense(qd.i, WITHIN).place(x, x.grad)

    @qd.kernel
    def write(s: dtype):
        for k in at:
            x[at[k]] = s * (k + 1)

    @qd.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    def check(array, values):
        contents = array.to_numpy()
        assert contents[AT].tolist() == values
        assert np.count_nonzero(contents) == len(AT)

    def program():
        for turn in (1, 2, 3):
            write(turn)
            with qd.ad.Tape(loss):
                total()
            values = [float(turn * (k + 1)) for k in range(len(AT))]
            check(x, values)
            check(x.grad, [2 * v for v in values])
            assert loss[None] == sum(v * v for v in values)
            x.fill(2.0)
            assert np.count_nonzero(x.to_numpy()) == len({i // WITHIN for i in AT}) * WITHIN
            blocks.deactivate_all()
            assert not x.to_numpy().any()
            assert not x.grad.to_numpy().any()
            assert not qd.is_active(blocks, 0)

    return Run(program, given={at: AT})
