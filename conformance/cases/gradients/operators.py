"""Every differentiable operation, inside a loop with a runtime bound and outside, and at the edges of its domain."""

import math

from adstack.conformance import plain as exactly
from adstack.conformance.case import Gradient, Run, case
from adstack.conformance.gradients import BOUNDED, EXACT, agrees, real

UNARY = {
    "neg": (lambda a: -a, [0.5, -1.25, 2.0]),
    "abs": (exactly.absolute, [0.5, -1.25, 2.0]),
    "sqrt": (exactly.sqrt, [0.5, 1.25, 4.0]),
    "rsqrt": (exactly.rsqrt, [0.5, 1.25, 4.0]),
    "sin": (exactly.sin, [0.5, -1.25, 7.0]),
    "cos": (exactly.cos, [0.5, -1.25, 7.0]),
    "tan": (exactly.tan, [0.5, -1.25, 2.0]),
    "asin": (exactly.asin, [0.5, -0.25, 0.875]),
    "acos": (exactly.acos, [0.5, -0.25, 0.875]),
    "tanh": (exactly.tanh, [0.5, -1.25, 2.0]),
    "exp": (exactly.exp, [0.5, -1.25, 2.0]),
    "log": (exactly.log, [0.5, 1.25, 4.0]),
}
LIBRARY = {
    "atan": (exactly.atan, [0.5, -1.25, 2.0]),
    "cbrt": (exactly.cbrt, [0.5, -1.25, 2.0]),
    "sinh": (exactly.sinh, [0.5, -1.25, 2.0]),
    "cosh": (exactly.cosh, [0.5, -1.25, 2.0]),
    "exp2": (exactly.exp2, [0.5, -1.25, 2.0]),
    "expm1": (exactly.expm1, [0.5, -1.25, 2.0]),
    "log2": (exactly.log2, [0.5, 1.25, 4.5]),
    "log10": (exactly.log10, [0.5, 1.25, 4.0]),
    "log1p": (exactly.log1p, [0.5, -0.25, 4.0]),
}
BINARY = {
    "add": (lambda a, b: a + b, [0.5, -1.25, 2.0], [0.25, 3.0, -0.5]),
    "sub": (lambda a, b: a - b, [0.5, -1.25, 2.0], [0.25, 3.0, -0.5]),
    "mul": (lambda a, b: a * b, [0.5, -1.25, 2.0], [0.25, 3.0, -0.5]),
    "div": (lambda a, b: a / b, [0.5, -1.25, 2.0], [0.75, 3.0, -0.375]),
    "pow": (exactly.power, [0.5, 1.25, 2.0], [0.25, 3.0, -0.5]),
    "atan2": (exactly.atan2, [0.5, -1.25, 2.0], [0.25, 3.0, -0.5]),
    "max": (lambda a, b: a if a > b else b, [0.5, -1.25, 2.0], [0.25, 3.0, -0.5]),
    "min": (lambda a, b: a if a < b else b, [0.5, -1.25, 2.0], [0.25, 3.0, -0.5]),
    "mod": (lambda a, b: a % b, [0.5, -1.25, 2.0], [0.375, 3.0, -0.75]),
}


def operation(qd, op):
    """The operation by its name in the language."""
    shown = {
        "neg": lambda a: -a,
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b,
        "mod": lambda a, b: a % b,
    }
    return shown.get(op) or getattr(qd, op, None) or getattr(qd.math, op)


@case(rules=["grad.table"], params={"op": [*UNARY]}, **BOUNDED)
def a_function_in_a_loop(qd, dtype, op):
    """s <- s + f(x + 0 s) j, three times: f and its derivative count with j."""
    return looped(qd, dtype, operation(qd, op), *UNARY[op])


@case(rules=["grad.table"], params={"op": [*LIBRARY]}, **BOUNDED)
def a_function_of_the_library_in_a_loop(qd, dtype, op):
    """The same for those functions that adstack has beyond the common ones."""
    return looped(qd, dtype, operation(qd, op), *LIBRARY[op])


def looped(qd, dtype, function, exact, values):
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s, at = x[i] * 0.5, x[i]
            for j in range(n):
                at = x[i] - 0.125 * j * (at - x[i])
                s = 0.5 * s * s + function(at) * (j + 1)
            y[i] = s

    def plain(x):
        out = []
        for a in x:
            s, at = a / 2, a
            for j in range(3):
                at = a - (at - a) * (0.125 * j)
                s = s * s / 2 + exact(at) * (j + 1)
            out.append(s)
        return out

    return agrees(k, plain, {x: values}, [y], args=(3,))


