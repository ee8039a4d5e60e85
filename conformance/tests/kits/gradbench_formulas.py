"""What GradBench's evals define, as formulas of numpy, and their derivatives by complex steps: good to all digits.

`python conformance/tests/kits/gradbench_formulas.py` writes the golden numbers that the programs are held to, for
the examples of their modules. An analytic function has its derivative in the imaginary part of f(x + ih), without
the cancellation of a difference.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adstack.conformance.programs.gradbench import EVALS

Array = npt.NDArray[Any]
GOLDEN = Path(__file__).parent.parent / "conformance" / "gradbench_golden.json"
SMALL = 1e-30


def slopes(function: Callable[[Array], Any], x: Any) -> Array:
    """The derivatives of all that the function gives, by each number in x: the last axis is x's, flat."""
    columns = []
    start = np.array(x, np.complex128)
    for n in range(start.size):
        moved = start.copy()
        moved.reshape(-1)[n] += 1j * SMALL
        columns.append(np.imag(function(moved)) / SMALL)
    return np.stack(columns, axis=-1)


def hello(inputs: float) -> dict[str, Any]:
    return {"square": inputs**2, "double": 2.0 * inputs}


def lse(inputs: dict[str, Any]) -> dict[str, Any]:
    x = np.array(inputs["x"])
    weights = np.exp(x - x.max())
    return {"primal": x.max() + np.log(weights.sum()), "gradient": weights / weights.sum()}


def llsq(inputs: dict[str, Any]) -> dict[str, Any]:
    t = np.linspace(-1.0, 1.0, inputs["n"])
    powers = t[:, None] ** np.arange(len(inputs["x"]))
    rest = np.sign(t) - powers @ inputs["x"]
    return {"primal": 0.5 * rest @ rest, "gradient": -powers.T @ rest}


def det(inputs: dict[str, Any]) -> dict[str, Any]:
    side = inputs["ell"]
    a = np.reshape(inputs["A"], (side, side))
    return {"primal": leibniz(a), "gradient": slopes(lambda flat: leibniz(flat.reshape(side, side)), inputs["A"])}


def leibniz(a: Array) -> Any:
    """The determinant, a term for each permutation."""
    total = 0.0
    for order in permutations(range(len(a))):
        swaps = sum(p > q for n, p in enumerate(order) for q in order[n:])
        total += (-1) ** swaps * np.prod(a[range(len(a)), order])
    return total


def kmeans(inputs: dict[str, Any]) -> dict[str, Any]:
    points, centroids = np.array(inputs["points"]), np.array(inputs["centroids"])
    squares = ((points[:, None] - centroids) ** 2).sum(-1)
    means = [points[squares.argmin(1) == j].mean(0) for j in range(len(centroids))]
    return {"cost": squares.min(1).sum(), "dir": centroids - np.array(means)}


def ode(inputs: dict[str, Any]) -> dict[str, Any]:
    def solve(x: Array) -> Array:
        y, h = np.zeros_like(x), 2.0 / inputs["s"]

        def slope(y: Array) -> Array:
            return np.concatenate([x[:1], x[1:] * y[:-1]])

        for _ in range(inputs["s"]):
            first = slope(y)
            second = slope(y + h / 2 * first)
            third = slope(y + h / 2 * second)
            y = y + h / 6 * (first + 2 * second + 2 * third + slope(y + h * third))
        return y

    x = np.array(inputs["x"])
    return {"primal": solve(x), "gradient": slopes(lambda x: solve(x)[-1], x)}


def particle(inputs: dict[str, Any]) -> dict[str, Any]:
    """What GradBench itself takes for right, from w = 0 on: where its descent ends."""
    return dict.fromkeys(("rr", "ff", "fr", "rf"), 0.2071918746486116)


def saddle(inputs: dict[str, Any]) -> dict[str, Any]:
    """As above, from (1, 1) on; the saddle itself is at zero."""
    return dict.fromkeys(("rr", "ff", "fr", "rf"), [8.246324826140356e-06] * 4)


