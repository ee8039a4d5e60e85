"""Random kernels to differentiate: smooth, bounded, without a race, with control flow and memory that gradients meet.

Places of a kernel of `smooth_kernel` (absent if it does not use them):

    x1 x2       inputs, only read; elements within [-1.5, 1.5]
    idx n       integers: idx permutes and repeats the elements of x1, n holds trip counts from 0 to 5
    y1 y2       outputs: each iteration stores to its own element, more than once at times
    z1 z2       read and overwritten by the iteration that owns the element; only with `in_place`
    s total     sums by atomic addition: scattered by idx, and all into one
    peak dip    the largest and the least by atomic max and min, between iterations without a tie; only with `extremes`
    t0 t1       locals of the kernel: in each parallel loop either added to or read; only with `shared_locals`
    y0          stored to by serial code; only with `serial_code`, which lets it branch, loop and keep local arrays

Floats stay within a few units: sums are scaled, what loops accumulate is wrapped in sin or tanh, and quotients, roots
and logarithms stay away from the edges of their domains. Conditions look at integers, so a small change of the inputs
changes no path; `value_conditions` lets them look at floats, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import numpy as np

from adstack.ir.builder import Builder
from adstack.ir.scalar_ops import EQ, LT, MOD, NE, SIN, TANH
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import Array, DType, f32, f64, i32, u1
from adstack.ir.verify.verifier import verify

from .smooth_math import STEPS

__all__ = ["smooth_adjoints", "smooth_buffers", "smooth_kernel"]


EXTENTS: dict[int, tuple[int, ...]] = {0: (), 1: (5,), 2: (3, 4)}
CELLS = 4
"""Elements of a local array."""
KEEP = 8
"""How many values stay candidates for operands."""
DEPTH = 3


def smooth_kernel(
    seed: int,
    size: int = 30,
    dtype: DType = f32,
    *,
    in_place: bool = False,
    casts: bool = False,
    value_conditions: bool = False,
    extremes: bool = False,
    shared_locals: bool = False,
    serial_code: bool = False,
) -> Kernel:
    """A verified kernel of about `size` steps; equal seeds give equal kernels."""
    generator = SmoothGenerator(Random(seed), dtype, in_place, value_conditions)
    generator.offer(casts, extremes)
    generator.offer_kernel_level(shared_locals, serial_code)
    kernel = generator.kernel(size)
    verify(kernel)
    return kernel


def smooth_buffers(kernel: Kernel, seed: int) -> dict[str, Array]:
    """Numbers for every place; the same seed gives the same ones."""
    random = Random(seed)
    return {name: _filled(random, place) for name, place in kernel.places.items() if place.kind != "temp"}


def _filled(random: Random, place: Place) -> Array:
    shape = tuple(extent or 0 for extent in place.shape)
    count = math.prod(shape)
    if place.dtype.is_float:
        numbers: list[float] = [random.uniform(-1.5, 1.5) for _ in range(count)]
    else:
        numbers = [random.randint(0, EXTENTS[1][0] if place.name == "n" else EXTENTS[1][0] - 1) for _ in range(count)]
    return np.array(numbers, place.dtype.numpy).reshape(shape)


def smooth_adjoints(kernel: Kernel, seed: int) -> dict[str, Array]:
    """A random adjoint of every place of floats, of either sign and never near 0."""
    random = Random(seed)
    return {
        name: np.array(
            [random.choice((-1, 1)) * random.uniform(0.25, 2.0) for _ in range(math.prod(e or 0 for e in place.shape))],
            place.dtype.numpy,
        ).reshape(tuple(e or 0 for e in place.shape))
        for name, place in kernel.places.items()
        if place.dtype.is_float and place.kind != "temp"
    }


class Scope:
    """What the next step may use."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.floats: list[Value] = list(outer.floats) if outer else []
        self.ints: list[Value] = list(outer.ints) if outer else []
        self.arrays: list[Value] = list(outer.arrays) if outer else []
        self.own: list[Value] = outer.own if outer else []


