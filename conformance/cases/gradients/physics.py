"""Simulations under a tape: material points on a grid, a smoothed fluid, bodies in contact; all in place."""

from adstack.conformance.case import case
from adstack.conformance.gradients import TRANSPOSED, agrees, real
from adstack.conformance.plain import absolute, sqrt

# ---- material points (MLS-MPM) in two dimensions

POINTS, CELLS, DT, WEIGHT = 3, 5, 0.0625, 0.0625
"""WEIGHT: of the material's stress."""


def points(qd, dtype):
    """Positions, velocities, affine velocities and volumes of the points; momenta and masses of the nodes."""
    kept = {"needs_grad": True, "needs_dual": True}
    x, v = (qd.Vector.field(2, dtype, shape=POINTS, **kept) for _ in range(2))
    affine = qd.Matrix.field(2, 2, dtype, shape=POINTS, **kept)
    momentum = qd.Vector.field(2, dtype, shape=(CELLS, CELLS), **kept)
    return x, v, affine, real(qd, dtype, POINTS), momentum, real(qd, dtype, (CELLS, CELLS))


def scattering(qd, x, v, affine, volume, momentum, mass, stiff):
    """The kernel that hands mass and momentum of the points, and the force of their stress, to the nodes."""

    @qd.kernel
    def scatter():
        for p in x:
            base = qd.cast(x[p] - 0.5, qd.i32)
            f = x[p] - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2]
            stress = -WEIGHT * stiff[None] * (volume[p] - 1.0)
            m = qd.Matrix([[stress, 0.0], [0.0, stress]]) + affine[p]
            for a, b in qd.static(qd.ndrange(3, 3)):
                offset = qd.Vector([a, b])
                weight = w[a][0] * w[b][1]
                momentum[base + offset] += weight * (v[p] + m @ (offset - f))
                mass[base + offset] += weight

    return scatter


def gathering(qd, x, v, affine, volume, momentum):
    """The kernel that moves the points with the velocities of the nodes."""

    @qd.kernel
    def gather():
        for p in x:
            base = qd.cast(x[p] - 0.5, qd.i32)
            f = x[p] - base
            w = [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2]
            new_v = v[p] * 0.0
            new_affine = affine[p] * 0.0
            for a, b in qd.static(qd.ndrange(3, 3)):
                offset = qd.Vector([a, b])
                node = momentum[base + offset]
                weight = w[a][0] * w[b][1]
                new_v += weight * node
                new_affine += 4.0 * weight * node.outer_product(offset - f)
            v[p] = new_v
            x[p] = x[p] + DT * new_v
            volume[p] = volume[p] * (1.0 + DT * new_affine.trace())
            affine[p] = new_affine

    return gather


@case(rules=["grad.meaning", "grad.overwritten", "grad.atomic"], params={"steps": [1, 3]}, **TRANSPOSED)
def material_points_in_two_dimensions(qd, dtype, steps):
    """MLS-MPM: points to grid, gravity and walls on the grid, grid to points; the points are updated in place."""
    x, v, affine, volume, momentum, mass = points(qd, dtype)
    stiff, loss = real(qd, dtype), real(qd, dtype)
    scatter = scattering(qd, x, v, affine, volume, momentum, mass, stiff)
    gather = gathering(qd, x, v, affine, volume, momentum)

    @qd.kernel
    def clear():
        for i, j in mass:
            momentum[i, j] = qd.Vector([0.0, 0.0])
            mass[i, j] = 0.0

    @qd.kernel
    def on_nodes():
        for i, j in mass:
            if mass[i, j] > 0.0:
                u = momentum[i, j] / mass[i, j]
                u[1] = u[1] - 0.5 * DT
                if i < 1 and u[0] < 0.0:
                    u[0] = 0.0 * u[0]
                if j < 1 and u[1] < 0.0:
                    u[1] = 0.0 * u[1]
                momentum[i, j] = u

    @qd.kernel
    def measure():
        for p in x:
            loss[None] += x[p].norm_sqr() + v[p][0] * (p + 1) + volume[p] * v[p][1]

    def run():
        for _ in range(steps):
            clear()
            scatter()
            on_nodes()
            gather()
        measure()

    given = {
        x: [[1.3, 1.1], [1.9, 1.6], [2.2, 1.2]],
        v: [[0.5, -0.25], [-0.75, 0.25], [0.25, -0.5]],
        affine: [[[0.125, 0.0], [-0.25, 0.5]], [[0.0, 0.25], [0.125, 0.0]], [[-0.25, 0.125], [0.0, 0.25]]],
        volume: [1.125, 0.9, 1.05],
        stiff: 2.0,
    }
    return agrees(run, lambda *start: plain_points(steps, *start), given, [loss], loss=loss)


