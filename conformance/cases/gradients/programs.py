"""Whole programs under a tape: several kernels, many steps, memory that is updated in place."""

from adstack.conformance.case import case
from adstack.conformance.gradients import BOUNDED, agrees, real
from adstack.conformance.plain import exp, sqrt, tanh


@case(rules=["grad.meaning", "grad.overwritten"], params={"steps": [1, 2, 10]}, **BOUNDED)
def masses_and_springs(qd, dtype, steps):
    """A chain of springs with friction: positions and velocities are updated in place in every step."""
    n, dt = 4, 0.125
    x, v, k, loss = real(qd, dtype, n), real(qd, dtype, n), real(qd, dtype, n - 1), real(qd, dtype, ())
    force = real(qd, dtype, n)

    @qd.kernel
    def clear():
        for i in force:
            force[i] = 0.0

    @qd.kernel
    def pull():
        for i in range(n - 1):
            stretch = x[i + 1] - x[i] - 1.0
            f = k[i] * stretch * (1.0 + 0.5 * stretch * stretch)
            force[i] += f
            force[i + 1] -= f

    @qd.kernel
    def move():
        for i in x:
            v[i] = 0.9375 * v[i] + dt * force[i]
            x[i] = x[i] + dt * v[i]

    @qd.kernel
    def measure():
        for i in x:
            loss[None] += (x[i] - i) * (x[i] - i) + v[i] * v[i]

    def run():
        for _ in range(steps):
            clear()
            pull()
            move()
        measure()

    def plain(k, x, v):
        for _ in range(steps):
            force = [0] * n
            for i in range(n - 1):
                stretch = x[i + 1] - x[i] - 1
                f = k[i] * stretch * (1 + stretch * stretch / 2)
                force[i], force[i + 1] = force[i] + f, force[i + 1] - f
            v = [0.9375 * a + f * dt for a, f in zip(v, force)]
            x = [a + b * dt for a, b in zip(x, v)]
        return sum(((a - i) * (a - i) + b * b for i, (a, b) in enumerate(zip(x, v))), 0)

    given = {k: [4.0, 2.5, 3.0], x: [0.0, 1.25, 1.75, 3.5], v: [0.5, -0.25, 0.0, 0.125]}
    return agrees(run, plain, given, [loss], loss=loss)


@case(rules=["grad.meaning"], params={"steps": [1, 2, 4]}, **BOUNDED)
def a_wave_on_a_grid_with_a_history(qd, dtype, steps):
    """The 2-D wave equation, its history in one field: u[t + 1] from u[t] and u[t - 1]."""
    n, c = 4, 0.25
    u, speed, loss = real(qd, dtype, (10, n, n)), real(qd, dtype, ()), real(qd, dtype, ())

    @qd.kernel
    def step(t: qd.i32):
        for i, j in qd.ndrange(n, n):
            middle = u[t, i, j]
            around = (
                (u[t, i - 1, j] if i > 0 else 0.0 * middle)
                + (u[t, i + 1, j] if i < n - 1 else 0.0 * middle)
                + (u[t, i, j - 1] if j > 0 else 0.0 * middle)
                + (u[t, i, j + 1] if j < n - 1 else 0.0 * middle)
            )
            u[t + 1, i, j] = 2.0 * middle - u[t - 1, i, j] + c * speed[None] * (around - 4.0 * middle)

    @qd.kernel
    def measure(t: qd.i32):
        for i, j in qd.ndrange(n, n):
            loss[None] += u[t, i, j] * u[t, i, j] * (i + 1)

    def run():
        for t in range(1, steps + 1):
            step(t)
        measure(steps + 1)

    def plain(speed, u):
        before, now = u[0], u[1]
        for _ in range(steps):
            after = [[0] * n for _ in range(n)]
            for i in range(n):
                for j in range(n):
                    near = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
                    around = sum((now[a][b] for a, b in near if 0 <= a < n and 0 <= b < n), 0)
                    after[i][j] = 2 * now[i][j] - before[i][j] + speed * (around - 4 * now[i][j]) * c
            before, now = now, after
        return sum((now[i][j] * now[i][j] * (i + 1) for i in range(n) for j in range(n)), 0)

    start = [[[0.0] * n for _ in range(n)] for _ in range(10)]
    start[0][1][1], start[1][1][1], start[1][2][1] = 0.5, 0.75, -0.25
    return agrees(run, plain, {speed: 0.5, u: start}, [loss], loss=loss)


