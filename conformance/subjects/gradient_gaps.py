"""Gradients that peers get wrong or refuse, as far as they were run with adstacks: see conformance/results/peers."""

from __future__ import annotations

from typing import Final

from ..harness.cells import Gap

__all__ = ["GRADIENT_GAPS"]

_BOTH: Final = (
    Gap(
        "gradients/material-points-in-two-dimensions:f*,1",
        "reads what later steps left in memory: 18.3 where 3.12 is right",
        "reverse",
    ),
    Gap(
        "gradients/material-points-in-two-dimensions:f*,1",
        "forward mode takes no field of vectors as parameter",
        "forward-mode",
    ),
    Gap(
        "gradients/material-points-in-two-dimensions:f*,1",
        "forward mode takes no field of vectors as parameter",
        "dot-product",
    ),
    Gap(
        "gradients/material-points-in-two-dimensions:f*,3",
        "reads what later steps left in memory: 131 where 3.11 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-history-that-is-overwritten-is-right-on-a-tape:f*,computed",
        "reads the overwritten value: 0.36 where 1.73 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-history-that-is-overwritten-is-right-on-a-tape:f*,computed",
        "reads the overwritten value: -44.8 where -0.262 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/a-history-that-is-overwritten-is-refused:sweeps",
        "is not refused for what is overwritten",
        "reverse",
    ),
    Gap(
        "gradients/a-history-that-is-overwritten-is-refused:triangle",
        "is not refused for what is overwritten",
        "reverse",
    ),
    Gap(
        "gradients/a-history-that-is-overwritten-is-refused:computed",
        "is not refused for what is overwritten",
        "reverse",
    ),
    Gap(
        "gradients/a-history-that-is-overwritten-is-refused:carried",
        "is not refused for what is overwritten",
        "reverse",
    ),
    Gap(
        "gradients/serial-statements-between-parallel-loops:f*",
        "reverse mode takes no statements beside loops",
        "reverse",
    ),
    Gap(
        "gradients/serial-statements-between-parallel-loops:f*",
        "a store adds to the dual of what it overwrites: -9.08 where -1.74 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/a-loss-that-is-transformed-in-place:f*",
        "reads the overwritten value: 1.11 where 1.45 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-loss-that-is-transformed-in-place:f*",
        "reads the overwritten value: -0.218 where 0.482 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/nothing-leaks-out-of-the-side-not-taken:f*,select",
        "a NaN leaks out of the side not taken: nan where 12 is right",
        "reverse",
    ),
    Gap(
        "gradients/nothing-leaks-out-of-the-side-not-taken:f*,max",
        "a NaN leaks out of the side not taken: nan where 12 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-root-formed-outside-the-branch-that-uses-it:f*,if",
        "a NaN leaks out of the branch not taken: nan where 12 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-root-formed-outside-the-branch-that-uses-it:f*,late-if",
        "a NaN leaks out of the branch not taken: nan where 12 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-root-formed-outside-the-branch-that-uses-it:f*,else",
        "a NaN leaks out of the branch not taken: nan where 12 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-root-formed-outside-the-branch-that-uses-it:f*,nested",
        "a NaN leaks out of the branch not taken: nan where 12 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-root-in-an-element-that-is-overwritten:f*",
        "the derivative of an overwritten element leaks: nan where 12 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-root-in-an-element-that-is-overwritten:f*",
        "the derivative of an overwritten element leaks: 0 where -8 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/an-atomic-extreme-gives-to-the-winner:f*,max",
        "all values get the adjoint, not the winner alone: -5 where 0 is right",
        "reverse",
    ),
    Gap(
        "gradients/an-atomic-extreme-gives-to-the-winner:f*,max",
        "all values get the adjoint, not the winner alone: 2.5 where 0 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/an-atomic-extreme-gives-to-the-winner:f*,min",
        "all values get the adjoint, not the winner alone: -5 where 0 is right",
        "reverse",
    ),
    Gap(
        "gradients/an-atomic-extreme-gives-to-the-winner:f*,min",
        "all values get the adjoint, not the winner alone: 2.5 where 0 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/a-value-lost-for-good-is-refused:square",
        "gives a gradient from the overwritten value, and tells nobody",
        "reverse",
    ),
    Gap(
        "gradients/a-value-lost-for-good-is-refused:loop",
        "gives a gradient from the overwritten value, and tells nobody",
        "reverse",
    ),
    Gap(
        "gradients/a-value-lost-for-good-is-refused:augmented",
        "gives a gradient from the overwritten value, and tells nobody",
        "reverse",
    ),
    Gap(
        "gradients/a-value-lost-is-recovered-by-a-tape:f*,square",
        "reads the overwritten value: 4.5 where 3 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-value-lost-is-recovered-by-a-tape:f*,square",
        "reads the overwritten value: 5.19 where 6.94 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/a-value-lost-is-recovered-by-a-tape:f*,loop",
        "reads the overwritten value: 1.35e+05 where 137 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-value-lost-is-recovered-by-a-tape:f*,loop",
        "reads the overwritten value: 127 where 69.5 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/a-value-lost-is-recovered-by-a-tape:f*,augmented",
        "reads the overwritten value: 4.5 where 3 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-value-lost-is-recovered-by-a-tape:f*,augmented",
        "reads the overwritten value: 5.19 where 6.94 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/random-numbers-that-would-have-to-be-drawn-again-are-refused",
        "random numbers are not differentiated, not even by where they are constant",
        "reverse",
    ),
    Gap(
        "gradients/nothing-to-differentiate-is-an-error:no-storage",
        "no error where nothing has a gradient",
        "reverse",
    ),
    Gap(
        "gradients/what-an-atomic-loses-is-refused-or-right:product",
        "is not refused for what is overwritten",
        "reverse",
    ),
    Gap(
        "gradients/at-the-edge-of-the-domain:f*,sqrt",
        "edges are what the formula makes of them: -inf where inf is right",
        "reverse",
    ),
    Gap(
        "gradients/at-the-edge-of-the-domain:f*,sqrt",
        "edges are what the formula makes of them: -inf where inf is right",
        "forward-mode",
    ),
    Gap(
        "gradients/at-the-edge-of-the-domain:f*,log",
        "edges are what the formula makes of them: -2 where nan is right",
        "reverse",
    ),
    Gap(
        "gradients/at-the-edge-of-the-domain:f*,log",
        "edges are what the formula makes of them: -2 where nan is right",
        "forward-mode",
    ),
    Gap(
        "gradients/at-the-edge-of-the-domain-of-the-library:f*,log2",
        "edges are what the formula makes of them: -2.89 where nan is right",
        "reverse",
    ),
)