def gmm(data: dict[str, Any]) -> dict[str, Any]:
    d, k = data["d"], data["k"]
    sizes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    start = {name: np.reshape(data[name], shape) for name, shape in sizes.items()}

    def value(**inputs: Array) -> Any:
        alpha, mu, q, below = {**start, **inputs}.values()
        factors = [factor(q[j], below[j]) for j in range(k)]
        return posterior(data, alpha, mu, factors)

    parts = {name: slopes(lambda x, name=name: value(**{name: x}), start[name]) for name in sizes}
    return {"objective": value(), "jacobian": {name: part.reshape(sizes[name]) for name, part in parts.items()}}


def factor(q: Array, below: Array) -> Array:
    """The lower triangular matrix Q of a component: exp(q) on its diagonal, the rest column by column."""
    matrix = np.diag(np.exp(q)).astype(np.result_type(q, below))
    columns, rows = np.triu_indices(len(q), 1)
    matrix[rows, columns] = below
    return matrix


def posterior(inputs: dict[str, Any], alpha: Array, mu: Array, factors: list[Array]) -> Any:
    """The logarithm of the likelihood times the prior, by the densities as textbooks have them."""
    d, freedom, gamma = inputs["d"], inputs["d"] + inputs["m"] + 1, inputs["gamma"]
    weights, likelihood, prior = np.exp(alpha) / np.exp(alpha).sum(), 1.0, 1.0
    for x in inputs["x"]:
        apart = [Q @ (np.array(x) - m) for Q, m in zip(factors, mu, strict=True)]
        densities = [np.prod(np.diag(Q)) * np.exp(-0.5 * a @ a) for Q, a in zip(factors, apart, strict=True)]
        likelihood *= (2 * np.pi) ** (-d / 2) * weights @ np.array(densities)
    gammas = np.pi ** (d * (d - 1) / 4) * math.prod(math.gamma((freedom - j) / 2) for j in range(d))
    for matrix in factors:
        trace = gamma**2 * (matrix * matrix).sum()
        power = np.prod(np.diag(matrix)) ** (freedom - d - 1)
        prior *= power * np.exp(-trace / 2) / (2 ** (freedom * d / 2) * gamma ** (-freedom * d) * gammas)
    return np.log(likelihood * prior)


def ba(inputs: dict[str, Any]) -> dict[str, Any]:
    def error(p: Array) -> Array:
        axis, place = p[:3], p[11:14] - p[3:6]
        angle = np.sqrt(axis @ axis)
        unit = axis / angle
        turned = place * np.cos(angle) + np.cross(unit, place) * np.sin(angle)
        turned = turned + unit * (unit @ place) * (1 - np.cos(angle))
        flat = turned[:2] / turned[2]
        square = flat @ flat
        return p[14] * (flat * (1 + p[9] * square + p[10] * square**2) * p[6] + p[7:9] - np.array(inputs["feat"]))

    p, n, m, count, w = [*inputs["cam"], *inputs["x"], inputs["w"]], inputs["n"], inputs["m"], inputs["p"], inputs["w"]
    values = [*slopes(error, p).reshape(-1), -2.0 * w]
    first = [*range(11), *range(11 * n, 11 * n + 3), 11 * n + 3 * m]
    places = {"rows": [*range(0, 450, 15)][:30], "cols": first * 2, "vals": values}
    ends = [*range(0, 30 * count, 15), *range(30 * count, 31 * count + 1)]
    places["rows"], places["cols"] = [*ends[:30], ends[-1]], [*first, *first, 11 * n + 3 * m + count - 1]
    elements = {"elements": error(np.array(p)), "repeated": count}
    return {
        "objective": {"reproj_error": elements, "w_err": {"element": 1 - w**2, "repeated": count}},
        "jacobian": places,
    }


def ht(inputs: dict[str, Any]) -> dict[str, Any]:
    us, theta = np.array(inputs["us"]), np.array(inputs["theta"])
    by_theta = slopes(lambda x: hand(inputs, x, us).reshape(-1), theta)
    by_us = slopes(lambda shift: hand(inputs, theta, us + shift).reshape(-1), np.zeros(2))
    return {"objective": hand(inputs, theta, us).reshape(-1), "jacobian": np.concatenate([by_us, by_theta], axis=1)}