@case(rules=["grad.meaning"], **BOUNDED)
def a_net_of_three_layers(qd, dtype):
    """tanh, relu and a linear layer; weights as one field, dot products in dynamic loops."""
    size = 3
    w, x, loss = real(qd, dtype, (3, size, size)), real(qd, dtype, size), real(qd, dtype, ())
    h = real(qd, dtype, (4, size))

    @qd.kernel
    def load():
        for i in x:
            h[0, i] = x[i]

    @qd.kernel
    def layer(level: qd.i32, kind: qd.i32):
        for i in range(size):
            total = h[level, 0] * 0.0
            for j in range(size):
                total += w[level, i, j] * h[level, j]
            if kind == 0:
                total = qd.tanh(total)
            elif kind == 1:
                total = qd.max(0.0, total)
            h[level + 1, i] = total

    @qd.kernel
    def measure():
        for i in range(size):
            e = h[3, i] - 0.25 * i
            loss[None] += e * e

    def run():
        load()
        for level in range(3):
            layer(level, level)
        measure()

    def plain(w, x):
        for level in range(3):
            x = [sum((w[level][i][j] * x[j] for j in range(size)), 0) for i in range(size)]
            if level == 0:
                x = [tanh(a) for a in x]
            if level == 1:
                x = [a if a > 0 else 0 for a in x]
        return sum(((a - 0.25 * i) * (a - 0.25 * i) for i, a in enumerate(x)), 0)

    weights = [
        [[0.5, -0.75, 0.25], [1.25, 0.5, -0.5], [-0.3, 0.1, 0.7]],
        [[1.0, 0.25, -0.125], [-0.75, 0.5, 0.5], [0.3, -0.9, -1.1]],
        [[0.6, -0.2, 0.4], [0.1, 1.5, -0.7], [-0.5, 0.8, 0.2]],
    ]
    return agrees(run, plain, {w: weights, x: [0.5, -0.25, 1.0]}, [loss], loss=loss)


@case(rules=["grad.overwritten"], params={"steps": [1, 2, 8]}, **BOUNDED)
def time_steps_in_place(qd, dtype, steps):
    """One field, overwritten by every launch: the logistic map with a parameter."""
    r, x, loss = real(qd, dtype, 3), real(qd, dtype, 3), real(qd, dtype, ())

    @qd.kernel
    def step():
        for i in x:
            x[i] = r[i] * x[i] * (1.0 - x[i])

    @qd.kernel
    def measure():
        for i in x:
            loss[None] += x[i] * (i + 1)

    def run():
        for _ in range(steps):
            step()
        measure()

    def plain(r, x):
        for _ in range(steps):
            x = [p * a * (1 - a) for p, a in zip(r, x)]
        return x[0] + 2 * x[1] + 3 * x[2]

    return agrees(run, plain, {r: [1.125, 1.25, 1.375], x: [0.25, 0.4, 0.7]}, [loss], loss=loss)


@case(rules=["grad.meaning", "grad.atomic"], params={"steps": [1, 3]}, **BOUNDED)
def particles_and_a_grid(qd, dtype, steps):
    """Material points in one dimension: scatter mass and momentum to nodes, forces on them, gather velocities."""
    n, nodes, dt = 3, 6, 0.0625
    x, v, stiff, loss = real(qd, dtype, n), real(qd, dtype, n), real(qd, dtype, ()), real(qd, dtype, ())
    mass, momentum = real(qd, dtype, nodes), real(qd, dtype, nodes)

    @qd.kernel
    def clear():
        for i in mass:
            mass[i] = 0.0
            momentum[i] = 0.0

    @qd.kernel
    def scatter():
        for p in x:
            base = qd.cast(x[p] - 0.5, qd.i32)
            f = x[p] - base
            w = qd.Vector([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2])
            for a in qd.static(range(3)):
                mass[base + a] += w[a]
                momentum[base + a] += w[a] * (v[p] + dt * stiff[None] * (a - f) * (x[p] - 2.0))

    @qd.kernel
    def gather():
        for p in x:
            base = qd.cast(x[p] - 0.5, qd.i32)
            f = x[p] - base
            w = qd.Vector([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1.0) ** 2, 0.5 * (f - 0.5) ** 2])
            new = v[p] * 0.0
            for a in qd.static(range(3)):
                if mass[base + a] > 0.0:
                    new += w[a] * momentum[base + a] / mass[base + a]
            v[p] = new
            x[p] = x[p] + dt * new

    @qd.kernel
    def measure():
        for p in x:
            loss[None] += x[p] * x[p] + v[p] * (p + 1)

    def run():
        for _ in range(steps):
            clear()
            scatter()
            gather()
        measure()

    def plain(stiff, x, v):
        return plain_particles(stiff, x, v, steps)

    given = {stiff: 2.0, x: [1.3, 1.9, 2.7], v: [0.5, -0.75, 0.25]}
    return agrees(run, plain, given, [loss], loss=loss)


def weights(a):
    base = int(a - 0.5)
    f = a - base
    return base, f, [(1.5 - f) ** 2 / 2, 0.75 - (f - 1) ** 2, (f - 0.5) ** 2 / 2]