@case(rules=["grad.table"], params={"op": [*BINARY]}, **BOUNDED)
def an_operator_in_a_loop(qd, dtype, op):
    """Both operands are differentiated, at interior points."""
    function, (exact, left, right) = operation(qd, op), BINARY[op]
    x, w, y = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i] * w[i]
            for j in range(n):
                s = 0.5 * s * s + function(x[i], w[i]) * (j + 1)
            y[i] = s

    def plain(x, w):
        out = []
        for a, b in zip(x, w):
            s = a * b
            for j in range(3):
                s = s * s / 2 + exact(a, b) * (j + 1)
            out.append(s)
        return out

    return agrees(k, plain, {x: left, w: right}, [y], args=(3,))


@case(rules=["grad.table"], params={"op": ["fma", "hypot"]}, **BOUNDED)
def an_operator_of_the_library_in_a_loop(qd, dtype, op):
    """A product and a sum that are rounded once, and the length of a pair."""
    function, fused = operation(qd, op), op == "fma"
    x, w, y = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i]
            for j in range(n):
                if qd.static(fused):
                    s = function(s * 0.5, w[i], x[i] * j)
                else:
                    s = function(s, w[i]) * 0.5 + x[i]
            y[i] = s

    def plain(x, w):
        out = []
        for a, b in zip(x, w):
            s = a
            for j in range(3):
                s = s * b / 2 + a * j if fused else exactly.hypot(s, b) / 2 + a
            out.append(s)
        return out

    return agrees(k, plain, {x: [0.5, -1.25, 2.0], w: [0.25, 3.0, -0.5]}, [y], args=(3,))


@case(rules=["grad.table"], params={"n": [0, 1, 2, 3, 5, -1, -2]}, **BOUNDED)
def a_constant_power(qd, dtype, n):
    """x ** n for a literal n, at negative x too: no logarithm is formed."""
    x, y = real(qd, dtype, 4), real(qd, dtype, 4)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] ** n * 2.0 + x[i]

    def plain(x):
        return [(a**n if n >= 0 else 1 / a**-n) * 2 + a for a in x]

    return agrees(k, plain, {x: [0.5, -1.25, 2.0, -3.0]}, [y])


EDGES = {
    "sqrt": ([0.0, -0.0], [math.inf, math.inf]),
    "rsqrt": ([0.0], [-math.inf]),
    "log": ([0.0, -1.0], [math.inf, math.nan]),
    "asin": ([1.0, -1.0, 1.5], [math.inf, math.inf, math.nan]),
    "acos": ([1.0, -1.0, 1.5], [-math.inf, -math.inf, math.nan]),
    "abs": ([0.0, -0.0], [0.0, 0.0]),
}
MORE_EDGES = {
    "cbrt": ([0.0], [math.inf]),
    "log2": ([0.0, -1.0], [math.inf, math.nan]),
    "log10": ([0.0, -1.0], [math.inf, math.nan]),
    "log1p": ([-1.0, -1.5], [math.inf, math.nan]),
}


@case(rules=["grad.edges", "grad.kinks"], params={"op": [*EDGES]}, **EXACT)
def at_the_edge_of_the_domain(qd, dtype, op):
    """The derivative is the limit from inside; outside it is NaN."""
    return at_edges(qd, dtype, operation(qd, op), *EDGES[op])


@case(rules=["grad.edges", "grad.loop"], params={"op": [*EDGES]}, **EXACT)
def at_the_edge_of_the_domain_in_a_loop(qd, dtype, op):
    """The same inside a dynamic loop, three times with growing factors."""
    function, (points, slopes) = operation(qd, op), EDGES[op]
    x, y = real(qd, dtype, len(points)), real(qd, dtype, len(points))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            s = x[i] * 0.0
            for j in range(n):
                s += function(x[i]) * (j + 1)
            y[i] = s

    gradient = Gradient(
        seed={y: 2.0},
        expect={x: [12 * slope for slope in slopes]},
        forward_seed={x: 2.0},
        forward_expect={y: [12 * slope for slope in slopes]},
    )
    return Run(k, (3,), given={x: points}, gradient=gradient)


@case(rules=["grad.edges"], params={"op": [*MORE_EDGES]}, **EXACT)
def at_the_edge_of_the_domain_of_the_library(qd, dtype, op):
    """The same for the functions beyond the common ones."""
    return at_edges(qd, dtype, operation(qd, op), *MORE_EDGES[op])


def at_edges(qd, dtype, function, points, slopes):
    x, y = real(qd, dtype, len(points)), real(qd, dtype, len(points))

    @qd.kernel
    def k():
        for i in x:
            y[i] = function(x[i])

    gradient = Gradient(
        seed={y: 2.0},
        expect={x: [2 * slope for slope in slopes]},
        forward_seed={x: 2.0},
        forward_expect={y: [2 * slope for slope in slopes]},
    )
    return Run(k, given={x: points}, gradient=gradient)


