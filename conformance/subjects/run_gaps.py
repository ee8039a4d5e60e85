"""What peers did not pass in a run of all gradients, beside what other lists explain.

Written by `python -m adstack.conformance.subjects.record`; see conformance/results/peers.
"""

from __future__ import annotations

from typing import Final

__all__ = ["RUN_GAPS"]

RUN_GAPS: Final[dict[str, dict[str, dict[str, str]]]] = {
    "quadrants": {
        "dot-product": {
            "forward mode takes no parameter of two axes": """
        a-component-that-the-index-picks* a-matrix-times-a-vector* a-vector-that-turns*
            """,
            "the compiler fails on local vectors": """
        a-branch-on-the-carried-value:f*,grouped-2 a-pendulum:f*,grouped-0
        an-inner-loop-as-long-as-the-index-says:f*,grouped-0 an-inner-loop-with-continue-and-break:f*,grouped-2
        an-inner-while:f*,grouped-1 and-or-over-the-carried-value:f*,grouped-17 exponentials-and-angles:f*,grouped-2
        extremes-and-magnitudes:f*,grouped-200 gathered-with-the-index:f*,grouped-17
        gathered-with-the-value:f*,grouped-0 growth:f*,grouped-200 quotients-and-roots:f*,grouped-1
        the-index-enters:f*,grouped-1
            """,
            "there is no derivative of a statement": """
        a-branch-on-the-carried-value:f*,break-1 a-branch-on-the-carried-value:f*,while-0 a-pendulum:f*,break-17
        a-pendulum:f*,while-2 an-inner-loop-as-long-as-the-index-says:f*,break-17
        an-inner-loop-as-long-as-the-index-says:f*,while-2 an-inner-loop-with-continue-and-break:f*,break-200
        an-inner-loop-with-continue-and-break:f*,field-1 an-inner-loop-with-continue-and-break:f*,func-17
        an-inner-loop-with-continue-and-break:f*,range-0 an-inner-loop-with-continue-and-break:f*,serial-2
        an-inner-loop-with-continue-and-break:f*,static-17 an-inner-loop-with-continue-and-break:f*,while-0
        an-inner-while:f*,break-0 an-inner-while:f*,field-0 an-inner-while:f*,func-2 an-inner-while:f*,range-200
        an-inner-while:f*,serial-1 an-inner-while:f*,static-2 an-inner-while:f*,while-17
        and-or-over-the-carried-value:f*,break-2 and-or-over-the-carried-value:f*,while-1
        exponentials-and-angles:f*,break-200 exponentials-and-angles:f*,while-0 extremes-and-magnitudes:f*,break-2
        extremes-and-magnitudes:f*,while-1 gathered-with-the-index:f*,break-2 gathered-with-the-index:f*,while-1
        gathered-with-the-value:f*,break-17 gathered-with-the-value:f*,while-2 growth:f*,break-2 growth:f*,while-1
        quotients-and-roots:f*,break-0 quotients-and-roots:f*,while-17 the-index-enters:f*,break-0
        the-index-enters:f*,while-200
            """,
        },
        "forward": {
            "random numbers are not differentiated, not even by where they are constant": """
        random-numbers-that-were-stored*
            """,
            "reverse mode takes no statements beside loops": """
        nothing-is-refused-under-a-tape*
            """,
            "there is no such function": """
        a-field-whose-gradient-is-stopped* a-function-of-the-library-in-a-loop:f*,atan
        a-function-of-the-library-in-a-loop:f*,cbrt a-function-of-the-library-in-a-loop:f*,cosh
        a-function-of-the-library-in-a-loop:f*,exp2 a-function-of-the-library-in-a-loop:f*,expm1
        a-function-of-the-library-in-a-loop:f*,log10 a-function-of-the-library-in-a-loop:f*,log1p
        a-function-of-the-library-in-a-loop:f*,sinh at-the-edge-of-the-domain-of-the-library:f*,cbrt
        at-the-edge-of-the-domain-of-the-library:f*,log10 at-the-edge-of-the-domain-of-the-library:f*,log1p
            """,
            "there is no such option": """
        a-maximum-that-starts-anew* launches-are-taken-back-last-first* squares-in-place*
        trip-counts-that-the-kernel-runs-down* what-changed-is-put-back*
            """,
            "wrong": """
        a-bound-that-changed:f*,element a-bound-that-changed:f*,fill a-bound-that-changed:f*,kernel
        a-bound-that-changed-in-debug-mode* a-store-replaces-the-dual* an-element-that-changed*
        an-input-that-is-certainly-another-one* memory-is-as-the-launches-left-it-after-a-tape*
        steps-have-no-gradient:f*,floordiv validation-names-what-was-read-and-overwritten*
        what-the-host-writes-inside-a-tape-counts*
            """,
        },
        "forward-mode": {
            "forward mode takes no parameter of two axes": """
        a-component-that-the-index-picks* a-determinant-by-elimination* a-loop-over-a-field-of-two-axes*
        a-matrix-times-a-vector* a-net-of-three-layers* a-running-maximum-in-a-loop* a-sort-by-exchanges*
        a-step-of-smoothed-particles* a-vector-rebuilt-from-its-own-components* a-vector-that-turns*
        inverses-and-determinants* several-carried-values* the-value-before-last* values-that-change-places*
            """,
            "random numbers are not differentiated, not even by where they are constant": """
        random-numbers-are-constants*
            """,
            "refused: AssertionError": """
        fields-of-vectors-and-matrices*
            """,
            "the compiler fails on local vectors": """
        a-branch-on-the-carried-value:f*,grouped-2 a-carried-vector-with-subscripts*
        a-function-with-two-ends:f*,grouped-2 a-pendulum:f*,grouped-0
        an-inner-loop-as-long-as-the-index-says:f*,grouped-0 an-inner-loop-with-continue-and-break:f*,grouped-2
        an-inner-while:f*,grouped-1 and-or-over-the-carried-value:f*,grouped-17 choices-without-branches:f*,grouped-1
        exponentials-and-angles:f*,grouped-2 extremes-and-magnitudes:f*,grouped-200
        extremes-and-sums-of-a-carried-vector* gathered-with-the-index:f*,grouped-17
        gathered-with-the-value:f*,grouped-0 growth:f*,grouped-200 lengths-and-angles-at-the-origin:f*,norm
        lengths-and-angles-at-the-origin:f*,norm-eps local-arrays-with-runtime-indices*
        loops-of-two-kinds-inside-each-other:f*,grouped-1 particles-and-a-grid* quotients-and-roots:f*,grouped-1
        structs-with-members-of-both-kinds* the-index-enters:f*,grouped-1 two-loops-in-the-body:f*,grouped-200
            """,
            "there is no derivative of a statement": """
        a-branch-on-the-carried-value:f*,break-1 a-branch-on-the-carried-value:f*,while-0 a-condition-that-computes*
        a-function-with-two-ends:f*,break-200 a-function-with-two-ends:f*,while-0 a-pendulum:f*,break-17
        a-pendulum:f*,while-2 a-root-in-a-loop-that-only-some-iterations-use:f*,break
        a-root-in-a-loop-that-only-some-iterations-use:f*,while a-while-in-a-while*
        an-inner-loop-as-long-as-the-index-says:f*,break-17 an-inner-loop-as-long-as-the-index-says:f*,while-2
        an-inner-loop-with-continue-and-break:f*,break-200 an-inner-loop-with-continue-and-break:f*,field-1
        an-inner-loop-with-continue-and-break:f*,func-17 an-inner-loop-with-continue-and-break:f*,range-0
        an-inner-loop-with-continue-and-break:f*,serial-2 an-inner-loop-with-continue-and-break:f*,static-17
        an-inner-loop-with-continue-and-break:f*,while-0 an-inner-while:f*,break-0 an-inner-while:f*,field-0
        an-inner-while:f*,func-2 an-inner-while:f*,range-200 an-inner-while:f*,serial-1 an-inner-while:f*,static-2
        an-inner-while:f*,while-17 and-or-over-the-carried-value:f*,break-2 and-or-over-the-carried-value:f*,while-1
        break-out-of-one-of-two-loops* choices-without-branches:f*,break-0 choices-without-branches:f*,while-17
        exponentials-and-angles:f*,break-200 exponentials-and-angles:f*,while-0 extremes-and-magnitudes:f*,break-2
        extremes-and-magnitudes:f*,while-1 functions-made-of-others:f*,fract gathered-with-the-index:f*,break-2
        gathered-with-the-index:f*,while-1 gathered-with-the-value:f*,break-17 gathered-with-the-value:f*,while-2
        growth:f*,break-2 growth:f*,while-1 iterations-of-the-parallel-loop-that-end-early*
        loops-of-two-kinds-inside-each-other:f*,break-0 loops-of-two-kinds-inside-each-other:f*,field-0
        loops-of-two-kinds-inside-each-other:f*,func-2 loops-of-two-kinds-inside-each-other:f*,range-17
        loops-of-two-kinds-inside-each-other:f*,serial-1 loops-of-two-kinds-inside-each-other:f*,static-2
        loops-of-two-kinds-inside-each-other:f*,while-200 newton-iterations-for-a-root* quotients-and-roots:f*,break-0
        quotients-and-roots:f*,while-17 steps-have-no-gradient:f*,ceil steps-have-no-gradient:f*,floor
        steps-have-no-gradient:f*,round the-index-enters:f*,break-0 the-index-enters:f*,while-200
        the-same-loop-in-every-form:f*,while two-loops-in-the-body:f*,break-2 two-loops-in-the-body:f*,while-1
        while-over-integers-that-steer-floats* while-true-with-several-breaks-and-continues*
        while-until-a-value-is-small*
            """,
            "there is no such function": """
        a-field-whose-gradient-is-stopped* a-function-of-the-library-in-a-loop:f*,atan
        a-function-of-the-library-in-a-loop:f*,cbrt a-function-of-the-library-in-a-loop:f*,cosh
        a-function-of-the-library-in-a-loop:f*,exp2 a-function-of-the-library-in-a-loop:f*,expm1
        a-function-of-the-library-in-a-loop:f*,log10 a-function-of-the-library-in-a-loop:f*,log1p
        a-function-of-the-library-in-a-loop:f*,sinh at-the-edge-of-the-domain-of-the-library:f*,cbrt
        at-the-edge-of-the-domain-of-the-library:f*,log10 at-the-edge-of-the-domain-of-the-library:f*,log1p
            """,
            "wrong gradient": """
        a-ball-that-bounces:f*,12 at-the-edge-of-the-domain-of-the-library:f*,log2 masses-and-springs:f*,10
        masses-and-springs:f*,2 powers-at-their-edges:f*,zero-exponent powers-at-their-edges:f*,zero-to-half
        powers-at-their-edges:f*,zero-to-one powers-at-their-edges:f*,zero-to-two the-right-operand-of-a-tie-gets-all*
        time-steps-in-place:f*,2 time-steps-in-place:f*,8
            """,
        },
        "reverse": {
            "random numbers are not differentiated, not even by where they are constant": """
        random-numbers-are-constants*
            """,
            "reverse mode takes no statements beside loops": """
        a-sum-into-a-local-of-the-kernel* sums-of-several-tasks-that-use-each-other*
        values-of-the-kernel-between-parallel-loops*
            """,
            "there is no derivative of a statement": """
        a-branch-on-the-carried-value:f*,break-1 a-branch-on-the-carried-value:f*,while-0
        a-component-that-the-index-picks:f*,break-1 a-component-that-the-index-picks:f*,while-0
        a-condition-that-computes* a-function-with-two-ends:f*,break-200 a-function-with-two-ends:f*,while-0
        a-matrix-times-a-vector:f*,break-0 a-matrix-times-a-vector:f*,while-200 a-pendulum:f*,break-17
        a-pendulum:f*,while-2 a-root-in-a-loop-that-only-some-iterations-use:f*,break
        a-root-in-a-loop-that-only-some-iterations-use:f*,while a-vector-that-turns:f*,break-17
        a-vector-that-turns:f*,while-2 a-while-in-a-while* an-inner-loop-as-long-as-the-index-says:f*,break-17
        an-inner-loop-as-long-as-the-index-says:f*,while-2 an-inner-loop-with-continue-and-break* an-inner-while*
        and-or-over-the-carried-value:f*,break-2 and-or-over-the-carried-value:f*,while-1
        break-out-of-one-of-two-loops* choices-without-branches:f*,break-0 choices-without-branches:f*,while-17
        exponentials-and-angles:f*,break-200 exponentials-and-angles:f*,while-0 extremes-and-magnitudes:f*,break-2
        extremes-and-magnitudes:f*,while-1 gathered-with-the-index:f*,break-2 gathered-with-the-index:f*,while-1
        gathered-with-the-value:f*,break-17 gathered-with-the-value:f*,while-2 growth:f*,break-2 growth:f*,while-1
        iterations-of-the-parallel-loop-that-end-early* loops-of-two-kinds-inside-each-other*
        newton-iterations-for-a-root* quotients-and-roots:f*,break-0 quotients-and-roots:f*,while-17
        steps-have-no-gradient:f*,round the-index-enters:f*,break-0 the-index-enters:f*,while-200
        the-same-loop-in-every-form:f*,while the-value-before-last:f*,break-1 the-value-before-last:f*,while-0
        two-loops-in-the-body:f*,break-2 two-loops-in-the-body:f*,while-1 values-that-change-places:f*,break-17
        values-that-change-places:f*,while-2 while-over-integers-that-steer-floats*
        while-true-with-several-breaks-and-continues* while-until-a-value-is-small*
            """,
            "there is no such function": """
        a-field-whose-gradient-is-stopped* a-function-of-the-library-in-a-loop:f*,atan
        a-function-of-the-library-in-a-loop:f*,cbrt a-function-of-the-library-in-a-loop:f*,cosh
        a-function-of-the-library-in-a-loop:f*,exp2 a-function-of-the-library-in-a-loop:f*,expm1
        a-function-of-the-library-in-a-loop:f*,log10 a-function-of-the-library-in-a-loop:f*,log1p
        a-function-of-the-library-in-a-loop:f*,sinh at-the-edge-of-the-domain-of-the-library:f*,cbrt
        at-the-edge-of-the-domain-of-the-library:f*,log10 at-the-edge-of-the-domain-of-the-library:f*,log1p
            """,
            "there is no such option": """
        a-maximum-that-starts-anew* squares-in-place* trip-counts-that-the-kernel-runs-down*
            """,
            "wrong gradient": """
        a-ball-that-bounces:f*,12 a-ball-that-bounces:f*,5 a-carried-root-that-nothing-uses*
        a-carried-vector-with-subscripts:f*,dynamic a-component-that-the-index-picks:f*,field-200
        a-component-that-the-index-picks:f*,func-17 a-component-that-the-index-picks:f*,grouped-2
        a-component-that-the-index-picks:f*,serial-2 a-component-that-the-index-picks:f*,static-17
        a-determinant-by-elimination* a-function-with-two-ends:f*,func-17 a-function-with-two-ends:f*,grouped-2
        a-function-with-two-ends:f*,serial-2 a-matrix-times-a-vector:f*,func-2 a-matrix-times-a-vector:f*,range-17
        a-root-in-a-loop-that-only-some-iterations-use:f*,for a-root-in-a-loop-that-only-some-iterations-use:f*,select
        a-sort-by-exchanges* a-vector-that-turns:f*,field-17 a-vector-that-turns:f*,range-200
        local-arrays-with-runtime-indices:f*,5 loop-invariants-inside* masses-and-springs* particles-and-a-grid*
        powers-at-their-edges:f*,zero-exponent powers-at-their-edges:f*,zero-to-half
        powers-at-their-edges:f*,zero-to-one powers-at-their-edges:f*,zero-to-two the-right-operand-of-a-tie-gets-all*
        the-value-before-last:f*,field-200 the-value-before-last:f*,func-17 the-value-before-last:f*,grouped-2
        the-value-before-last:f*,serial-2 time-steps-in-place* two-loops-one-after-the-other:f*,1
        two-loops-one-after-the-other:f*,17 two-loops-one-after-the-other:f*,2
            """,
        },
    },
    "taichi": {
        "dot-product": {
            "forward mode takes no parameter of two axes": """
        a-component-that-the-index-picks* a-matrix-times-a-vector* a-vector-that-turns*
            """,
            "refused: AssertionError": """
        a-smoothed-fluid* material-points-in-two-dimensions:f*,3
            """,
            "the compiler breaks its own code": """
        an-inner-loop-as-long-as-the-index-says:f*,field-17 an-inner-loop-as-long-as-the-index-says:f*,func-200
        an-inner-loop-as-long-as-the-index-says:f*,grouped-0 an-inner-loop-as-long-as-the-index-says:f*,range-2
        an-inner-loop-as-long-as-the-index-says:f*,serial-0
            """,
            "the compiler fails on local vectors": """
        bodies-in-contact*
            """,
            "there is no derivative of a statement": """
        a-branch-on-the-carried-value:f*,break-1 a-branch-on-the-carried-value:f*,while-0 a-pendulum:f*,break-17
        a-pendulum:f*,while-2 an-inner-loop-as-long-as-the-index-says:f*,break-17
        an-inner-loop-as-long-as-the-index-says:f*,while-2 an-inner-loop-with-continue-and-break* an-inner-while*
        and-or-over-the-carried-value:f*,break-2 and-or-over-the-carried-value:f*,while-1
        exponentials-and-angles:f*,break-200 exponentials-and-angles:f*,while-0 extremes-and-magnitudes:f*,break-2
        extremes-and-magnitudes:f*,while-1 gathered-with-the-index:f*,break-2 gathered-with-the-index:f*,while-1
        gathered-with-the-value:f*,break-17 gathered-with-the-value:f*,while-2 growth:f*,break-2 growth:f*,while-1
        quotients-and-roots:f*,break-0 quotients-and-roots:f*,while-17 the-index-enters:f*,break-0
        the-index-enters:f*,while-200
            """,
            "wrong gradient": """
        exponentials-and-angles:f*,func-17 exponentials-and-angles:f*,grouped-2 exponentials-and-angles:f*,serial-2
            """,
        },
        "forward": {
            "random numbers are not differentiated, not even by where they are constant": """
        random-numbers-that-were-stored*
            """,
            "the process dies": """
        products-on-a-tape:f*,own
            """,
            "there is no such function": """
        a-field-whose-gradient-is-stopped* a-function-of-the-library-in-a-loop:f*,atan
        a-function-of-the-library-in-a-loop:f*,cbrt a-function-of-the-library-in-a-loop:f*,cosh
        a-function-of-the-library-in-a-loop:f*,exp2 a-function-of-the-library-in-a-loop:f*,expm1
        a-function-of-the-library-in-a-loop:f*,log10 a-function-of-the-library-in-a-loop:f*,log1p
        a-function-of-the-library-in-a-loop:f*,sinh an-operator-of-the-library-in-a-loop*
        at-the-edge-of-the-domain-of-the-library:f*,cbrt at-the-edge-of-the-domain-of-the-library:f*,log10
        at-the-edge-of-the-domain-of-the-library:f*,log1p
            """,
            "there is no such option": """
        a-maximum-that-starts-anew* arrays-as-arguments* duals-of-array-arguments* launches-are-taken-back-last-first*
        squares-in-place* trip-counts-that-the-kernel-runs-down*
            """,
            "wrong": """
        a-bound-that-changed:f*,element a-bound-that-changed:f*,fill a-bound-that-changed:f*,kernel
        a-bound-that-changed-in-debug-mode* a-parameter-that-is-changed-in-place* a-store-replaces-the-dual*
        memory-is-as-the-launches-left-it-after-a-tape* steps-have-no-gradient:f*,floordiv
        validation-names-what-was-read-and-overwritten* what-the-host-writes-inside-a-tape-counts*
            """,
        },
        "forward-mode": {
            "forward mode takes no parameter of two axes": """
        a-component-that-the-index-picks* a-determinant-by-elimination* a-loop-over-a-field-of-two-axes*
        a-matrix-power-by-repeated-products* a-matrix-times-a-vector* a-net-of-three-layers*
        a-running-maximum-in-a-loop* a-sort-by-exchanges* a-step-of-smoothed-particles*
        a-vector-rebuilt-from-its-own-components* a-vector-that-turns* inverses-and-determinants*
        several-carried-values* the-value-before-last* values-that-change-places*
            """,
            "random numbers are not differentiated, not even by where they are constant": """
        random-numbers-are-constants*
            """,
            "refused: AssertionError": """
        a-smoothed-fluid* fields-of-vectors-and-matrices* material-points-in-two-dimensions:f*,3
            """,
            "the compiler fails on local vectors": """
        a-carried-vector-with-subscripts* bodies-in-contact* cross-products-in-a-loop*
        extremes-and-sums-of-a-carried-vector* lengths-and-angles-at-the-origin:f*,norm
        lengths-and-angles-at-the-origin:f*,norm-eps local-arrays-with-runtime-indices* particles-and-a-grid*
        structs-with-members-of-both-kinds*
            """,
            "the process dies": """
        products-on-a-tape:f*,own
            """,
            "there is no derivative of a statement": """
        a-branch-on-the-carried-value:f*,break-1 a-branch-on-the-carried-value:f*,while-0 a-condition-that-computes*
        a-function-in-a-loop:f*,tan a-function-with-two-ends:f*,break-200 a-function-with-two-ends:f*,while-0
        a-pendulum:f*,break-17 a-pendulum:f*,while-2 a-root-in-a-loop-that-only-some-iterations-use:f*,break
        a-root-in-a-loop-that-only-some-iterations-use:f*,while a-while-in-a-while*
        an-inner-loop-as-long-as-the-index-says:f*,break-17 an-inner-loop-as-long-as-the-index-says:f*,while-2
        an-inner-loop-with-continue-and-break* an-inner-while* and-or-over-the-carried-value:f*,break-2
        and-or-over-the-carried-value:f*,while-1 break-out-of-one-of-two-loops* choices-without-branches:f*,break-0
        choices-without-branches:f*,while-17 exponentials-and-angles:f*,break-200 exponentials-and-angles:f*,while-0
        extremes-and-magnitudes:f*,break-2 extremes-and-magnitudes:f*,while-1 functions-made-of-others:f*,fract
        gathered-with-the-index:f*,break-2 gathered-with-the-index:f*,while-1 gathered-with-the-value:f*,break-17
        gathered-with-the-value:f*,while-2 growth:f*,break-2 growth:f*,while-1
        iterations-of-the-parallel-loop-that-end-early* loops-of-two-kinds-inside-each-other*
        newton-iterations-for-a-root* quotients-and-roots:f*,break-0 quotients-and-roots:f*,while-17
        steps-have-no-gradient:f*,ceil steps-have-no-gradient:f*,floor steps-have-no-gradient:f*,round
        the-index-enters:f*,break-0 the-index-enters:f*,while-200 the-same-loop-in-every-form:f*,while
        two-loops-in-the-body:f*,break-2 two-loops-in-the-body:f*,while-1 while-over-integers-that-steer-floats*
        while-true-with-several-breaks-and-continues* while-until-a-value-is-small*
            """,
            "there is no such function": """
        a-field-whose-gradient-is-stopped* a-function-of-the-library-in-a-loop:f*,atan
        a-function-of-the-library-in-a-loop:f*,cbrt a-function-of-the-library-in-a-loop:f*,cosh
        a-function-of-the-library-in-a-loop:f*,exp2 a-function-of-the-library-in-a-loop:f*,expm1
        a-function-of-the-library-in-a-loop:f*,log10 a-function-of-the-library-in-a-loop:f*,log1p
        a-function-of-the-library-in-a-loop:f*,sinh an-operator-of-the-library-in-a-loop*
        at-the-edge-of-the-domain-of-the-library:f*,cbrt at-the-edge-of-the-domain-of-the-library:f*,log10
        at-the-edge-of-the-domain-of-the-library:f*,log1p
            """,
            "wrong gradient": """
        a-ball-that-bounces:f*,12 a-history-that-is-overwritten-is-right-on-a-tape:f*,sweeps
        at-the-edge-of-the-domain-in-a-loop:f*,log at-the-edge-of-the-domain-in-a-loop:f*,sqrt
        masses-and-springs:f*,10 masses-and-springs:f*,2 products-on-a-tape:f*,shared relaxation-in-place*
        time-steps-in-place:f*,2 time-steps-in-place:f*,8
            """,
        },
        "reverse": {
            "random numbers are not differentiated, not even by where they are constant": """
        random-numbers-are-constants*
            """,
            "reverse mode takes no statements beside loops": """
        a-local-of-the-kernel-that-a-later-loop-adds-to* a-sum-into-a-local-of-the-kernel*
        products-on-a-tape:f*,shared sums-of-several-tasks-that-use-each-other*
        values-of-the-kernel-between-parallel-loops*
            """,
            "the compiler breaks its own code": """
        a-determinant-by-elimination* a-loop-whose-bound-an-earlier-loop-made* a-sort-by-exchanges*
        an-inner-loop-as-long-as-the-index-says:f*,field-17 an-inner-loop-as-long-as-the-index-says:f*,func-200
        an-inner-loop-as-long-as-the-index-says:f*,grouped-0 an-inner-loop-as-long-as-the-index-says:f*,range-2
        an-inner-loop-as-long-as-the-index-says:f*,serial-0 bounds-through-arithmetic-three-deep*
        siblings-inside-a-loop-and-a-branch* the-bound-is-an-outer-index* the-bound-is-the-parallel-index*
        two-loops-in-the-body:f*,field-2 two-loops-in-the-body:f*,func-0 two-loops-in-the-body:f*,grouped-200
        two-loops-in-the-body:f*,range-1 two-loops-in-the-body:f*,serial-17
            """,
            "the process dies": """
        a-carried-vector-with-subscripts:f*,dynamic a-component-that-the-index-picks:f*,field-200
        a-component-that-the-index-picks:f*,func-17 a-component-that-the-index-picks:f*,grouped-2
        a-component-that-the-index-picks:f*,range-0 a-component-that-the-index-picks:f*,serial-2
        a-component-that-the-index-picks:f*,static-17 a-loop-in-both-branches* an-if-around-a-loop:f*,inline
        local-arrays-with-runtime-indices* products-on-a-tape:f*,own the-bound-changes-inside-the-outer-loop*
            """,
            "there is no derivative of a statement": """
        a-branch-on-the-carried-value:f*,break-1 a-branch-on-the-carried-value:f*,while-0
        a-component-that-the-index-picks:f*,break-1 a-component-that-the-index-picks:f*,while-0
        a-condition-that-computes* a-function-in-a-loop:f*,tan a-function-with-two-ends:f*,break-200
        a-function-with-two-ends:f*,while-0 a-matrix-times-a-vector:f*,break-0 a-matrix-times-a-vector:f*,while-200
        a-pendulum:f*,break-17 a-pendulum:f*,while-2 a-root-in-a-loop-that-only-some-iterations-use:f*,break
        a-root-in-a-loop-that-only-some-iterations-use:f*,while a-vector-that-turns:f*,break-17
        a-vector-that-turns:f*,while-2 a-while-in-a-while* an-inner-loop-as-long-as-the-index-says:f*,break-17
        an-inner-loop-as-long-as-the-index-says:f*,while-2 an-inner-loop-with-continue-and-break* an-inner-while*
        and-or-over-the-carried-value:f*,break-2 and-or-over-the-carried-value:f*,while-1
        break-out-of-one-of-two-loops* choices-without-branches:f*,break-0 choices-without-branches:f*,while-17
        exponentials-and-angles:f*,break-200 exponentials-and-angles:f*,while-0 extremes-and-magnitudes:f*,break-2
        extremes-and-magnitudes:f*,while-1 gathered-with-the-index:f*,break-2 gathered-with-the-index:f*,while-1
        gathered-with-the-value:f*,break-17 gathered-with-the-value:f*,while-2 growth:f*,break-2 growth:f*,while-1
        iterations-of-the-parallel-loop-that-end-early* loops-of-two-kinds-inside-each-other*
        newton-iterations-for-a-root* quotients-and-roots:f*,break-0 quotients-and-roots:f*,while-17
        steps-have-no-gradient:f*,round the-index-enters:f*,break-0 the-index-enters:f*,while-200
        the-same-loop-in-every-form:f*,while the-value-before-last:f*,break-1 the-value-before-last:f*,while-0
        two-loops-in-the-body:f*,break-2 two-loops-in-the-body:f*,while-1 values-that-change-places:f*,break-17
        values-that-change-places:f*,while-2 while-over-integers-that-steer-floats*
        while-true-with-several-breaks-and-continues* while-until-a-value-is-small*
            """,
            "there is no such function": """
        a-field-whose-gradient-is-stopped* a-function-of-the-library-in-a-loop:f*,atan
        a-function-of-the-library-in-a-loop:f*,cbrt a-function-of-the-library-in-a-loop:f*,cosh
        a-function-of-the-library-in-a-loop:f*,exp2 a-function-of-the-library-in-a-loop:f*,expm1
        a-function-of-the-library-in-a-loop:f*,log10 a-function-of-the-library-in-a-loop:f*,log1p
        a-function-of-the-library-in-a-loop:f*,sinh an-operator-of-the-library-in-a-loop*
        at-the-edge-of-the-domain-of-the-library:f*,cbrt at-the-edge-of-the-domain-of-the-library:f*,log10
        at-the-edge-of-the-domain-of-the-library:f*,log1p
            """,
            "there is no such option": """
        a-maximum-that-starts-anew* arrays-as-arguments* squares-in-place* trip-counts-that-the-kernel-runs-down*
            """,
            "wrong": """
        a-history-that-is-overwritten-is-refused:again
            """,
            "wrong gradient": """
        a-ball-that-bounces:f*,12 a-ball-that-bounces:f*,5 a-carried-root-that-nothing-uses*
        a-carried-vector-with-subscripts:f*,static a-history-that-is-overwritten-is-right-on-a-tape:f*,sweeps
        a-matrix-power-by-repeated-products:f*,3 a-matrix-times-a-vector:f*,func-2 a-matrix-times-a-vector:f*,range-17
        a-root-in-a-loop-that-only-some-iterations-use:f*,for a-root-in-a-loop-that-only-some-iterations-use:f*,select
        a-smoothed-fluid* a-vector-rebuilt-from-its-own-components:f*,17 a-vector-rebuilt-from-its-own-components:f*,2
        a-vector-that-turns:f*,field-17 a-vector-that-turns:f*,range-200 at-the-edge-of-the-domain-in-a-loop:f*,log
        at-the-edge-of-the-domain-in-a-loop:f*,sqrt bodies-in-contact* cross-products-in-a-loop*
        exponentials-and-angles:f*,func-17 exponentials-and-angles:f*,grouped-2 exponentials-and-angles:f*,serial-2
        loop-invariants-inside* masses-and-springs:f*,10 masses-and-springs:f*,2 particles-and-a-grid*
        relaxation-in-place* several-carried-values:f*,1 several-carried-values:f*,17 several-carried-values:f*,2
        the-same-loop-in-every-form:f*,func the-value-before-last:f*,field-200 the-value-before-last:f*,func-17
        the-value-before-last:f*,grouped-2 the-value-before-last:f*,serial-2 time-steps-in-place*
        two-loops-one-after-the-other:f*,1 two-loops-one-after-the-other:f*,17 two-loops-one-after-the-other:f*,2
        undefined-functions-behind-a-guard-in-a-loop* what-changes-before-and-after-a-use:f*,17
            """,
        },
    },
}
"""Patterns of the ids of cases of the gradients, parted by spaces."""