def plain_particles(stiff, x, v, steps, nodes=6, n=3, dt=0.0625):
    for _ in range(steps):
        mass, momentum = [0] * nodes, [0] * nodes
        for a, b in zip(x, v):
            base, f, w = weights(a)
            for c in range(3):
                mass[base + c] = mass[base + c] + w[c]
                momentum[base + c] = momentum[base + c] + w[c] * (b + stiff * (c - f) * (a - 2) * dt)
        new = []
        for a in x:
            base, f, w = weights(a)
            parts = [w[c] * momentum[base + c] / mass[base + c] for c in range(3) if mass[base + c] > 0]
            new.append(sum(parts, 0))
        v = new
        x = [a + b * dt for a, b in zip(x, v)]
    return sum((a * a + b * (p + 1) for p, (a, b) in enumerate(zip(x, v))), 0)


@case(rules=["grad.meaning", "grad.choice"], **BOUNDED)
def a_step_of_smoothed_particles(qd, dtype):
    """Densities and pressures from neighbours inside a radius: branches on distances, sums over pairs."""
    n = 4
    x, rho, loss = real(qd, dtype, (n, 2)), real(qd, dtype, n), real(qd, dtype, ())
    out = real(qd, dtype, (n, 2))

    @qd.kernel
    def density():
        for i in rho:
            total = x[i, 0] * 0.0
            for j in range(n):
                dx, dy = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1]
                q = 1.0 - dx * dx - dy * dy
                if q > 0.0:
                    total += q * q * q
            rho[i] = total

    @qd.kernel
    def push():
        for i in rho:
            fx, fy = x[i, 0] * 0.0, x[i, 0] * 0.0
            for j in range(n):
                if i != j:
                    dx, dy = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1]
                    r = qd.sqrt(dx * dx + dy * dy)
                    if r < 1.0:
                        p = (rho[i] + rho[j] - 2.0) / (2.0 * rho[j]) * (1.0 - r) ** 2 / r
                        fx += p * dx
                        fy += p * dy
            out[i, 0] = x[i, 0] + 0.125 * fx
            out[i, 1] = x[i, 1] + 0.125 * fy

    @qd.kernel
    def measure():
        for i in rho:
            loss[None] += out[i, 0] * out[i, 0] * (i + 1) + qd.exp(out[i, 1]) * rho[i]

    def run():
        density()
        push()
        measure()

    def plain(x):
        def squared(i, j):
            return (x[i][0] - x[j][0]) ** 2 + (x[i][1] - x[j][1]) ** 2

        rho = [sum(((1 - squared(i, j)) ** 3 for j in range(n) if squared(i, j) < 1), 0) for i in range(n)]
        total = 0
        for i in range(n):
            force = [0, 0]
            for j in range(n):
                if i != j and squared(i, j) < 1:
                    r = sqrt(squared(i, j))
                    p = (rho[i] + rho[j] - 2) / (2 * rho[j]) * (1 - r) ** 2 / r
                    force = [force[c] + p * (x[i][c] - x[j][c]) for c in range(2)]
            a, b = (x[i][c] + force[c] / 8 for c in range(2))
            total = total + a * a * (i + 1) + exp(b) * rho[i]
        return total

    return agrees(run, plain, {x: [[0.1, 0.2], [0.7, 0.3], [0.4, 0.9], [1.8, 0.4]]}, [loss], loss=loss)


@case(rules=["grad.meaning", "grad.choice"], params={"steps": [1, 5, 12]}, **BOUNDED)
def a_ball_that_bounces(qd, dtype, steps):
    """Contact with the floor turns the velocity around; a branch in every step, state in place."""
    x, v, bounce, loss = real(qd, dtype, 2), real(qd, dtype, 2), real(qd, dtype, ()), real(qd, dtype, ())

    @qd.kernel
    def step():
        for i in x:
            vel = v[i] - 0.25
            pos = x[i] + 0.25 * vel
            if pos < 0.0:
                vel = -bounce[None] * vel
                pos = -bounce[None] * pos
            x[i] = pos
            v[i] = vel

    @qd.kernel
    def measure():
        for i in x:
            loss[None] += x[i] * x[i] + 0.5 * v[i]

    def run():
        for _ in range(steps):
            step()
        measure()

    def plain(bounce, x, v):
        for _ in range(steps):
            v = [b - 0.25 for b in v]
            x = [a + b / 4 for a, b in zip(x, v)]
            low = [a < 0 for a in x]
            v = [-bounce * b if c else b for b, c in zip(v, low)]
            x = [-bounce * a if c else a for a, c in zip(x, low)]
        return sum((a * a + b / 2 for a, b in zip(x, v)), 0)

    return agrees(run, plain, {bounce: 0.75, x: [0.5, 1.25], v: [0.125, -0.5]}, [loss], loss=loss)
