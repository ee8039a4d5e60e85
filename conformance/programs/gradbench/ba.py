"""The eval `ba`: how far cameras see points from where they were observed, for each observation, and the sparse
Jacobian.

An error depends on the 11 numbers of one camera (rotation by axis and angle, centre, focal length, principal point,
two coefficients of radial distortion), the 3 of one point, and one weight. To each of these 15, in each row of the
Jacobian, a number is added that is always zero: reverse mode, started once with ones, leaves the rows of the
Jacobian in their gradient, as they stand in a sparse matrix.
"""

import adstack as qd

from .task import Indices, Line, Table, Task, array, indices, numbers, zeros

CAMERA, POINT, INPUTS = 11, 3, 15
ENDS = {"cam": CAMERA, "x": POINT}


@qd.func
def rotated(axis, place):
    """A place, turned about an axis by the axis's length as angle (Rodrigues's formula)."""
    square = axis.dot(axis)
    result = place + axis.cross(place)
    if square != 0.0:
        angle = qd.sqrt(square)
        unit, cosine = axis / angle, qd.cos(angle)
        result = place * cosine + unit.cross(place) * qd.sin(angle) + unit * (unit.dot(place) * (1.0 - cosine))
    return result


@qd.func
def seen(p):
    """Where a camera sees a point: coordinates in its picture. p has the 11 numbers of the camera and those of the
    point.
    """
    place = qd.Vector([p[11] - p[3], p[12] - p[4], p[13] - p[5]])
    turned = rotated(qd.Vector([p[0], p[1], p[2]]), place)
    flat = qd.Vector([turned[0] / turned[2], turned[1] / turned[2]])
    square = flat.dot(flat)
    distorted = flat * (1.0 + p[9] * square + p[10] * square * square)
    return distorted * p[6] + qd.Vector([p[7], p[8]])


@qd.kernel
def project(cameras: Table, points: Table, weights: Line, observed: Table, change: Table, errors: Line):
    """Errors of observations, two each; observation i is of point i by camera i, modulo how many there are."""
    for row in errors:
        i, axis = row // 2, row % 2
        camera, point = i % cameras.shape[0], i % points.shape[0]
        p = qd.Vector([0.0] * 14)
        for j in qd.static(range(CAMERA)):
            p[j] = cameras[camera, j] + change[row, j]
        for j in qd.static(range(POINT)):
            p[CAMERA + j] = points[point, j] + change[row, CAMERA + j]
        place = seen(p)
        coordinate = qd.select(axis == 0, place[0], place[1])
        errors[row] = (weights[i] + change[row, INPUTS - 1]) * (coordinate - observed[i, axis])


@qd.kernel
def regularise(weights: Line, change: Line, errors: Line):
    for i in errors:
        weight = weights[i] + change[i]
        errors[i] = 1.0 - weight * weight


@qd.kernel
def place_entries(cameras: qd.i32, points: qd.i32, rows: Indices, columns: Indices, observations: qd.i32):
    """The rows' ends and the columns of the Jacobian's entries."""
    rows[0] = 0
    for row in range(2 * observations):
        i = row // 2
        rows[row + 1] = INPUTS * (row + 1)
        for j in qd.static(range(CAMERA)):
            columns[INPUTS * row + j] = CAMERA * (i % cameras) + j
        for j in qd.static(range(POINT)):
            columns[INPUTS * row + CAMERA + j] = CAMERA * cameras + POINT * (i % points) + j
        columns[INPUTS * row + INPUTS - 1] = CAMERA * cameras + POINT * points + i
    for i in range(observations):
        rows[2 * observations + i + 1] = 2 * INPUTS * observations + i + 1
        columns[2 * INPUTS * observations + i] = CAMERA * cameras + POINT * points + i


def _inputs(given):
    """Cameras, points, weights and observations, each as often as the input says."""
    count = given["p"]
    return (
        array([given["cam"]] * given["n"]),
        array([given["x"]] * given["m"]),
        array([given["w"]] * count),
        array([given["feat"]] * count),
    )


def _objective(given):
    cameras, points, weights, observed = _inputs(given)
    count = given["p"]
    errors, regular = zeros(2 * count), zeros(count)
    change, slight = zeros(2 * count, INPUTS), zeros(count)

    def run():
        project(cameras, points, weights, observed, change, errors)
        regularise(weights, slight, regular)

    def answer():
        both = [float(errors[0]), float(errors[1])]
        return {
            "reproj_error": {"elements": both, "repeated": count},
            "w_err": {"element": float(regular[0]), "repeated": count},
        }

    return Task(run, answer)


def _jacobian(given):
    cameras, points, weights, observed = _inputs(given)
    n, m, count = given["n"], given["m"], given["p"]
    errors, regular = zeros(2 * count, needs_grad=True), zeros(count, needs_grad=True)
    change, slight = zeros(2 * count, INPUTS, needs_grad=True), zeros(count, needs_grad=True)
    rows, columns = indices([0] * (3 * count + 1)), indices([0] * (31 * count))

    def run():
        place_entries(n, m, rows, columns, count)
        change.grad.fill(0.0)
        slight.grad.fill(0.0)
        errors.grad.fill(1.0)
        regular.grad.fill(1.0)
        project.grad(cameras, points, weights, observed, change, errors)
        regularise.grad(weights, slight, regular)

    def answer():
        values = [*change.grad.to_numpy()[:2].reshape(-1).tolist(), numbers(slight.grad)[-1]]
        places = {name: numbers(place) for name, place in (("rows", rows), ("cols", columns))}
        return {"vals": values, **{name: [*every[:30], every[-1]] for name, every in places.items()}}

    return Task(run, answer)


FUNCTIONS = {"objective": _objective, "jacobian": _jacobian}
EXAMPLE = {
    "n": 2,
    "m": 3,
    "p": 5,
    "cam": [0.5, -0.25, 0.125, 0.25, 0.5, -1.5, 1.25, 0.5, -0.25, 0.0625, -0.03125],
    "x": [0.75, -0.5, 1.5],
    "w": 0.5,
    "feat": [0.25, -0.75],
}