_QUADRANTS: Final = (
    Gap(
        "gradients/material-points-in-two-dimensions:f*,3",
        "forward mode takes no field of vectors as parameter",
        "forward-mode",
    ),
    Gap(
        "gradients/material-points-in-two-dimensions:f*,3",
        "forward mode takes no field of vectors as parameter",
        "dot-product",
    ),
    Gap(
        "gradients/a-smoothed-fluid:f*,1",
        "reads what later steps left in memory: 11.2 where 10.2 is right",
        "reverse",
    ),
    Gap("gradients/a-smoothed-fluid:f*,1", "forward mode takes no field of vectors as parameter", "forward-mode"),
    Gap("gradients/a-smoothed-fluid:f*,1", "forward mode takes no field of vectors as parameter", "dot-product"),
    Gap(
        "gradients/a-smoothed-fluid:f*,3",
        "reads what later steps left in memory: 13.3 where 13.8 is right",
        "reverse",
    ),
    Gap("gradients/a-smoothed-fluid:f*,3", "forward mode takes no field of vectors as parameter", "forward-mode"),
    Gap("gradients/a-smoothed-fluid:f*,3", "forward mode takes no field of vectors as parameter", "dot-product"),
    Gap(
        "gradients/bodies-in-contact:f*,1",
        "reads what later steps left in memory: 0.0144 where 0.48 is right",
        "reverse",
    ),
    Gap("gradients/bodies-in-contact:f*,1", "forward mode fails on local vectors", "forward-mode"),
    Gap("gradients/bodies-in-contact:f*,1", "forward mode fails on local vectors", "dot-product"),
    Gap("gradients/bodies-in-contact:f*,4", "reads what later steps left in memory: 0 where 4.92 is right", "reverse"),
    Gap("gradients/bodies-in-contact:f*,4", "forward mode fails on local vectors", "forward-mode"),
    Gap("gradients/bodies-in-contact:f*,4", "forward mode fails on local vectors", "dot-product"),
    Gap("gradients/bodies-in-contact:f*,12", "reads what later steps left in memory: 0 where 16.2 is right", "reverse"),
    Gap("gradients/bodies-in-contact:f*,12", "forward mode fails on local vectors", "forward-mode"),
    Gap("gradients/bodies-in-contact:f*,12", "forward mode fails on local vectors", "dot-product"),
    Gap("gradients/products-on-a-tape:f*,shared", "reverse mode takes no statements beside loops", "reverse"),
    Gap(
        "gradients/products-on-a-tape:f*,shared",
        "every factor gets the adjoint as it is: -0.75 where 16.4 is right",
        "forward-mode",
    ),
    Gap("gradients/products-on-a-tape:f*,own", "the process dies", "forward"),
    Gap("gradients/products-on-a-tape:f*,own", "the process dies", "reverse"),
    Gap("gradients/products-on-a-tape:f*,own", "the process dies", "forward-mode"),
    Gap("gradients/duals-of-array-arguments:f*", "there is no such option", "forward"),
    Gap(
        "gradients/a-parameter-that-is-changed-in-place:f*",
        "the dual of the parameter is cleared although it is a loss: 0 where 64 is right",
        "forward",
    ),
    Gap(
        "gradients/a-local-of-the-kernel-that-a-later-loop-adds-to:f*",
        "reverse mode takes no statements beside loops",
        "reverse",
    ),
    Gap(
        "gradients/at-the-edge-of-the-domain-in-a-loop:f*,sqrt",
        "edges are what the formula makes of them: -inf where inf is right",
        "reverse",
    ),
    Gap(
        "gradients/at-the-edge-of-the-domain-in-a-loop:f*,sqrt",
        "edges are what the formula makes of them: -inf where inf is right",
        "forward-mode",
    ),
    Gap(
        "gradients/at-the-edge-of-the-domain-in-a-loop:f*,log",
        "edges are what the formula makes of them: -12 where nan is right",
        "reverse",
    ),
    Gap(
        "gradients/at-the-edge-of-the-domain-in-a-loop:f*,log",
        "edges are what the formula makes of them: -12 where nan is right",
        "forward-mode",
    ),
    Gap("gradients/an-operator-of-the-library-in-a-loop:f*,fma", "there is no such function", "forward"),
    Gap("gradients/an-operator-of-the-library-in-a-loop:f*,fma", "there is no such function", "reverse"),
    Gap("gradients/an-operator-of-the-library-in-a-loop:f*,fma", "there is no such function", "forward-mode"),
    Gap("gradients/an-operator-of-the-library-in-a-loop:f*,hypot", "there is no such function", "forward"),
    Gap("gradients/an-operator-of-the-library-in-a-loop:f*,hypot", "there is no such function", "reverse"),
    Gap("gradients/an-operator-of-the-library-in-a-loop:f*,hypot", "there is no such function", "forward-mode"),
    Gap(
        "gradients/a-history-that-is-overwritten-is-right-on-a-tape:f*,sweeps",
        "reads the overwritten value: 4.6 where 4.62 is right",
        "reverse",
    ),
    Gap(
        "gradients/a-history-that-is-overwritten-is-right-on-a-tape:f*,sweeps",
        "reads the overwritten value: -405 where 1.71 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/a-history-that-is-overwritten-is-refused:again",
        "is not refused for what is overwritten",
        "reverse",
    ),
    Gap(
        "gradients/a-matrix-power-by-repeated-products:f*,0",
        "forward mode takes no parameter of two axes",
        "forward-mode",
    ),
    Gap(
        "gradients/a-matrix-power-by-repeated-products:f*,1",
        "forward mode takes no parameter of two axes",
        "forward-mode",
    ),
    Gap("gradients/a-matrix-power-by-repeated-products:f*,3", "wrong: -1.08 where -0.58 is right", "reverse"),
    Gap(
        "gradients/a-matrix-power-by-repeated-products:f*,3",
        "forward mode takes no parameter of two axes",
        "forward-mode",
    ),
    Gap("gradients/cross-products-in-a-loop:f*", "wrong: -1.26 where 1.72 is right", "reverse"),
    Gap("gradients/cross-products-in-a-loop:f*", "forward mode fails on local vectors", "forward-mode"),
    Gap(
        "gradients/relaxation-in-place:f*,1",
        "reads what later steps left in memory: 2.54 where 2.58 is right",
        "reverse",
    ),
    Gap(
        "gradients/relaxation-in-place:f*,1",
        "reads what later steps left in memory: -34.3 where -15 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/relaxation-in-place:f*,3",
        "reads what later steps left in memory: 3.12 where 3.39 is right",
        "reverse",
    ),
    Gap(
        "gradients/relaxation-in-place:f*,3",
        "reads what later steps left in memory: -105 where -15.1 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/two-stores-to-one-element:f*",
        "a store adds to the dual of what it overwrites: 20 where -12 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/the-old-value-of-an-addition-carries-a-gradient:f*",
        "the old value that an atomic addition gives carries no adjoint: -0.5 where 2 is right",
        "reverse",
    ),
    Gap("gradients/what-an-atomic-loses-is-refused-or-right:exchange", "the process dies", "reverse"),
)

