"""What each peer is known not to do. A gap that passes fails the run, and so does one that matches no case.

The gaps of adstack's own backends stand with them, as `GAPS` in their capability modules.
"""

from __future__ import annotations

from typing import Any, Final

from ..harness.cells import Gap
from .gradient_gaps import GRADIENT_GAPS
from .run_gaps import RUN_GAPS

__all__ = ["PEER_GAPS", "PEER_OPTIONS", "TOLD_GAPS"]

PEER_OPTIONS: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "quadrants": (("ad_stack_experimental_enabled", True), ("ad_stack_size", 1024)),
    "taichi": (("ad_stack_size", 1024),),
}
"""What reverse mode through loops takes there; the size is more than any case needs."""

_NO_FUNCTION: Final = ("atan", "cbrt", "cosh", "exp2", "expm1", "hypot", "log10", "log1p", "sinh")

_MATH: Final = (
    *(Gap(f"math/*[:,]{name}{end}", "there is no such function") for name in _NO_FUNCTION for end in ("", ":*")),
    Gap("math/*:log2:f64", "log2 of an f64 is good to 29 bits"),
    Gap("math/*:f64,log2", "log2 of an f64 is good to 29 bits"),
    Gap("math/subnormal:log2:f32", "a subnormal argument is taken for zero"),
    Gap("math/subnormal:log:*", "a subnormal argument is taken for zero"),
    Gap("math/subnormal:rsqrt:*", "a subnormal argument is taken for zero"),
    Gap("math/edges-of-pairs:atan2:*", "subnormal arguments are taken for zeros"),
    Gap("math/huge:cos:f64", "8 ulp where the reduction is hardest"),
    Gap("math/huge:tan:f64", "14 ulp where the reduction is hardest"),
)

# Quadrants 1.3.3 and Taichi 1.7.4 on x64 agree in all of these. adstack decided otherwise, or they are defects there.
_FAMILY: Final = (
    Gap("arith/with-a-nan-only-unequal-holds*", "nan != nan is false there; IEEE 754 says true"),
    Gap("arith/a-comparison-counts-as-one-or-zero", "sums of truth values are computed in one bit and wrap"),
    Gap("ints/truth-values-add-like-integers", "sums of truth values are computed in one bit and wrap"),
    Gap("arith/the-right-zero-is-taken-at-a-tie*", "which zero max and min take at a tie is not fixed there"),
    Gap("arith/minimum-and-maximum-of-three:[iu]8", "the compiler aborts on max of 8-bit integers"),
    Gap("arith/floor-division-of-every-sign:i8", "// of 8-bit integers is wrong by one"),
    Gap("arith/remainder-has-the-sign-of-the-divisor:i8", "% of 8-bit integers is wrong"),
    Gap("arith/integer-division-by-zero-is-*", "integer division by zero kills the process"),
    Gap("ints/the-most-negative-number-by-minus-one-wraps*", "the division traps and kills the process"),
    Gap("arith/half-precision-is-rounded-at-every-operation", "sums of f16 are computed in f32 and rounded at the end"),
    Gap("arith/a-negative-exponent-gives-zero-*", "a negative exponent gives a power of its magnitude"),
    Gap("ints/shifts-past-the-width-*", "a shift takes its amount modulo the width, in debug mode too"),
    Gap("casts/what-is-too-large-saturates-*", "a float out of range becomes whatever the hardware makes of it"),
    Gap("conversions/integers-meet:[iu]8,[iu][81]*", "an integer literal beside narrow integers makes them i32"),
    Gap("conversions/integers-meet:[iu]16,[iu]8", "an integer literal beside narrow integers makes them i32"),
    Gap("conversions/integers-meet:[iu]16,[iu]16", "an integer literal beside narrow integers makes them i32"),
    Gap("conversions/integers-meet:u1,u1", "u1 and an integer do not meet in i32"),
    Gap("conversions/integers-meet:u1,i8", "u1 and an integer do not meet in i32"),
    Gap("conversions/literals-go-to-the-type-beside-them:f[16]?", "literals have default_fp beside anything"),
    Gap("operations/comparisons-of-floats:ne,*", "nan != nan is false there; IEEE 754 says true"),
    Gap("operations/the-larger-and-the-smaller-of-floats:*,f[36]*", "which zero they take at a tie is not fixed there"),
    Gap("operations/products-and-sums-are-rounded-one-by-one*", "sums are reordered"),
    Gap("operations/literal-powers-of-floats:7,f16", "products of f16 are rounded at the end"),
    Gap("operations/arithmetic-of-integers:floordiv,*", "integer division by zero kills the process"),
    Gap("operations/arithmetic-of-integers:mod,*", "integer division by zero kills the process"),
    Gap("operations/raw-division-of-integers*", "integer division by zero kills the process"),
    Gap("operations/shifts-of-integers*", "a shift takes its amount modulo the width"),
    Gap("operations/choices-of-integers:m[ia][nx],[iu]8", "the compiler aborts on max of 8-bit integers"),
    Gap("operations/choices-of-integers:abs,i8", "the compiler aborts on abs of narrow integers"),
    Gap("operations/choices-of-integers:abs,i16", "the compiler aborts on abs of narrow integers"),
    Gap("operations/powers-of-integers:i*", "powers of narrow integers abort, negative exponents count by magnitude"),
    Gap("vectors/a-run-time-index-past-the-ends-*", "run-time indices of locals are not checked"),
    Gap("vectors/each-axis-of-a-matrix-is-checked", "run-time indices of locals are not checked"),
    Gap("conversions/each-type-becomes-each-other:f*-[iu]*", "floats out of range wrap, and casts to u1 abort"),
    Gap("conversions/each-type-becomes-each-other:f32-f64", "subnormals are flushed to zero"),
    Gap("conversions/a-store-converts-as-a-cast-does:f64-[iu]*", "a float out of range wraps instead of saturating"),
    Gap("conversions/select-minimum-and-maximum-*:u[18]-?8", "the compiler aborts on max of 8-bit integers"),
    Gap("casts/narrow-integers-saturate-too*", "a float out of range wraps instead of saturating"),
    Gap("casts/a-number-becomes-true-unless-it-is-zero", "the compiler aborts on a cast of a float to u1"),
    Gap("casts/bit-cast-keeps-the-bits", "the bits of a subnormal are lost"),
    Gap("casts/a-literal-takes-the-type-of-the-other-operand", "literals have default_fp whatever stands beside them"),
    Gap("control/bounds-of-64-bits-stay-exact", "bounds of loops are cut to 32 bits"),
    Gap("control/the-second-operand-is-evaluated-only-if-it-matters", "and, or evaluate both sides by default"),
    Gap("vectors/an-index-past-the-end-is-an-error", "the compiler crashes"),
    Gap("parallel/race-*", "races are not looked for"),
    Gap("functions/a-matrix-annotation-converts", "the elements are not converted"),
    Gap("functions/a-changed-attribute-is-seen", "attributes of objects are baked in at the first call"),
    Gap("functions/an-argument-that-an-i32-does-not-hold-is-refused:*214748364*", "arguments out of range wrap"),
    Gap("memory/the-host-is-always-checked*", "the host checks no bounds outside debug mode"),
    Gap("scopes/a-loop-variable-can-not-be-assigned", "the compiler fails with an internal error"),
    Gap("control/a-remainder-by-zero-is-an-error-in-debug-mode*", "integer division by zero kills the process"),
    Gap("control/a-shift-out-of-range-is-an-error-in-debug-mode*", "a shift takes its amount modulo the width"),
    Gap("control/a-condition-that-does-not-matter-is-not-asked*", "and, or evaluate both sides"),
    Gap("control/a-loop-over-a-field-inside-a-loop", "loops over fields do not nest"),
    Gap("errors/an-access-out-of-bounds-is-two-kinds-of-error:IndexError", "it is an assertion error alone"),
    Gap("errors/an-index-out-of-bounds", "the host checks no bounds outside debug mode"),
    Gap("errors/an-array-of-the-wrong-type-is-a-value-error", "it is a type error"),
    Gap("errors/an-error-in-a-function-*:caller", "messages do not show where a function is called"),
    Gap("structs/a-member-that-is-not-there-is-an-error:make", "unknown members are ignored"),
    Gap("control/floats-are-printed-with-as-few-digits-*", "floats are printed with a fixed number of digits"),
    Gap("parallel/expressions-are-evaluated-from-left-to-right", "a local may show what was written after it was read"),
    Gap("parallel/an-index-has-the-type-of-its-bounds:[iu]64", "bounds of loops are cut to 32 bits"),
    Gap("errors/a-float-index", "the message has other words"),
    Gap("errors/an-unknown-name-is-shown-where-it-stands:remedy", "messages name no remedy"),
    Gap("errors/the-line-is-counted-in-the-file", "messages show places in another form"),
    Gap("vectors/negative-static-indices-count-from-the-end", "negative indices are refused"),
    Gap("vectors/a-static-index-past-the-ends-is-a-compile-error*", "the compiler crashes, or says something else"),
    Gap("vectors/arithmetic-in-every-type:i8", "// and % of 8-bit integers are wrong"),
    Gap("vectors/sums-and-extremes-in-every-type:[iu]8", "the compiler aborts on max of 8-bit integers"),
    Gap("control/a-conditional-expression-evaluates-one-side", "a conditional expression evaluates both sides"),
)

