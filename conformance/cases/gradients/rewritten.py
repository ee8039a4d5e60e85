"""Memory that is written more than once between a launch and its gradient: an element first, then all of them."""

from adstack.conformance.case import Raises, Run, case


@case(
    rules=["grad.overwritten"],
    params={"first": [[1], [1, 3], [3, 0, 1]], "then": ["kernel", "fill", "none"]},
    dtypes=["f64"],
    options={"default_fp": "dtype"},
)
def an_element_and_then_all_of_them(qd, dtype, first, then):
    """Where one write has all elements kept, a later one of others is no less a change of these."""
    x, y = (qd.field(dtype, shape=4, needs_grad=True) for _ in range(2))

    @qd.kernel
    def k():
        for _ in range(1):
            y[0] = x[2] * x[2]

    @qd.kernel
    def all_of_them():
        for i in x:
            x[i] = 5.0

    def program():
        for _ in range(3):
            x.fill(2.0)
            k()
            for at in first:
                x[at] = 7.0
            if then == "kernel":
                all_of_them()
            elif then == "fill":
                x.fill(5.0)
            x.grad.fill(0.0)
            y.grad.fill(1.0)
            k.grad()
            assert x.grad.to_numpy().tolist() == [0.0, 0.0, 4.0, 0.0]

    return Run(program, raises=None if then == "none" else Raises("DataAccessError", "[2] as the launch found it, 2.0"))
