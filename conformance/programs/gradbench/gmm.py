"""The eval `gmm`: the logarithm of the posterior density of a mixture of Gaussians, and its gradient by all
parameters.

A precision matrix is Q^T Q, where Q is lower triangular: its diagonal is exp(q), and l has what is below, column by
column. The prior on each is Wishart's, with d + m + 1 degrees of freedom and scale 1 / gamma^2. What the parameters
don't change is a number that the host computes.
"""

from math import lgamma, log, pi

import numpy as np

import adstack as qd

from .task import Cell, Line, Table, Task, array, gradient, number, numbers, zeros


@qd.kernel
def weigh(q: Table, below: Table, m: qd.f64, gamma: qd.f64, diagonal: Table, sums: Line, loss: Cell):
    """The diagonals, the logarithms of the determinants, and the part of the prior that varies."""
    for k in sums:
        total, square = 0.0, 0.0
        for d in range(q.shape[1]):
            element = qd.exp(q[k, d])
            diagonal[k, d] = element
            total += q[k, d]
            square += element * element
        for j in range(below.shape[1]):
            square += below[k, j] * below[k, j]
        sums[k] = total
        loss[None] += m * total - 0.5 * gamma * gamma * square


@qd.kernel
def normalise(alpha: Line, n: qd.f64, loss: Cell):
    """The weights of the components add up to one."""
    for _ in range(1):
        top, total = alpha[0], 0.0
        for k in range(alpha.shape[0]):
            top = qd.max(top, alpha[k])
        for k in range(alpha.shape[0]):
            total += qd.exp(alpha[k] - top)
        loss[None] += -n * (top + qd.log(total))


@qd.kernel
def clear(places: Table):
    for i, row in places:
        places[i, row] = 0.0


@qd.kernel
def place(x: Table, mu: Table, below: Table, diagonal: Table, places: Table):
    """Q times how far each point is from each mean. A row of Q belongs to one lane, and so do its adjoints."""
    for row in range(places.shape[1]):
        k, r = row // mu.shape[1], row % mu.shape[1]
        for c in range(r + 1):
            element, mean = diagonal[k, r], mu[k, c]
            if c < r:
                element = below[k, c * mu.shape[1] - c * (c + 1) // 2 + r - c - 1]
            for i in range(x.shape[0]):
                places[i, row] += element * (x[i, c] - mean)


@qd.kernel
def measure(places: Table, alpha: Line, sums: Line, terms: Table):
    """The logarithm of how likely each component, by rows, is to make each point, but for what all have in common."""
    for k, i in terms:
        square = 0.0
        for row in range(k * places.shape[1] // alpha.shape[0], (k + 1) * places.shape[1] // alpha.shape[0]):
            square += places[i, row] * places[i, row]
        terms[k, i] = alpha[k] + sums[k] - 0.5 * square


@qd.kernel
def mix(terms: Table, loss: Cell):
    for i in range(terms.shape[1]):
        top, total = terms[0, i], 0.0
        for k in range(terms.shape[0]):
            top = qd.max(top, terms[k, i])
        for k in range(terms.shape[0]):
            total += qd.exp(terms[k, i] - top)
        loss[None] += top + qd.log(total)


@qd.kernel
def begin(loss: Cell, constant: qd.f64):
    loss[None] = constant


def constant_part(given):
    """What does not depend on the parameters, of the likelihood and of the prior."""
    d, freedom = given["d"], given["d"] + given["m"] + 1
    gammas = 0.25 * d * (d - 1) * log(pi) + sum(lgamma(0.5 * (freedom - j)) for j in range(d))
    prior = freedom * d * (log(given["gamma"]) - 0.5 * log(2.0)) - gammas
    return given["k"] * prior - 0.5 * given["n"] * d * log(2.0 * pi)


def _task(given, differentiated):
    n, k, d = given["n"], given["k"], given["d"]
    rows = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    inputs = {name: array(np.reshape(given[name], shape), needs_grad=differentiated) for name, shape in rows.items()}
    alpha, mu, q, below = inputs.values()
    x, loss = array(given["x"]), zeros(needs_grad=differentiated)
    shapes = ((k, d), (k,), (k, n), (n, k * d))
    diagonal, sums, terms, places = (zeros(*shape, needs_grad=differentiated) for shape in shapes)
    constant, m, gamma = constant_part(given), float(given["m"]), float(given["gamma"])

    def program():
        begin(loss, constant)
        weigh(q, below, m, gamma, diagonal, sums, loss)
        normalise(alpha, float(n), loss)
        clear(places)
        place(x, mu, below, diagonal, places)
        measure(places, alpha, sums, terms)
        mix(terms, loss)

    if differentiated:
        return Task(gradient(loss, program), lambda: {name: numbers(place.grad) for name, place in inputs.items()})
    return Task(program, lambda: number(loss))


FUNCTIONS = {"objective": lambda given: _task(given, False), "jacobian": lambda given: _task(given, True)}
EXAMPLE = {
    "d": 3,
    "k": 2,
    "n": 4,
    "m": 1,
    "gamma": 0.75,
    "x": [[0.5, -1.0, 0.25], [1.5, 0.75, -0.5], [-0.25, 0.5, 1.0], [0.0, 1.25, -1.5]],
    "alpha": [0.25, -0.5],
    "mu": [[0.5, 0.25, 0.75], [0.125, 0.5, 0.0]],
    "q": [[0.25, -0.5, 0.75], [-0.25, 0.5, -0.75]],
    "l": [[0.5, -1.0, 0.25], [1.0, 0.5, -0.25]],
}
