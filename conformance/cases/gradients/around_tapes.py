"""What stands around the launches of a Tape: gradients outside of it."""

from adstack.conformance.case import Raises, Run, case
from adstack.conformance.gradients import real

PLAIN = {"dtypes": ["f64"], "options": {"default_fp": "dtype"}}
X = [0.5, 1.0, -0.25, 2.0]


@case(rules=["grad.kept"], params={"before": [0, 4], "after": [0, 1, 4], "launched": [False, True]}, **PLAIN)
def a_gradient_outside_once_memory_has_changed(qd, dtype, before, after, launched):
    """The Tape's launch is the last one: how often its gradient was asked for before makes no difference."""
    x, y = real(qd, dtype, 4), real(qd, dtype, ())

    @qd.kernel
    def k():
        for i in x:
            y[None] += x[i] * x[i]

    def gradient(values):
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        k.grad()
        assert x.grad.to_numpy().tolist() == [2 * v for v in values]

    def program():
        for _ in range(before):
            k()
            gradient(X)
        with qd.ad.Tape(y):
            k()
        for _ in range(after):
            gradient(X)
        x.fill(9.0)
        if launched:
            k()
        gradient([9.0] * 4)

    unkept = Raises("DataAccessError", "its last launch has overwritten, or others since")
    return Run(program, given={x: X}, raises=None if launched else unkept)
