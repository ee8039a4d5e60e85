"""The eval `ht`: how far points are from a model of a hand in a pose, and the Jacobian by the pose, and by places on
triangles.

The pose is 26 numbers: the hand's rotation and place, and four angles for each finger. Forward mode computes all
columns of the Jacobian in one launch: the parameters are there once for each column, and each copy has a unit vector
as tangent. A point's two coordinates in its triangle are nobody else's, so that one column along all first ones, and
one along all second ones, has all their derivatives. Vertices that no point belongs to are left out.
"""

import numpy as np

import adstack as qd

from .task import Block, Indices, Table, Task, array, indices, zeros

POSE, PLACES, FINGERS = 26, 2, 5
Blocks = qd.types.ndarray(dtype=qd.f64, ndim=4)


@qd.func
def turned(x, y, z):
    """The rotation by three angles, about the axis x, then y, then z."""
    about_x = qd.Matrix([[1.0, 0.0, 0.0], [0.0, qd.cos(x), -qd.sin(x)], [0.0, qd.sin(x), qd.cos(x)]])
    about_y = qd.Matrix([[qd.cos(y), 0.0, qd.sin(y)], [0.0, 1.0, 0.0], [-qd.sin(y), 0.0, qd.cos(y)]])
    about_z = qd.Matrix([[qd.cos(z), -qd.sin(z), 0.0], [qd.sin(z), qd.cos(z), 0.0], [0.0, 0.0, 1.0]])
    return about_z @ about_y @ about_x