class SmoothGenerator:
    """Draws from `random`.

    Attributes:
        b: what writes the IR.
        scope: what is at hand.
        dtype: the type of all floats.
        locals: of the kernel, and what the code being written does with each: "add", "read", or "any".
    """

    def __init__(self, random: Random, dtype: DType, in_place: bool, value_conditions: bool) -> None:
        self.random, self.dtype = random, dtype
        self.in_place, self.value_conditions = in_place, value_conditions
        self.b = Builder()
        self.scope = Scope()
        self.places: dict[str, Place] = {}
        self.locals: dict[Place, str] = {}
        self.serial_code = False
        self.depth = 0
        self.other = {f32: f64, f64: f32}.get(dtype, f32)
        weights: dict[Callable[[], None], int] = {self._math: 10, self._load: 4, self._integer: 1}
        weights |= dict.fromkeys((self._for, self._while, self._if, self._store, self._sum), 2)
        weights |= dict.fromkeys((self._array_store, self._array_load), 1)
        self.steps = [step for step, weight in weights.items() for _ in range(weight)]

    def offer(self, casts: bool, extremes: bool) -> None:
        """Add these steps to those that may be drawn."""
        self.steps += [self._cast] * (2 * casts) + [self._extreme] * extremes

    def offer_kernel_level(self, shared_locals: bool, serial_code: bool) -> None:
        """Locals of the kernel, and serial code of every kind."""
        self.serial_code = serial_code
        if shared_locals:
            temps = (Place(f"t{k}", self.dtype, (), "temp") for k in range(2))
            self.locals = {self.places.setdefault(temp.name, temp): "any" for temp in temps}
            self.steps += [self._local] * 4

    def kernel(self, size: int) -> Kernel:
        """Serial code, then one or two parallel loops, then serial code."""
        self._serial(self.random.randint(0, 3))
        for temp in self.locals:
            self.b.store(temp, [], self.real())
        loops = self.random.randint(1, 2) + bool(self.locals)
        for _ in range(loops):
            self._parallel(size // loops)
            if self.serial_code:
                self._serial(self.random.randint(1, 4))
        if self.random.random() < 0.3:
            self._add_to(self.place("total", self.dtype, ()), [], self.real())
        self.b.return_()
        return Kernel("smooth", self.b.region, self.places)

    def place(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Place:
        """The place of this name."""
        return self.places.setdefault(name, Place(name, dtype, shape))

    # ---- operands

    def real(self) -> Value:
        """A float at hand, or a constant."""
        if self.scope.floats and self.random.random() < 0.95:
            return self.random.choice(self.scope.floats)
        return self.number(self.random.uniform(-1.5, 1.5))

    def number(self, value: float) -> Value:
        """A constant float."""
        return self.b.const(value, self.dtype)

    def whole(self, extent: int) -> Value:
        """An integer from 0 up to `extent`."""
        if not self.scope.ints or self.random.random() < 0.2:
            return self.b.const(self.random.randrange(extent), i32)
        return self.b.emit(MOD, self.random.choice(self.scope.ints), self.b.const(extent, i32))

    def keep(self, value: Value) -> Value:
        """A float that later steps may use; the oldest goes."""
        self.scope.floats.append(value)
        del self.scope.floats[:-KEEP]
        return value

    def indices(self, rank: int) -> list[Value]:
        """Any element."""
        return [self.whole(extent) for extent in EXTENTS[rank]]

    def condition(self) -> Value:
        """A comparison of integers, or of floats if allowed."""
        if self.value_conditions and self.random.random() < 0.5:
            return self.b.lt(self.real(), self.number(self.random.uniform(-1, 1)))
        test = self.random.choice((EQ, LT, NE))
        return self.b.emit(test, self.whole(4), self.b.const(self.random.randrange(1, 3), i32))

    # ---- regions

    @contextmanager
    def inside(self, region: Region) -> Iterator[Region]:
        """Write into `region` with a scope of its own."""
        outer, self.scope = self.scope, Scope(self.scope)
        self.depth += 1
        for arg in region.args:
            (self.scope.floats if arg.dtype.is_float else self.scope.ints).append(arg)
        with self.b.into(region):
            yield region
        self.scope = outer
        self.depth -= 1

    def fill(self, steps: int) -> None:
        """Append steps."""
        for _ in range(steps):
            self.random.choice(self.steps)()

    def _serial(self, steps: int) -> None:
        for _ in range(steps):
            self.random.choice(self.steps if self.serial_code else (self._load, self._math))()

    def _parallel(self, steps: int) -> None:
        rank = self.random.randint(1, 2)
        region = Region([Value(i32, "ij"[axis]) for axis in range(rank)])
        bounds = [(self.b.const(0, i32), self.b.const(extent, i32)) for extent in EXTENTS[rank]]
        self.locals = {temp: self.random.choice(("add", "read")) for temp in self.locals}
        with self.inside(region):
            self.scope.arrays = []
            self.scope.own = region.args
            self._load()
            self.fill(steps)
            self._store()
            self._sum()
            self.b.yield_()
        self.b.parallel_for(bounds, region)
        self.locals = dict.fromkeys(self.locals, "any")

    # ---- steps

    def _math(self) -> None:
        self.keep(self.random.choice(STEPS)(self))

    def _cast(self) -> None:
        self.keep(self.b.cast(self.b.cast(self.real(), self.other), self.dtype))

    def _integer(self) -> None:
        loaded = self.b.load(self.place("idx", i32, EXTENTS[1]), self.indices(1))
        self.scope.ints.append(loaded)

    def _load(self) -> None:
        rank = self.random.randint(1, 2)
        own = self.scope.own
        if self.in_place and own and self.random.random() < 0.4:
            name = f"z{len(own)}"
            self.keep(self.b.load(self.place(name, self.dtype, EXTENTS[len(own)]), own))
        else:
            self.keep(self.b.load(self.place(f"x{rank}", self.dtype, EXTENTS[rank]), self.indices(rank)))

    def _store(self) -> None:
        own = self.scope.own
        name = self.random.choice("yz") if self.in_place else "y"
        self.b.store(self.place(f"{name}{len(own)}", self.dtype, EXTENTS[len(own)]), own, self.real())

    def _sum(self) -> None:
        if self.random.random() < 0.5:
            self._add_to(self.place("total", self.dtype, ()), [], self.real())
        else:
            self._add_to(self.place("s", self.dtype, EXTENTS[1]), self.indices(1), self.real())

    def _local(self) -> None:
        """Add a little to a local of the kernel, or read it; in serial code also store to it."""
        if not self.locals:
            self._math()
            return
        temp, use = self.random.choice(list(self.locals.items()))
        if use == "any":
            use = self.random.choice(("store", "read"))
        if use == "read":
            self.keep(self.b.emit(SIN, self.b.load(temp, [])))
        elif use == "store":
            self.b.store(temp, [], self.real())
        else:
            self._add_to(temp, [], self.b.mul(self.b.emit(SIN, self.real()), self.number(0.25)))

    def _extreme(self) -> None:
        """Each iteration has a range of values for itself."""
        if not self.scope.own:
            self._math()
            return
        own = self.b.const(0, i32)
        for axis, index in enumerate(self.scope.own):
            own = self.b.add(self.b.mul(own, self.b.const(EXTENTS[len(self.scope.own)][axis], i32)), index)
        name, kind = self.random.choice((("peak", "max"), ("dip", "min")))
        level = self.b.mul(self.b.cast(own, self.dtype), self.number(2.5))
        value = self.b.add(self.b.emit(SIN, self.real()), level)
        self.b.atomic(kind, self.place(name, self.dtype, ()), [], value)

    def _add_to(self, place: Place, indices: list[Value], value: Value) -> None:
        self.b.atomic("add", place, indices, value)

    def _array_store(self) -> None:
        if not self.scope.arrays or self.random.random() < 0.2:
            self.scope.arrays.append(self.b.array(self.dtype, CELLS))
        self.b.array_store(self.random.choice(self.scope.arrays), self.whole(CELLS), self.real())

    def _array_load(self) -> None:
        if self.scope.arrays:
            self.keep(self.b.array_load(self.random.choice(self.scope.arrays), self.whole(CELLS)))
        else:
            self._array_store()

    # ---- structure

    def _if(self) -> None:
        if self.depth > DEPTH:
            self._math()
            return
        count = self.random.randint(0, 2)
        condition = self.condition()
        regions = []
        for _ in range(2):
            with self.inside(Region()) as region:
                self.fill(self.random.randint(0, 3))
                self.b.yield_(*(self.real() for _ in range(count)))
            regions.append(region)
        for result in self.b.if_(condition, *regions):
            self.keep(result)

    def _trips(self) -> Value:
        """A trip count: constant, read from memory, or an index of a loop around."""
        pick = self.random.randrange(3)
        if pick == 0:
            return self.b.const(self.random.randint(0, 4), i32)
        return self.b.load(self.place("n", i32, EXTENTS[1]), self.indices(1)) if pick == 1 else self.whole(5)

    def _for(self) -> None:
        if self.depth > DEPTH:
            self._math()
            return
        trips = self._trips()
        carried = [self.real() for _ in range(self.random.randint(0, 3))]
        moving = [self.whole(EXTENTS[1][0])] if self.random.random() < 0.4 else []
        args = [Value(v.type) for v in (*carried, *moving)]
        with self.inside(Region([Value(i32, "k"), *args])) as region:
            self.fill(self.random.randint(1, 4))
            self.b.yield_(*(self._next(arg) for arg in args))
        self._results(self.b.for_(self.b.const(0, i32), trips, [*carried, *moving], region))

    def _next(self, arg: Value) -> Value:
        """The next value of a carried one: a sum, any float, or for an index the one that it points to."""
        if not arg.dtype.is_float:
            at = self.b.emit(MOD, arg, self.b.const(EXTENTS[1][0], i32))
            return self.b.load(self.place("idx", i32, EXTENTS[1]), [at])
        if self.random.random() < 0.4:
            return self.b.add(arg, self.b.mul(self.real(), self.number(0.125)))
        return self.random.choice(STEPS)(self) if self.random.random() < 0.7 else self.real()

    def _results(self, results: list[Value]) -> None:
        for result in results:
            if result.dtype.is_float:
                self.keep(self.b.emit(self.random.choice((SIN, TANH)), result))
            else:
                self.scope.ints.append(result)

    def _while(self) -> None:
        """Counts, and stops early when a flag that the body sets goes down."""
        if self.depth > DEPTH:
            self._math()
            return
        trips = self._trips()
        flag = self.b.const(True, u1)
        floats = [self.real() for _ in range(self.random.randint(1, 2))]
        carried = [self.b.const(0, i32), flag, *floats]
        results = self.b.while_(carried, self._goes_on(carried, trips), self._body(carried))
        self._results([results[0], *results[2:]])

    def _goes_on(self, carried: list[Value], trips: Value) -> Region:
        args = [Value(v.type) for v in carried]
        with self.inside(Region(args)) as region:
            self.scope.ints.remove(args[1])
            if self.random.random() < 0.3:
                self._math()
            choice = self.b.and_(self.b.lt(args[0], trips), args[1])
            self.b.yield_(choice, args[0], args[1], *(self._kept(arg) for arg in args[2:]))
        return region

    def _kept(self, arg: Value) -> Value:
        """The float that a condition region yields for a carried one: in most cases the same."""
        return arg if self.random.random() < 0.8 else self.b.emit(SIN, arg)

    def _body(self, carried: list[Value]) -> Region:
        args = [Value(v.type) for v in carried]
        with self.inside(Region(args)) as region:
            self.scope.ints.remove(args[1])
            self.fill(self.random.randint(1, 3))
            counted = self.b.add(args[0], self.b.const(1, i32))
            goes_on = self.b.not_(self.condition()) if self.random.random() < 0.5 else args[1]
            self.b.yield_(counted, goes_on, *(self._next(arg) for arg in args[2:]))
        return region
