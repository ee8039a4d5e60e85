"""Differentiable programs of many small launches, at reduced size: two iterations of each optimisation."""

from adstack.conformance.case import ORACLE, Gradient, Run, case
from adstack.conformance.harness.programs import NAMES, make


@case(
    rules=["grad.meaning", "grad.atomic", "grad.loop"],
    modes=("forward", "reverse"),
    params={"program": NAMES},
    bounded=True,
)
def a_differentiable_program(qd, program):
    """The loss and its gradient by every input, before and after an update of the inputs, are the tape oracle's."""
    made = make(program, qd, "reduced")
    wanted = Gradient(expect=dict.fromkeys(made.inputs.values(), ORACLE), loss=made.loss, by=made.differentiate)
    iteration = Run(made.forward, given={made.loss: 0}, expect={made.loss: ORACLE}, gradient=wanted)
    return [iteration, Run(made.update), iteration]