@qd.func
def about(axis):
    """The rotation about an axis, by its length as angle; none if that is below 1e-4, as the eval has it."""
    angle = qd.sqrt(axis.dot(axis))
    result = qd.Matrix([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    if angle >= 1e-4:
        unit, sine, cosine = axis / angle, qd.sin(angle), qd.cos(angle)
        x, y, z = unit[0], unit[1], unit[2]
        cross = qd.Matrix([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        result = result * cosine + unit.outer_product(unit) * (1.0 - cosine) + cross * sine
    return result


@qd.func
def turn(p, column, angles, bone):
    """The rotation of a bone in its own frame."""
    by = qd.Vector([0.0, 0.0, 0.0])
    for a in qd.static(range(3)):
        if angles[3 * bone + a] >= 0:
            by[a] = p[column, angles[3 * bone + a]]
    return turned(by[0], by[2], by[1])


@qd.kernel
def pose(p: Table, angles: Indices, relatives: Block, local: Blocks):
    """How each bone lies in the frame of its parent; `angles` says which parameters turn it: -1 is an angle of 0."""
    for column, b in qd.ndrange(local.shape[0], local.shape[1]):
        rotation = turn(p, column, angles, b)
        for r in range(4):
            for c in qd.static(range(3)):
                total = 0.0
                for k in qd.static(range(3)):
                    total += relatives[b, r, k] * rotation[k, c]
                local[column, b, r, c] = total
            local[column, b, r, 3] = relatives[b, r, 3]


@qd.kernel
def connect(parents: Indices, local: Blocks, absolutes: Blocks):
    """How each bone lies in the hand's frame; parents stand before their children."""
    for column, r in qd.ndrange(local.shape[0], 4):
        for b in range(parents.shape[0]):
            for c in qd.static(range(4)):
                total = local[column, b, r, c]
                if parents[b] >= 0:
                    total = 0.0
                    for k in qd.static(range(4)):
                        total += absolutes[column, parents[b], r, k] * local[column, b, k, c]
                absolutes[column, b, r, c] = total


@qd.kernel
def relate(absolutes: Blocks, inverses: Block, bones: Blocks):
    """What each bone does to places that are given as they are in the model's pose at rest."""
    for column, b, r, c in bones:
        total = 0.0
        for k in qd.static(range(4)):
            total += absolutes[column, b, r, k] * inverses[b, k, c]
        bones[column, b, r, c] = total


@qd.kernel
def skin(p: Table, bones: Blocks, weights: Table, base: Table, mirror: qd.f64, positions: Block):
    """Where the vertices are: each moves with its bones, by weight, and then with the hand."""
    for column, v in qd.ndrange(positions.shape[0], positions.shape[2]):
        mixed = qd.Matrix([[0.0] * 4] * 3)
        for b in range(weights.shape[0]):
            for r, k in qd.static(qd.ndrange(3, 4)):
                mixed[r, k] += weights[b, v] * bones[column, b, r, k]
        place = mixed @ qd.Vector([base[0, v], base[1, v], base[2, v], base[3, v]])
        place[0] *= mirror
        hand = about(qd.Vector([p[column, 2], p[column, 3], p[column, 4]])) @ place
        for r in qd.static(range(3)):
            positions[column, r, v] = hand[r] + p[column, 5 + r]


@qd.kernel
def compare(points: Table, corners: Indices, us: Table, p: Table, positions: Block, errors: Block):
    """Errors of points: from the place in a triangle that belongs to each."""
    for column, i in qd.ndrange(errors.shape[0], errors.shape[1]):
        u, v = us[i, 0] + p[column, 0], us[i, 1] + p[column, 1]
        for r in qd.static(range(3)):
            a, b = positions[column, r, corners[3 * i]], positions[column, r, corners[3 * i + 1]]
            c = positions[column, r, corners[3 * i + 2]]
            errors[column, i, r] = points[i, r] - (u * a + v * b + (1.0 - u - v) * c)


def _angles(bones):
    """Which parameters turn each bone: a finger has two angles at its first joint, and one at each of the next two."""
    angles, parameter = np.full((bones, 3), -1), PLACES + 6
    for finger in range(FINGERS):
        for joint in range(3):
            for axis in range(2 if joint == 0 else 1):
                angles[2 + 4 * finger + joint, axis] = parameter
                parameter += 1
    return angles


def _corners(data, us):
    """The vertices that each point belongs to: those of a triangle, or one, three times."""
    named = np.array(data["correspondences"])
    return np.array(data["model"]["triangles"])[named] if us else np.stack([named] * 3, axis=1)


def _rows(columns):
    """The matrix with these columns, one for each index of the first axis, as lists."""
    return columns.to_numpy().reshape(columns.shape[0], -1).T.tolist()


def _task(given, differentiated):
    data, model, us = given["data"], given["data"]["model"], given["us"]
    first = 0 if us else PLACES
    columns = PLACES + POSE - first if differentiated else 1
    start, bones, count = np.array([0.0, 0.0, *given["theta"]]), len(model["parents"]), len(data["points"])
    p = array([start] * columns, needs_dual=differentiated)
    parents, angles = indices(model["parents"]), indices(_angles(bones).reshape(-1))
    relatives, inverses = array(model["base_relatives"]), array(model["inverse_base_absolutes"])
    local, absolutes, transforms = (zeros(columns, bones, 4, 4, needs_dual=differentiated) for _ in range(3))
    used, corners = np.unique(_corners(data, us), return_inverse=True)
    weights, base = (array(np.transpose(np.array(model[name])[used])) for name in ("weights", "base_positions"))
    positions = zeros(columns, 3, base.shape[1], needs_dual=differentiated)
    points, triangles = array(data["points"]), indices(corners.reshape(-1))
    places, errors = array(us or np.zeros((count, 2))), zeros(columns, count, 3, needs_dual=differentiated)
    mirror = -1.0 if model["is_mirrored"] else 1.0

    def program():
        pose(p, angles, relatives, local)
        connect(parents, local, absolutes)
        relate(absolutes, inverses, transforms)
        skin(p, transforms, weights, base, mirror, positions)
        compare(points, triangles, places, p, positions, errors)

    seed = np.eye(PLACES + POSE)[first:].reshape(-1)

    def differentiate():
        with qd.ad.FwdMode(loss=errors, param=p, seed=seed):
            program()

    if differentiated:
        return Task(differentiate, lambda: _rows(errors.dual))
    return Task(program, lambda: [row[0] for row in _rows(errors)])


FUNCTIONS = {"objective": lambda given: _task(given, False), "jacobian": lambda given: _task(given, True)}
BONES, VERTICES = 22, 6
EXAMPLE = {
    "theta": [(5 * n % 7 - 3.0) / 8.0 for n in range(POSE)],
    "us": [[0.25, 0.5], [0.5, 0.125]],
    "data": {
        "correspondences": [1, 0],
        "points": [[0.5, -0.25, 1.0], [-0.75, 0.5, 0.25]],
        "model": {
            "bone_count": BONES,
            "bone_names": [f"bone {n}" for n in range(BONES)],
            "parents": [-1, 0, *(1 if n % 4 == 0 else n + 1 for n in range(BONES - 2))],
            "base_relatives": [(np.eye(4) + (n % 3 - 1.0) / 8.0 * np.eye(4, k=2)).tolist() for n in range(BONES)],
            "inverse_base_absolutes": [(np.eye(4) - n % 5 / 8.0 * np.eye(4, k=1)).tolist() for n in range(BONES)],
            "base_positions": [[(3 * n % 5 - 2.0) / 2.0, n / 4.0, (n % 3) / 2.0, 1.0] for n in range(VERTICES)],
            "weights": [[1.0 / 8.0 if (n + b) % 3 == 0 else 0.0 for b in range(BONES)] for n in range(VERTICES)],
            "triangles": [[0, 1, 2], [5, 2, 3]],
            "is_mirrored": True,
        },
    },
}
