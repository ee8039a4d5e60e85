"""Zeros, infinities, NaN, arguments outside the domain, and exact results: as in Annex F of C23, to the bit."""

from adstack.conformance.case import case
from adstack.conformance.tables import unary

HALF_PI = "1.57079632679489661923132169163975144210"

VALUES = {
    "sin": [(0.0, 0.0), (-0.0, -0.0), ("inf", "nan"), ("-inf", "nan"), ("nan", "nan")],
    "cos": [(0.0, 1.0), (-0.0, 1.0), ("inf", "nan"), ("-inf", "nan"), ("nan", "nan")],
    "tan": [(0.0, 0.0), (-0.0, -0.0), ("inf", "nan"), ("-inf", "nan"), ("nan", "nan")],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.5, "nan"), (-1.5, "nan"), ("inf", "nan"), ("nan", "nan")],
    "acos": [(1.0, 0.0), (1.5, "nan"), (-1.5, "nan"), ("-inf", "nan"), ("nan", "nan")],
    "atan": [(0.0, 0.0), (-0.0, -0.0), ("inf", HALF_PI), ("-inf", "-" + HALF_PI), ("nan", "nan")],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), ("inf", "inf"), ("-inf", "-inf"), ("nan", "nan")],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), ("inf", "inf"), ("-inf", "inf"), ("nan", "nan")],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), ("inf", 1.0), ("-inf", -1.0), ("nan", "nan")],
    "exp": [(0.0, 1.0), (-0.0, 1.0), ("inf", "inf"), ("-inf", 0.0), ("nan", "nan")],
    "exp2": [(0.0, 1.0), (-0.0, 1.0), (10.0, 1024.0), ("inf", "inf"), ("-inf", 0.0), ("nan", "nan")],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), ("inf", "inf"), ("-inf", -1.0), ("nan", "nan")],
    "log": [(0.0, "-inf"), (-0.0, "-inf"), (1.0, 0.0), (-1.0, "nan"), ("inf", "inf"), ("-inf", "nan"), ("nan", "nan")],
    "log2": [(0.0, "-inf"), (-0.0, "-inf"), (1.0, 0.0), (0.125, -3.0), (-1.0, "nan"), ("inf", "inf"), ("nan", "nan")],
    "log10": [(0.0, "-inf"), (-0.0, "-inf"), (1.0, 0.0), (1000.0, 3.0), (-1.0, "nan"), ("inf", "inf"), ("nan", "nan")],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, "-inf"), (-2.0, "nan"), ("inf", "inf"), ("-inf", "nan"), ("nan", "nan")],
    "rsqrt": [(0.0, "inf"), (-0.0, "-inf"), (0.0625, 4.0), (-1.0, "nan"), ("inf", 0.0), ("nan", "nan")],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (-27.0, -3.0), ("inf", "inf"), ("-inf", "-inf"), ("nan", "nan")],
}


@case(rules=["math.special"], dtypes=["f32", "f64"], params={"name": list(VALUES)})
def special(qd, dtype, name):
    return unary(qd, name, dtype, VALUES[name], budget=None)
