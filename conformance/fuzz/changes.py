"""Random sequences of launches, gradients, and whatever changes memory between them, against gradients by formula.

Every kernel comes with a function that computes its gradient from what memory held when it was launched, with numpy, by
formula. A gradient is right if it is that of the last launch with the same arguments, or of the launch that could be
made now where there was none. It may be refused, but only if something that the kernel reads has changed. Run as a
program it makes many sequences: `python -m adstack.conformance.fuzz.changes cpu --count 10000`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

import adstack as qd

Kernel: TypeAlias = Any
"""A kernel of the language."""

__all__ = ["DifferenceError", "World", "play"]

Array = npt.NDArray[Any]
Memory = Mapping[str, Array]
N: Final = 4
STEPS: Final = 24
FRESH: Final = 20
"""So many sequences go on with what the ones before have left."""
VALUES: Final = (0.5, -0.5, 1.0, 2.0, -1.5, 0.25)
"""Numbers of few bits, whose products are exact."""


class DifferenceError(AssertionError):
    """A gradient that is neither right nor refused, or one that is refused without a reason."""


@dataclass(frozen=True)
class Kind:
    """A kernel under test.

    Attributes:
        kernel: it takes what `argument` says, and a number.
        reads: the memory that decides its gradient.
        gradient: from that memory, the number, and the adjoints of x and y, what x.grad is in the end.
    """

    kernel: Kernel
    reads: tuple[str, ...]
    gradient: Callable[[Memory, int, Array], Array]
    array: bool = False


class World:
    """Memory of every kind, kernels that are differentiated, and ways to change memory.

    Attributes:
        right, refused: how many gradients were, in all worlds.

    Args:
        seed: of all that is random.
    """

    right = refused = 0

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.x = qd.field(qd.f64, N, needs_grad=True)
        self.y = qd.field(qd.f64, (), needs_grad=True)
        self.w, self.t = qd.field(qd.f64, N), qd.field(qd.f64, ())
        self.n, self.ix = qd.field(qd.i32, N), qd.field(qd.i32, N)
        self.arrays = {"ndarray": qd.ndarray(qd.f64, N), "numpy": np.zeros(N), "view": np.zeros(2 * N)[::1][:N]}
        self.kinds = {**_factors(self), **_deciding(self), **_in_place(self)}
        self.changes = _writers(self)
        self.seen: dict[object, dict[str, Array]] = {}
        self.told: list[str] = []
        for name in ("x", "w", "t", "n", "ix", *self.arrays):
            self.write(name, "all")

    def memory(self) -> dict[str, Array]:
        """A copy of everything."""
        fields = {name: getattr(self, name).to_numpy() for name in ("x", "w", "t", "n", "ix")}
        return {**fields, **{name: self._numpy(array) for name, array in self.arrays.items()}}

    @staticmethod
    def _numpy(array: Any) -> Array:
        return np.array(array) if isinstance(array, np.ndarray) else array.to_numpy()

    def number(self, name: str) -> Any:
        """A number that may stand in some memory."""
        return self.random.randrange(N) if name in ("n", "ix") else self.random.choice(VALUES)

    def write(self, name: str, how: str) -> None:
        """Let the host write."""
        data = self.arrays.get(name, getattr(self, name, None))
        if how == "element" and name != "t":
            data[self.random.randrange(N)] = self.number(name)
        elif name == "t":
            data[None] = self.number(name)
        else:
            values = [self.number(name) for _ in range(N)]
            if isinstance(data, np.ndarray):
                data[:] = values
            else:
                data.from_numpy(np.array(values, np.int32 if name in ("n", "ix") else np.float64))

    # ---- one step

    def step(self) -> None:
        """Do something."""
        what = self.random.choice(("launch", "launch", "gradient", "gradient", "host", "kernel"))
        if what == "host":
            name = self.random.choice(("x", "w", "t", "n", "ix", *self.arrays))
            how = self.random.choice(("element", "all"))
            self.told.append(f"the host writes {name} ({how})")
            self.write(name, how)
        elif what == "kernel":
            name = self.random.choice(list(self.changes))
            at, value = self.random.randrange(N), self.random.choice(VALUES)
            self.told.append(f"{name}({at}, {value})")
            self.changes[name](at, value)
        else:
            self._call(what)

    def settle(self) -> None:
        """Write numbers of few bits where there are others: then everything computed by formula is exact."""
        for name in ("x", "w", "t"):
            scaled = getattr(self, name).to_numpy() * 256
            if (scaled != np.rint(scaled)).any() or (np.abs(scaled) > 1 << 14).any():
                self.told.append(f"the host writes {name} (all)")
                self.write(name, "all")

    def _call(self, what: str) -> None:
        name = self.random.choice(list(self.kinds))
        kind = self.kinds[name]
        array = self.random.choice(list(self.arrays)) if kind.array else ""
        number = self.random.randrange(3)
        args = (self.arrays[array], number) if kind.array else (number,)
        title = name if what == "launch" else f"{name}.grad"
        self.told.append(f"{title}({', '.join([array] * kind.array + [str(number)])})")
        if what == "launch":
            self.seen[name, array, number] = self.memory()
            kind.kernel(*args)
        else:
            self._check(kind, (name, array, number), args)

    def _check(self, kind: Kind, key: object, args: tuple[object, ...]) -> None:
        now = self.memory()
        then = self.seen.get(key, now)
        adjoints = np.array([self.random.choice(VALUES) for _ in range(N)])
        self.x.grad.from_numpy(adjoints)
        self.y.grad[None] = 1.0
        reads = [key[1] if name == "array" else name for name in kind.reads]
        try:
            kind.kernel.grad(*args)
        except qd.AdstackError as error:
            if key in self.seen and all(np.array_equal(then[name], now[name]) for name in reads):
                raise DifferenceError(f"{self._story()}\nrefused, but nothing has changed: {error}") from error
            if not np.array_equal(self.x.grad.to_numpy(), adjoints):
                raise DifferenceError(f"{self._story()}\nrefused, but gradients have changed") from error
            World.refused += 1
            return
        array = {"array": then[key[1]]} if key[1] else {}
        right = kind.gradient({**then, **array}, key[2], adjoints)
        World.right += 1
        if not np.array_equal(self.x.grad.to_numpy(), right):
            raise DifferenceError(f"{self._story()}\nx.grad is {self.x.grad.to_numpy()}, and should be {right}")
        if not all(np.array_equal(now[name], value) for name, value in self.memory().items()):
            raise DifferenceError(f"{self._story()}\nthe gradient has changed memory")

    def _story(self) -> str:
        return "\n".join(self.told)


def _factors(world: World) -> dict[str, Kind]:
    """Kernels that read what they multiply, and where it stands."""
    x, y, w, ix = world.x, world.y, world.w, world.ix

    @qd.kernel
    def weigh(s: qd.i32):
        for i in x:
            y[None] += x[i] * x[i] * w[i] * s

    @qd.kernel
    def gather(s: qd.i32):
        for i in x:
            y[None] += x[ix[i]] * (s + 1)

    @qd.kernel
    def array(a: qd.types.ndarray(), s: qd.i32):
        for i in x:
            y[None] += x[i] * a[i] * s

    def gathered(m: Memory, s: int, g: Array) -> Array:
        g = g.copy()
        np.add.at(g, m["ix"], s + 1)
        return g

    return {
        "weigh": Kind(weigh, ("x", "w"), lambda m, s, g: g + 2 * m["x"] * m["w"] * s),
        "gather": Kind(gather, ("ix",), gathered),
        "array": Kind(array, ("array",), lambda m, s, g: g + m["array"] * s, array=True),
    }


def _deciding(world: World) -> dict[str, Kind]:
    """Kernels whose loops and branches memory decides."""
    x, y, n, t = world.x, world.y, world.n, world.t

    @qd.kernel
    def trips(s: qd.i32):
        for i in x:
            a = 1.0
            for _ in range(n[i]):
                a *= x[i]
            y[None] += a * s

    @qd.kernel
    def sides(s: qd.i32):
        for i in x:
            if x[i] < t[None]:
                y[None] += x[i] * x[i] * s

    def powers(m: Memory, s: int, g: Array) -> Array:
        return g + s * m["n"] * m["x"] ** np.maximum(m["n"] - 1, 0)

    return {
        "trips": Kind(trips, ("x", "n"), powers),
        "sides": Kind(sides, ("x", "t"), lambda m, s, g: g + np.where(m["x"] < m["t"], 2 * m["x"] * s, 0)),
    }


def _in_place(world: World) -> dict[str, Kind]:
    """Kernels that overwrite what they read."""
    x = world.x

    @qd.kernel
    def square(s: qd.i32):
        for i in x:
            x[i] = x[i] * x[i] * 0.5 - s

    @qd.kernel
    def history(s: qd.i32):
        for _ in range(1):
            x[s + 1] = x[s] * x[s]

    def stepped(m: Memory, s: int, g: Array) -> Array:
        g = g.copy()
        g[s], g[s + 1] = g[s] + 2 * m["x"][s] * g[s + 1], 0.0
        return g

    return {
        "square": Kind(square, ("x",), lambda m, s, g: g * m["x"]),
        "history": Kind(history, ("x",), stepped),
    }


def _writers(world: World) -> dict[str, Callable[..., object]]:
    """Kernels that change memory: certainly, under a condition, atomically."""
    x, w, t, n, ix, a = world.x, world.w, world.t, world.n, world.ix, world.arrays["ndarray"]

    @qd.kernel
    def store(i: qd.i32, v: qd.f64):
        x[i] = v

    @qd.kernel
    def halve(i: qd.i32, v: qd.f64):
        for k in x:
            if x[k] > v:
                x[k] = 0.5 * v

    @qd.kernel
    def add(i: qd.i32, v: qd.f64):
        w[i] += v
        t[None] += 0.5

    @qd.kernel
    def turn(i: qd.i32, v: qd.f64):
        for k in ix:
            ix[k] = (ix[k] + i) % N
            n[k] = (n[k] + i) % N

    @qd.kernel
    def into(a: qd.types.ndarray(), i: qd.i32, v: qd.f64):
        a[i] = v

    return {"store": store, "halve": halve, "add": add, "turn": turn, "into": lambda i, v: into(a, i, v)}


def play(seed: int, steps: int = STEPS) -> None:
    """One sequence; raises `DifferenceError` if a gradient is wrong, or refused without a reason."""
    world = World(seed)
    for _ in range(steps):
        world.step()
        world.settle()


def main() -> None:
    """Play many sequences on a backend."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arch")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    qd.init(arch=getattr(qd, asked.arch), default_fp=qd.f64)
    world = World(asked.seed)
    for seed in range(asked.seed, asked.seed + asked.count):
        if seed % FRESH == 0:
            world = World(seed)
        world.random = random.Random(seed)
        for _ in range(STEPS):
            world.step()
            world.settle()
    print(f"{asked.count} sequences of {STEPS} steps on {asked.arch}: {world.right} right, {world.refused} refused")


if __name__ == "__main__":
    main()