_QUADRANTS: Final = (
    Gap("control/outside-debug-mode-an-assert-is-silent", "an assert that fails ends the iteration"),
    Gap("errors/recursion-names-the-cycle", "the compiler does not end"),
    Gap("data/an-array-argument-is-filled-in-a-kernel", "array arguments have no fill"),
    Gap("functions/recursion-is-an-error", "the compiler does not end"),
    Gap("memory/compare-and-swap-*:f[36]*", "compare-and-swap takes integers alone"),
)

_TAICHI: Final = (
    Gap("errors/recursion-names-the-cycle", "the error is Python's own, without the cycle"),
    Gap("errors/a-missing-argument", "the message has other words"),
    Gap("functions/a-dataclass-of-arrays-is-an-argument", "dataclasses of arrays are no parameters"),
    Gap("static/a-loop-whose-iterable-is-chosen-statically", "the iterable of a loop can not be chosen so"),
    Gap("memory/compare-and-swap-*", "there is no compare-and-swap"),
)


TOLD_GAPS: Final[dict[str, tuple[Gap, ...]]] = {
    "quadrants": _FAMILY + _MATH + _QUADRANTS + GRADIENT_GAPS["quadrants"],
    "taichi": _FAMILY + _MATH + _TAICHI + GRADIENT_GAPS["taichi"],
}
"""By peer: those that somebody has looked into."""


def _run(peer: str) -> tuple[Gap, ...]:
    """What a whole run of the gradients found."""
    modes = RUN_GAPS.get(peer, {}).items()
    return tuple(
        Gap(f"gradients/{one}", why, mode)
        for mode, table in modes
        for why, text in table.items()
        for one in text.split()
    )


PEER_GAPS: Final[dict[str, dict[str, tuple[Gap, ...]]]] = {
    peer: {"cpu": gaps + _run(peer)} for peer, gaps in TOLD_GAPS.items()
}
"""By subject and its arch."""
