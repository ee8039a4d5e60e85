"""The math library: transcendental functions as IR, made of IEEE operations, the same bits on every target.

trigonometric.py (far.py), exponential.py, logarithmic.py, inverse.py, roots.py, power.py    Num -> Num, f32 and f64
num.py          arithmetic notation for IR values; formats.py: what an algorithm must know of its format
coefficients.py polynomials and constants, written by tools/accuracy/coefficients.py
algorithms.py   where these enter what computes an operation
library.py      the table (operation, type) -> Function, built once each, when first asked for
prepared.py     reads the folder prepared, which holds the functions as they are after the passes
lower.py        lower_math(body): the pass that makes calls of transcendental ops

reference/spec/math.md says what is promised, conformance/results/math/ what was measured.
"""
