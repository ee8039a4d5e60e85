"""Operations on integers, for all pairs of operands near the ends of their range, near zero and in between."""

from adstack.conformance.case import Run, case

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]


def ends(name):
    bits = int(name[1:])
    return (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def operands(name):
    low, high = ends(name)
    return sorted(
        {v for v in (low, low + 1, -13, -7, -2, -1, 0, 1, 2, 3, 7, 10, 100, high - 1, high) if low <= v <= high}
    )


def wrapped(value, name):
    low, high = ends(name)
    return (value - low) % (high - low + 1) + low


def grid(qd, name, operation, meaning, to=None):
    """A case that applies `operation` to all pairs; `meaning` gives the result in Python, before it wraps."""
    values = operands(name)
    pairs = [(a, b) for a in values for b in values]
    dtype = getattr(qd, name)
    x, y, out = (qd.field(t, shape=len(pairs)) for t in (dtype, dtype, getattr(qd, to or name)))

    @qd.kernel
    def k():
        for i in x:
            out[i] = operation(x[i], y[i])

    given = {x: [a for a, _ in pairs], y: [b for _, b in pairs]}
    return Run(k, given=given, expect={out: [wrapped(meaning(a, b), to or name) for a, b in pairs]})


def toward_zero(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


ARITHMETIC = {
    "add": (lambda a, b: a + b, lambda a, b: a + b),
    "sub": (lambda a, b: a - b, lambda a, b: a - b),
    "mul": (lambda a, b: a * b, lambda a, b: a * b),
    "neg": (lambda a, b: -a + b, lambda a, b: b - a),
    "floordiv": (lambda a, b: a // b, lambda a, b: a // b if b else 0),
    "mod": (lambda a, b: a % b, lambda a, b: a % b if b else 0),
}


@case(
    rules=["arith.wrap", "arith.floordiv", "arith.mod"],
    params={"op": list(ARITHMETIC), "name": INTS},
)
def arithmetic_of_integers(qd, op, name):
    return grid(qd, name, *ARITHMETIC[op])


@case(rules=["arith.raw-division"], params={"op": ["div", "mod"], "name": INTS})
def raw_division_of_integers(qd, op, name):
    if op == "div":
        return grid(qd, name, qd.raw_div, lambda a, b: toward_zero(a, b) if b else 0)
    return grid(qd, name, qd.raw_mod, lambda a, b: a - toward_zero(a, b) * b if b else 0)


BITS = {
    "and": (lambda a, b: a & b, lambda a, b: a & b),
    "or": (lambda a, b: a | b, lambda a, b: a | b),
    "xor": (lambda a, b: a ^ b, lambda a, b: a ^ b),
    "not": (lambda a, b: ~a ^ b, lambda a, b: ~a ^ b),
}


@case(rules=["arith.bits"], params={"op": list(BITS), "name": INTS})
def bits_of_integers(qd, op, name):
    return grid(qd, name, *BITS[op])


@case(rules=["arith.shift"], params={"op": ["left", "right", "logical"], "name": INTS})
def shifts_of_integers(qd, op, name):
    bits = int(name[1:])

    def within(meaning):
        return lambda a, b: meaning(a, b) if 0 <= b < bits else 0

    if op == "left":
        return grid(qd, name, lambda a, b: a << b, within(lambda a, b: a << b))
    if op == "right":
        return grid(qd, name, lambda a, b: a >> b, within(lambda a, b: a >> b))
    return grid(qd, name, qd.bit_shr, within(lambda a, b: (a % 2**bits) >> b))


COMPARISONS = {
    "lt": (lambda a, b: a < b),
    "le": (lambda a, b: a <= b),
    "gt": (lambda a, b: a > b),
    "ge": (lambda a, b: a >= b),
    "eq": (lambda a, b: a == b),
    "ne": (lambda a, b: a != b),
}


@case(rules=["arith.compare"], params={"op": list(COMPARISONS), "name": INTS})
def comparisons_of_integers(qd, op, name):
    compare = COMPARISONS[op]
    return grid(qd, name, compare, lambda a, b: int(compare(a, b)), to="i32")


@case(rules=["arith.minmax", "arith.select", "arith.abs"], params={"op": ["min", "max", "select", "abs"], "name": INTS})
def choices_of_integers(qd, op, name):
    operation, meaning = {
        "min": (qd.min, min),
        "max": (qd.max, max),
        "select": (lambda a, b: qd.select(a > 3, a, b), lambda a, b: a if a > 3 else b),
        "abs": (lambda a, b: abs(a) + b, lambda a, b: abs(a) + b),
    }[op]
    return grid(qd, name, operation, meaning)


@case(rules=["arith.int-power"], params={"name": INTS})
def powers_of_integers(qd, name):
    def power(a, b):
        if b < 0:
            return {1: 1, -1: 1 - 2 * (b % 2)}.get(a, 0)
        return pow(a, b, 2 ** int(name[1:]))

    return grid(qd, name, lambda a, b: a**b, power)


@case(rules=["arith.popcount"], params={"op": ["popcnt", "clz", "ffs"], "name": ["i32", "u32", "i64", "u64"]})
def bits_are_counted_in_wide_integers(qd, op, name):
    bits = int(name[1:])

    def count(a, _):
        a %= 2**bits
        return {"popcnt": bin(a).count("1"), "clz": bits - a.bit_length(), "ffs": (a & -a).bit_length()}[op]

    function = getattr(qd.math, op)
    return grid(qd, name, lambda a, b: function(a), count, to="i32")


@case(rules=["arith.true-division"], params={"name": INTS}, options={"default_fp": "f64"})
def true_division_of_small_integers(qd, name):
    from fractions import Fraction

    x, y, out = (qd.field(t, shape=100) for t in (getattr(qd, name), getattr(qd, name), qd.f64))

    @qd.kernel
    def k():
        for i in x:
            out[i] = x[i] / y[i]

    pairs = [(a, b) for a in range(10) for b in range(1, 11)]
    given = {x: [a for a, _ in pairs], y: [b for _, b in pairs]}
    return Run(k, given=given, expect={out: [Fraction(a, b) for a, b in pairs]})