def hand(inputs: dict[str, Any], theta: Array, us: Array) -> Array:
    model = inputs["data"]["model"]
    angles = np.zeros((len(model["parents"]), 3), theta.dtype)
    for finger in range(5):
        angles[2 + 4 * finger, :2] = theta[6 + 4 * finger : 8 + 4 * finger]
        angles[3 + 4 * finger : 5 + 4 * finger, 0] = theta[8 + 4 * finger : 10 + 4 * finger]
    places: Array = np.zeros((3, len(model["base_positions"])))
    absolutes: list[Array] = []
    for b, parent in enumerate(model["parents"]):
        turn = np.eye(4, dtype=theta.dtype)
        turn[:3, :3] = about(angles[b, 1], 2) @ about(angles[b, 2], 1) @ about(angles[b, 0], 0)
        relative = np.array(model["base_relatives"][b]) @ turn
        absolutes.append(relative if parent < 0 else absolutes[parent] @ relative)
        moved = absolutes[b] @ np.array(model["inverse_base_absolutes"][b]) @ np.transpose(model["base_positions"])
        places = places + moved[:3] * np.array(model["weights"])[:, b]
    places[0] *= -1.0 if model["is_mirrored"] else 1.0
    x, y, z = theta[:3]
    size = np.sqrt(x * x + y * y + z * z)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / size
    rotation = np.eye(3) + cross * np.sin(size) + cross @ cross * (1 - np.cos(size))
    places = rotation @ places + theta[3:6, None]
    weights = np.concatenate([us, 1 - us.sum(1, keepdims=True)], axis=1)
    corners = np.array(model["triangles"])[inputs["data"]["correspondences"]]
    return np.array(inputs["data"]["points"]) - np.einsum("rij,ij->ir", places[:, corners], weights)


def about(angle: Any, axis: int) -> Array:
    """The rotation by an angle about a coordinate axis."""
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3, dtype=np.asarray(angle).dtype)
    matrix[first, first] = matrix[second, second] = np.cos(angle)
    matrix[first, second], matrix[second, first] = -np.sin(angle), np.sin(angle)
    return matrix


def lstm(inputs: dict[str, Any]) -> dict[str, Any]:
    main, extra = np.array(inputs["main_params"]), np.array(inputs["extra_params"])
    by_main = slopes(lambda x: network(inputs, x, extra), main)
    by_extra = slopes(lambda x: network(inputs, main, x), extra)
    return {"objective": network(inputs, main, extra), "jacobian": np.concatenate([by_main, by_extra])}


def network(inputs: dict[str, Any], main: Array, extra: Array) -> Any:
    text, total = np.array(inputs["sequence"]), 0.0
    state = [np.array(row, np.complex128) for row in inputs["state"]]
    for now, later in pairwise(text):
        signal = now * extra[0]
        for layer in range(len(state) // 2):
            weights, biases = main[2 * layer].reshape(4, -1), main[2 * layer + 1].reshape(4, -1)
            hidden, cell = state[2 * layer], state[2 * layer + 1]
            forget, out = (1 / (1 + np.exp(-(signal * weights[n] + biases[n]))) for n in (0, 2))
            ingate = 1 / (1 + np.exp(-(hidden * weights[1] + biases[1])))
            cell = cell * forget + ingate * np.tanh(hidden * weights[3] + biases[3])
            signal = out * np.tanh(cell)
            state[2 * layer], state[2 * layer + 1] = signal, cell
        said = signal * extra[1] + extra[2]
        total = total + later @ (said - np.log(2 + np.exp(said).sum()))
    value = -total / ((len(text) - 1) * text.shape[1])
    return value if np.iscomplexobj(main) or np.iscomplexobj(extra) else value.real


FORMULAS = (hello, gmm, ba, ht, lstm, lse, llsq, det, kmeans, ode, particle, saddle)


def golden() -> dict[str, Any]:
    """What each function of each eval gives for its example, as JSON has it."""
    results = {formula.__name__: formula(EVALS[formula.__name__].EXAMPLE) for formula in FORMULAS}
    return dict(json.loads(json.dumps(results, default=lambda x: x.tolist())))


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(golden(), indent=1) + "\n", "utf-8")