def plain_points(steps, x, v, affine, volume, stiff):
    """The same on numbers."""
    for _ in range(steps):
        nodes = plain_nodes(x, v, affine, volume, stiff)
        for p, at in enumerate(x):
            around = list(plain_weights(at))
            v[p] = [sum((w * nodes[i, j][c] for i, j, w, _ in around), 0) for c in range(2)]
            moved = [
                [sum((4 * w * nodes[i, j][r] * d[c] for i, j, w, d in around), 0) for c in range(2)] for r in range(2)
            ]
            x[p] = [a + b * DT for a, b in zip(at, v[p])]
            volume[p] = volume[p] * ((moved[0][0] + moved[1][1]) * DT + 1)
            affine[p] = moved
    squares = sum((a * a + b * b for a, b in x), 0)
    return squares + sum((u[0] * (p + 1) + j * u[1] for p, (u, j) in enumerate(zip(v, volume))), 0)


def plain_weights(at):
    """The nodes around a point: their indices, weights, and distances from it."""
    base = [int(a - 0.5) for a in at]
    f = [a - b for a, b in zip(at, base)]
    w = [[(1.5 - a) ** 2 / 2, 0.75 - (a - 1) ** 2, (a - 0.5) ** 2 / 2] for a in f]
    for a in range(3):
        for b in range(3):
            yield base[0] + a, base[1] + b, w[0][a] * w[1][b], [a - f[0], b - f[1]]


def plain_nodes(x, v, affine, volume, stiff):
    """Velocities of the nodes that points reach."""
    momentum, mass = {}, {}
    for at, u, m, j in zip(x, v, affine, volume):
        stress = stiff * (j - 1) * -WEIGHT
        for a, b, w, d in plain_weights(at):
            pushed = [stress * d[c] + m[c][0] * d[0] + m[c][1] * d[1] for c in range(2)]
            old = momentum.get((a, b), [0, 0])
            momentum[a, b] = [old[c] + w * (u[c] + pushed[c]) for c in range(2)]
            mass[a, b] = mass.get((a, b), 0) + w
    made = {}
    for (a, b), m in mass.items():
        u = [momentum[a, b][0] / m, momentum[a, b][1] / m - 0.5 * DT]
        made[a, b] = [0 if (a, b)[c] < 1 and u[c] < 0 else u[c] for c in range(2)]
    return made


# ---- a smoothed fluid

PARTICLES = 5


def neighbours(qd, x, count, near):
    """The kernel that lists, for each particle, those within a radius of 1."""

    @qd.kernel
    def search():
        for i in count:
            n = 0
            for j in range(PARTICLES):
                d = x[i] - x[j]
                if i != j and d.dot(d) < 1.0:
                    near[i, n] = j
                    n += 1
            count[i] = n

    return search


