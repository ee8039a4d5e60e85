"""What is constant to every mode of differentiation alike."""

from adstack.conformance.case import Run, case
from adstack.conformance.gradients import real

TYPES = ["f32", "f64"]
MODES = ["reverse", "forward", "jacobian"]


def writers(qd, dtype, x, y):
    """Kernels that write y: the same bits again, a sum, and what stays where x is small."""

    @qd.kernel
    def same():
        for i in range(2, 4):
            y[i] = y[i]

    @qd.kernel
    def add(s: dtype):
        for i in range(2, 4):
            y[i] += s

    @qd.kernel
    def clamp():
        for i in y:
            if x[i] > 1.0:
                y[i] = qd.max(y[i], 0.0)

    return {"same": same, "sum": lambda: add(0.0), "branch": clamp}


@case(
    rules=["grad.constant", "grad.forward"],
    params={"how": ["kernel", "again", "same", "sum", "branch", "host", "copy"], "mode": MODES},
    dtypes=TYPES,
)
def what_is_under_no_grad_is_constant_in_every_mode(qd, dtype, how, mode):
    """What such a function writes, also the bits that were there, has no tangent; all else keeps its own."""
    x, y, out = real(qd, dtype, 4), real(qd, dtype, 4), real(qd, dtype, ())
    others = writers(qd, dtype, x, y)

    @qd.kernel
    def squares(first: qd.i32, end: qd.i32):
        for i in range(first, end):
            y[i] = x[i] * x[i]

    @qd.kernel
    def total():
        for i in y:
            out[None] += y[i] * x[i]

    @qd.ad.no_grad
    def constant():
        if how == "host":
            y[2] = 6.0
        elif how == "copy":
            y.copy_from(x)
        else:
            others.get(how, lambda: squares(2, 4))()

    def program():
        squares(0, 3 if how in ("kernel", "host", "copy") else 4)
        constant()
        total()

    xs = [0.5, -1.0, 3.0, 2.0]
    ys = {"host": [0.25, 1.0, 6.0, 0.0], "copy": xs}.get(how, [0.25, 1.0, 9.0, 4.0])
    kept = {"copy": 0}.get(how, 2)
    gradient = [3 * a * a if i < kept else b for i, (a, b) in enumerate(zip(xs, ys, strict=True))]
    given = {x: xs, y: 0.0, out: 0.0}
    if mode == "reverse":

        def run():
            with qd.ad.Tape(out):
                program()

        return Run(run, given=given, expect=[(x.grad, gradient)])

    def along():
        with qd.ad.FwdMode(loss=out, param=x, seed=[1.0, 10.0, 100.0, 1000.0]):
            program()

    def columns():
        out.dual[None] = qd.ad.jacobian(program, out, x).dot([1.0, 10.0, 100.0, 1000.0])

    expect = sum(a * 10**i for i, a in enumerate(gradient))
    return Run(columns if mode == "jacobian" else along, given=given, expect=[(out.dual, expect)])