_TAICHI: Final = (
    Gap("gradients/the-old-value-of-an-addition-carries-a-gradient:f*", "the compiler breaks its own code", "reverse"),
    Gap("gradients/what-an-atomic-loses-is-refused-or-right:exchange", "the compiler breaks its own code", "reverse"),
    Gap(
        "gradients/at-the-edge-of-the-domain-of-the-library:f*,log2",
        "edges are what the formula makes of them: -2.89 where nan is right",
        "forward-mode",
    ),
    Gap(
        "gradients/the-right-operand-of-a-tie-gets-all:f*,max",
        "the other operand of a NaN gets nothing: 0 where -3 is right",
        "reverse",
    ),
    Gap(
        "gradients/the-right-operand-of-a-tie-gets-all:f*,max",
        "the other operand of a NaN gets nothing: 0 where 7 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/the-right-operand-of-a-tie-gets-all:f*,min",
        "the other operand of a NaN gets nothing: 0 where -3 is right",
        "reverse",
    ),
    Gap(
        "gradients/the-right-operand-of-a-tie-gets-all:f*,min",
        "the other operand of a NaN gets nothing: 0 where 7 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/powers-at-their-edges:f*,zero-exponent",
        "0 times a logarithm of 0 is formed: nan where 0 is right",
        "reverse",
    ),
    Gap(
        "gradients/powers-at-their-edges:f*,zero-exponent",
        "0 times a logarithm of 0 is formed: nan where -inf is right",
        "forward-mode",
    ),
    Gap(
        "gradients/powers-at-their-edges:f*,zero-to-one",
        "0 times a logarithm of 0 is formed: nan where 0 is right",
        "reverse",
    ),
    Gap(
        "gradients/powers-at-their-edges:f*,zero-to-one",
        "0 times a logarithm of 0 is formed: nan where 0 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/powers-at-their-edges:f*,zero-to-two",
        "0 times a logarithm of 0 is formed: nan where 0 is right",
        "reverse",
    ),
    Gap(
        "gradients/powers-at-their-edges:f*,zero-to-two",
        "0 times a logarithm of 0 is formed: nan where 0 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/powers-at-their-edges:f*,zero-to-half",
        "0 times a logarithm of 0 is formed: nan where 0 is right",
        "reverse",
    ),
    Gap(
        "gradients/powers-at-their-edges:f*,zero-to-half",
        "0 times a logarithm of 0 is formed: nan where 0 is right",
        "forward-mode",
    ),
    Gap(
        "gradients/masses-and-springs:f*,1",
        "reads what later steps left in memory: 0.0305 where 0.0724 is right",
        "reverse",
    ),
)

GRADIENT_GAPS: Final[dict[str, tuple[Gap, ...]]] = {"quadrants": _BOTH + _QUADRANTS, "taichi": _BOTH + _TAICHI}
"""By peer."""
