"""Derivatives that a kernel takes of a function while it runs: what an optimisation within an optimisation needs.

A kernel's scalars are expressions while it is compiled, so a function of Python that is called there may be called with
other numbers that have operators. `forward` calls it with numbers that have a tangent; `reverse` with numbers that
remember what they were computed from, and goes back from the result. Both leave straight-line code, which adstack
differentiates again like any other: that is the outer derivative.
"""

import adstack as qd

__all__ = ["forward", "reverse", "root"]


def forward(function, point):
    """The gradient of a function of several numbers, one component after the other, by tangents."""
    gradient = []
    for along in range(len(point)):
        numbers = [_Dual(x, float(i == along)) for i, x in enumerate(point)]
        gradient.append(function(*numbers).tangent)
    return gradient


def reverse(function, point):
    """The gradient of a function of several numbers, by one pass back over what it computed."""
    tape = []
    inputs = [_Traced(tape, x, ()) for x in point]
    result = function(*inputs)
    adjoints = {id(result): 1.0}
    for node in reversed(tape):
        adjoint = adjoints.get(id(node), 0.0)
        for operand, partial in node.partials:
            adjoints[id(operand)] = adjoints.get(id(operand), 0.0) + adjoint * partial
    return [adjoints.get(id(x), 0.0) for x in inputs]


def root(x):
    """The square root of a number of a kernel, or of either kind of number here."""
    return x.root() if isinstance(x, (_Dual, _Traced)) else qd.sqrt(x)


class _Dual:
    """A number and its tangent."""

    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def __add__(self, other):
        other = _dual(other)
        return _Dual(self.value + other.value, self.tangent + other.tangent)

    def __sub__(self, other):
        other = _dual(other)
        return _Dual(self.value - other.value, self.tangent - other.tangent)

    def __mul__(self, other):
        other = _dual(other)
        return _Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)

    def __rtruediv__(self, other):
        result = other / self.value
        return _Dual(result, -result / self.value * self.tangent)

    def root(self):
        result = qd.sqrt(self.value)
        return _Dual(result, self.tangent / (2.0 * result))


def _dual(x):
    return x if isinstance(x, _Dual) else _Dual(x, 0.0)


class _Traced:
    """A number, and the operands that it was computed from, each with the partial derivative by it."""

    def __init__(self, tape, value, partials):
        self.tape, self.value, self.partials = tape, value, partials
        tape.append(self)

    def __add__(self, other):
        return self._binary(other, lambda x, y: (x + y, 1.0, 1.0))

    def __sub__(self, other):
        return self._binary(other, lambda x, y: (x - y, 1.0, -1.0))

    def __mul__(self, other):
        return self._binary(other, lambda x, y: (x * y, y, x))

    def __rtruediv__(self, other):
        result = other / self.value
        return _Traced(self.tape, result, ((self, -result / self.value),))

    def root(self):
        result = qd.sqrt(self.value)
        return _Traced(self.tape, result, ((self, 0.5 / result),))

    def _binary(self, other, rule):
        if isinstance(other, _Traced):
            value, by_self, by_other = rule(self.value, other.value)
            return _Traced(self.tape, value, ((self, by_self), (other, by_other)))
        value, by_self, _ = rule(self.value, other)
        return _Traced(self.tape, value, ((self, by_self),))
