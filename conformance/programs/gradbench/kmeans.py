"""The eval `kmeans`: the sum of squared distances from points to the nearest of k centroids, and a step of Newton's
method.

The Hessian by the centroids is diagonal, so that its product with a vector of ones is all of it: forward mode along
that vector around reverse mode. Which centroid is the nearest is an integer, and has no derivative.
"""

import numpy as np

import adstack as qd

from .task import Cell, Indices, Table, Task, array, indices, number, numbers, zeros


@qd.kernel
def choose(points: Table, centroids: Table, nearest: Indices):
    for i in nearest:
        qd.stop_grad(centroids)
        least, best = qd.math.inf, 0
        for j in range(centroids.shape[0]):
            square = 0.0
            for d in range(points.shape[1]):
                apart = centroids[j, d] - points[i, d]
                square += apart * apart
            if square < least:
                least, best = square, j
        nearest[i] = best


@qd.kernel
def add_up(points: Table, centroids: Table, nearest: Indices, cost: Cell):
    for i in nearest:
        j = nearest[i]
        square = 0.0
        for d in range(points.shape[1]):
            apart = centroids[j, d] - points[i, d]
            square += apart * apart
        cost[None] += square


@qd.kernel
def clear(cost: Cell):
    cost[None] = 0.0


@qd.kernel
def divide(slope: Table, curvature: Table, direction: Table):
    for j, d in direction:
        direction[j, d] = slope[j, d] / curvature[j, d]


def _places(given, **buffers):
    points, centroids = array(given["points"]), array(given["centroids"], **buffers)
    return points, centroids, indices([0] * points.shape[0]), zeros(**buffers)


def _cost(given):
    points, centroids, nearest, cost = _places(given)

    def program():
        choose(points, centroids, nearest)
        clear(cost)
        add_up(points, centroids, nearest, cost)

    return Task(program, lambda: number(cost))


def _direction(given):
    points, centroids, nearest, cost = _places(given, needs_grad=True, needs_dual=True)
    direction, ones = zeros(*centroids.shape), np.ones(centroids.shape).reshape(-1)

    def run():
        choose(points, centroids, nearest)
        with qd.ad.FwdMode(loss=cost, param=centroids, seed=ones), qd.ad.Tape(cost):
            add_up(points, centroids, nearest, cost)
        divide(centroids.grad, centroids.grad.dual, direction)

    return Task(run, lambda: numbers(direction))


FUNCTIONS = {"cost": _cost, "dir": _direction}
EXAMPLE = {
    "points": [[0.0, 0.5], [0.25, 0.75], [3.0, 2.0], [2.5, 2.25], [0.5, 3.0], [1.0, 3.5]],
    "centroids": [[2.5, 2.25], [0.5, 3.0], [0.25, 0.75]],
}
