"""`+=` on a place is atomic: no addend is lost, whatever the order."""

from adstack.conformance.case import Run, Total, case


@case(rules=["memory.atomic"])
def sum_over_a_parallel_loop(qd):
    x, total = qd.field(qd.f32, shape=1000), qd.field(qd.f32, shape=())

    @qd.kernel
    def k():
        for i in x:
            total[None] += x[i]

    terms = [0.1 + i / 7 for i in range(1000)]
    return Run(k, given={x: terms}, expect={total: Total(terms)})