@case(rules=["grad.connected"], **EXACT)
def a_connected_zero_times_infinity_is_nan(qd, dtype):
    """0 * sqrt(x) at 0: the adjoint of the root is a connected 0."""
    x, w, y = real(qd, dtype, 2), real(qd, dtype, 2), real(qd, dtype, 2)

    @qd.kernel
    def k():
        for i in x:
            y[i] = w[i] * qd.sqrt(x[i])

    gradient = Gradient(
        seed={y: 2.0},
        expect={x: [math.nan, math.inf], w: 0.0},
        forward_seed={x: 1.0},
        forward_expect={y: [math.nan, math.inf]},
    )
    return Run(k, given={x: 0.0, w: [0.0, 3.0]}, expect={y: 0.0}, gradient=gradient)


@case(rules=["grad.ties"], params={"op": ["max", "min"]}, **EXACT)
def the_right_operand_of_a_tie_gets_all(qd, dtype, op):
    """Of a NaN and a number, the number gets the adjoint."""
    function = operation(qd, op)
    x, w, y = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            y[i] = function(x[i], w[i])

    gradient = Gradient(
        seed={y: [2.0, -3.0, 0.5]},
        expect={x: [0.0, -3.0, 0.0], w: [2.0, 0.0, 0.5]},
        forward_seed={x: [5.0, 7.0, 9.0]},
        forward_expect={y: [0.0, 7.0, 0.0]},
    )
    given = {x: [1.5, 1.5, math.nan], w: [1.5, math.nan, 1.5]}
    return Run(k, given=given, expect={y: 1.5}, gradient=gradient)


@case(rules=["grad.ties"], **EXACT)
def a_chain_of_max_folds_to_the_right(qd, dtype):
    """max(a, b, c) with all equal: the last one gets all."""
    x, y = real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def k():
        for _ in range(1):
            y[None] = qd.max(x[0], x[1], x[2])

    gradient = Gradient(
        seed={y: 2.0},
        expect={x: [0.0, 0.0, 2.0]},
        forward_seed={x: [5.0, 7.0, 9.0]},
        forward_expect={y: 9.0},
    )
    return Run(k, given={x: 1.5}, expect={y: 1.5}, gradient=gradient)


POWERS = {
    "zero-exponent": (0.0, 0.0, 0.0, math.nan),
    "zero-to-one": (0.0, 1.0, 1.0, 0.0),
    "zero-to-two": (0.0, 2.0, 0.0, 0.0),
    "zero-to-half": (0.0, 0.5, math.inf, 0.0),
    "negative-to-two": (-3.0, 2.0, -6.0, math.nan),
    "negative-to-zero": (-3.0, 0.0, 0.0, math.nan),
}


@case(rules=["grad.edges"], params={"at": [*POWERS]}, **EXACT)
def powers_at_their_edges(qd, dtype, at):
    """pow(b, e) where b is 0 or negative: its derivatives in b and in e."""
    base, exponent, in_base, in_exponent = POWERS[at]
    if at == "zero-exponent":  # log(0) pow(0, 0)
        in_exponent = -math.inf
    x, w, y = qd.field(dtype, shape=1, needs_grad=True), real(qd, dtype, 1), real(qd, dtype, 1)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] ** w[i]

    gradient = Gradient(
        seed={y: 2.0},
        expect={x: [2 * in_base], w: [2 * in_exponent]},
        forward_seed={w: [2.0]},
        forward_expect={y: [2 * in_exponent]},
    )
    return Run(k, given={x: [base], w: [exponent]}, gradient=gradient)


@case(rules=["grad.edges"], **EXACT)
def a_square_at_a_negative_number_has_no_nan(qd, dtype):
    """The exponent is a constant: nothing is formed for it."""
    x, y = real(qd, dtype, 3), real(qd, dtype, 3)

    @qd.kernel
    def k():
        for i in x:
            y[i] = x[i] ** 2 + x[i] ** 3

    def plain(x):
        return [a**2 + a**3 for a in x]

    return agrees(k, plain, {x: [-3.0, -0.5, 2.0]}, [y])


@case(rules=["grad.edges"], params={"op": ["atan2", "norm", "norm-eps"]}, **EXACT)
def lengths_and_angles_at_the_origin(qd, dtype, op):
    """Neither has a direction there; a norm with eps has the derivative 0."""
    x, y = real(qd, dtype, 2), real(qd, dtype, ())

    @qd.kernel
    def angle():
        for _ in range(1):
            y[None] = qd.atan2(x[0], x[1])

    @qd.kernel
    def norm():
        for _ in range(1):
            y[None] = qd.Vector([x[0], x[1]]).norm()

    @qd.kernel
    def norm_eps():
        for _ in range(1):
            y[None] = qd.Vector([x[0], x[1]]).norm(0.25)

    kernel = {"atan2": angle, "norm": norm, "norm-eps": norm_eps}[op]
    slope = 0.0 if op == "norm-eps" else math.nan
    gradient = Gradient(seed={y: 2.0}, expect={x: slope}, forward_seed={x: [1.0, 2.0]}, forward_expect={y: slope})
    return Run(kernel, given={x: 0.0}, gradient=gradient)