@case(rules=["grad.meaning", "grad.overwritten", "grad.loop"], params={"steps": [1, 3]}, **TRANSPOSED)
def a_smoothed_fluid(qd, dtype, steps):
    """SPH: neighbours are searched, then densities, pressures and viscosities over them; trip counts are memory."""
    kept = {"needs_grad": True, "needs_dual": True}
    x, v, push = (qd.Vector.field(2, dtype, shape=PARTICLES, **kept) for _ in range(3))
    rho, loss, sticky = real(qd, dtype, PARTICLES), real(qd, dtype), real(qd, dtype)
    count, near = qd.field(qd.i32, shape=PARTICLES), qd.field(qd.i32, shape=(PARTICLES, PARTICLES))
    search = neighbours(qd, x, count, near)

    @qd.kernel
    def density():
        for i in x:
            total = 1.0 + 0.0 * x[i][0]
            for n in range(count[i]):
                d = x[i] - x[near[i, n]]
                total += (1.0 - d.dot(d)) ** 3
            rho[i] = total

    @qd.kernel
    def forces():
        for i in x:
            force = qd.Vector([0.0, -0.25]) + 0.0 * x[i]
            for n in range(count[i]):
                j = near[i, n]
                d = x[i] - x[j]
                r = d.norm()
                pressure = 0.5 * (rho[i] + rho[j] - 2.0) / rho[j]
                force += d * (pressure * (1.0 - r) ** 2 / r)
                force += (v[j] - v[i]) * (sticky[None] * (1.0 - r) / rho[j])
            push[i] = force / rho[i]

    @qd.kernel
    def move():
        for i in x:
            v[i] = v[i] + DT * push[i]
            x[i] = x[i] + DT * v[i]

    @qd.kernel
    def measure():
        for i in x:
            loss[None] += x[i].dot(v[i]) * (i + 1) + rho[i] * rho[i]

    def run():
        for _ in range(steps):
            search()
            density()
            forces()
            move()
        measure()

    given = {
        x: [[0.1, 0.2], [0.7, 0.3], [0.4, 0.9], [1.8, 0.4], [1.3, 0.8]],
        v: [[0.5, -0.25], [-0.75, 0.25], [0.25, -0.5], [-1.0, 0.5], [0.125, 0.25]],
        sticky: 0.75,
    }
    return agrees(run, lambda *start: plain_fluid(steps, *start), given, [loss], loss=loss)


def plain_fluid(steps, x, v, sticky):
    """The same on numbers."""
    for _ in range(steps):
        d = [[[a - b for a, b in zip(p, q)] for q in x] for p in x]
        squares = [[a * a + b * b for a, b in row] for row in d]
        near = [[j for j in range(PARTICLES) if j != i and squares[i][j] < 1] for i in range(PARTICLES)]
        rho = [sum(((1 - squares[i][j]) ** 3 for j in near[i]), 1) for i in range(PARTICLES)]
        push = []
        for i in range(PARTICLES):
            force = [0, -0.25]
            for j in near[i]:
                r = sqrt(squares[i][j])
                pressure = (rho[i] + rho[j] - 2) / rho[j] / 2 * (1 - r) ** 2 / r
                drag = sticky * (1 - r) / rho[j]
                force = [force[c] + d[i][j][c] * pressure + (v[j][c] - v[i][c]) * drag for c in range(2)]
            push.append([f / rho[i] for f in force])
        v = [[a + b * DT for a, b in zip(p, q)] for p, q in zip(v, push)]
        x = [[a + b * DT for a, b in zip(p, q)] for p, q in zip(x, v)]
    dots = sum(((p[0] * q[0] + p[1] * q[1]) * (i + 1) for i, (p, q) in enumerate(zip(x, v))), 0)
    return dots + sum((r * r for r in rho), 0)


# ---- discs that fall, collide, and rub on the floor

DISCS, RADIUS = 3, 0.5


def colliding(qd, x, v, change, bounce):
    """The kernel that adds up the impulses between discs that touch and approach each other."""

    @qd.kernel
    def collide():
        for i, j in qd.ndrange(DISCS, DISCS):
            if i < j:
                d = x[j] - x[i]
                r = d.norm()
                if r < 2.0 * RADIUS:
                    n = d / r
                    speed = (v[j] - v[i]).dot(n)
                    if speed < 0.0:
                        impulse = n * (0.5 * (1.0 + bounce[None]) * speed)
                        change[i] += impulse
                        change[j] -= impulse

    return collide


def landing(qd, x, v, spin, change, bounce):
    """The kernel that applies the impulses, and those of the floor: it turns discs around, and friction spins them."""

    @qd.kernel
    def land():
        for i in x:
            u = v[i] + change[i]
            u[1] = u[1] - 0.5 * DT
            w = spin[i]
            deep = RADIUS - x[i][1]
            if deep > 0.0 and u[1] < 0.0:
                hit = -(1.0 + bounce[None]) * u[1]
                slip = u[0] + RADIUS * w
                rub = qd.max(-0.25 * hit, qd.min(0.25 * hit, -slip / 3.0))
                u = u + qd.Vector([rub, hit])
                w = w + 2.0 * rub / RADIUS
            v[i] = u
            spin[i] = w
            x[i] = x[i] + DT * u
            if deep > 0.0:
                x[i][1] += 0.5 * deep

    return land


@case(rules=["grad.meaning", "grad.overwritten", "grad.choice"], params={"steps": [1, 4, 12]}, **TRANSPOSED)
def bodies_in_contact(qd, dtype, steps):
    """Impulses with friction between spinning discs and the floor: every contact is a branch on the state."""
    kept = {"needs_grad": True, "needs_dual": True}
    x, v, change = (qd.Vector.field(2, dtype, shape=DISCS, **kept) for _ in range(3))
    spin, bounce, loss = real(qd, dtype, DISCS), real(qd, dtype), real(qd, dtype)
    collide = colliding(qd, x, v, change, bounce)
    land = landing(qd, x, v, spin, change, bounce)

    @qd.kernel
    def clear():
        for i in x:
            change[i] = qd.Vector([0.0, 0.0])

    @qd.kernel
    def measure():
        for i in x:
            loss[None] += x[i].norm_sqr() * (i + 1) + v[i][0] + spin[i] * v[i][1]

    def run():
        for _ in range(steps):
            clear()
            collide()
            land()
        measure()

    given = {
        bounce: 0.75,
        x: [[0.1, 0.55], [0.9, 0.7], [2.1, 0.45]],
        v: [[0.75, -0.5], [-1.0, -0.25], [-1.5, -0.125]],
        spin: [0.5, -0.75, 2.0],
    }
    return agrees(run, lambda *start: plain_discs(steps, *start), given, [loss], loss=loss)


def plain_discs(steps, bounce, x, v, spin):
    """The same on numbers."""
    for _ in range(steps):
        change = [[0, 0] for _ in range(DISCS)]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            for who, sign in ((i, 1), (j, -1)):
                impulse = plain_impulse(bounce, x[i], x[j], v[i], v[j])
                change[who] = [a + b * sign for a, b in zip(change[who], impulse)]
        for i in range(DISCS):
            x[i], v[i], spin[i] = plain_landing(bounce, x[i], [a + b for a, b in zip(v[i], change[i])], spin[i])
    squares = sum(((a * a + b * b) * (i + 1) for i, (a, b) in enumerate(x)), 0)
    return squares + sum((u[0] + w * u[1] for u, w in zip(v, spin)), 0)


def plain_impulse(bounce, x, y, v, u):
    """Of one disc on another."""
    d = [b - a for a, b in zip(x, y)]
    r = sqrt(d[0] * d[0] + d[1] * d[1])
    speed = sum(((b - a) * c / r for a, b, c in zip(v, u, d)), 0)
    return [c / r * (bounce + 1) * speed / 2 for c in d] if r < 2 * RADIUS and speed < 0 else [0, 0]


def plain_landing(bounce, x, u, w):
    """One disc after a step: where it is, how fast it moves and spins."""
    u = [u[0], u[1] - 0.5 * DT]
    deep = RADIUS - x[1]
    if deep > 0 and u[1] < 0:
        hit = -(bounce + 1) * u[1]
        slip = u[0] + RADIUS * w
        rub = -slip / 3
        if absolute(rub) > hit / 4:
            rub = hit / 4 if rub > 0 else -hit / 4
        u = [u[0] + rub, u[1] + hit]
        w = w + 2 * rub / RADIUS
    moved = [a + b * DT for a, b in zip(x, u)]
    return ([moved[0], moved[1] + deep / 2] if deep > 0 else moved), u, w
