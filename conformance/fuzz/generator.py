"""Grows a random kernel op by op.

No race, whatever is drawn: inside a parallel loop a thread stores only to its own element of the places that the loop
owns, combines atomically only into the loop's accumulators (integers, one commutative kind each, the old value unused),
and reads at random only from places that the loop does not write. Serial code may do anything. Indices are taken modulo
the extent, loops run a few times at most, and no bit of a NaN is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from adstack.ir.builder import Builder
from adstack.ir.opdef import CLASSES, OpDef
from adstack.ir.ops import ATOMICS, TABLE
from adstack.ir.scalar_ops import BITCAST, CONST, MOD
from adstack.ir.structure import Kernel, Op, Place, Region, Value
from adstack.ir.types import ALL, FLOATS, INTS, ArrayType, DType, by_name, i32, u1

from .values import EXTENTS, random_number

__all__ = ["Generator"]

Step = Callable[[int], None]

COMMUTATIVE = ("add", "mul", "min", "max", "and", "or", "xor")
KEEP = 6
"""How many values of a type stay candidates for operands."""


class CountingBuilder(Builder):
    """A builder that knows how many ops it has appended."""

    count = 0

    def append(self, *args: Any, **kwargs: Any) -> Op:
        """See `Builder.append`."""
        self.count += 1
        return super().append(*args, **kwargs)


class Scope:
    """What the next op may use: values by type, local arrays, and the memory rules of the loop around it."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.values: dict[DType, list[Value]] = {t: [] if outer is None else list(outer.values[t]) for t in ALL}
        self.arrays: list[Value] = list(outer.arrays) if outer else []
        self.owned: list[Place] = outer.owned if outer else []
        self.sums: dict[str, str] = outer.sums if outer else {}
        self.own_index: list[Value] | None = outer.own_index if outer else None

    @property
    def parallel(self) -> bool:
        """Whether the code stands in a parallel loop."""
        return self.own_index is not None

    def add(self, value: Value) -> Value:
        """Make a scalar a candidate; the oldest of its type goes."""
        pool = self.values[value.dtype]
        pool.append(value)
        del pool[:-KEEP]
        return value


class Generator:
    """Draws from `random`.

    Args:
        random: where all choices come from.
        transcendentals: draw the ops that are lowered to algorithms, too.
        traps: draw the ops that are errors of debug mode for some operands, too.
        types: of all values.
        sums: integers that iterations may add up together.
    """

    def __init__(
        self,
        random: Random,
        transcendentals: bool = True,
        traps: bool = True,
        types: Sequence[DType] = ALL,
        sums: Sequence[DType] = INTS,
    ) -> None:
        self.random, self.types, self.sums = random, types, sums
        self.b = CountingBuilder()
        self.scope = Scope()
        self.places: dict[str, Place] = {}
        self.depth = 0
        drawable = [row for row in TABLE.values() if _drawable(row)]
        drawable = [row for row in drawable if transcendentals or not row.transcendental]
        self.pure = [row for row in drawable if traps or row.trap is None]
        self.steps = self._weighted()

    def _weighted(self) -> list[Step]:
        weights: dict[Step, int] = {self._pure: 12, self._load: 3, self._store: 2, self._atomic: 2}
        rare = (self._if, self._for, self._while, self._array, self._array_load, self._array_store)
        weights |= dict.fromkeys((*rare, self._const, self._bitcast, self._shape, self._assert), 1)
        return [step for step, weight in weights.items() for _ in range(weight)]

    def kernel(self, size: int) -> Kernel:
        """A kernel of about `size` ops: parameters, serial code, parallel loops, returned scalars."""
        body = self.b.region
        for number in range(self.random.randint(0, 3)):
            body.define((self.scope.add(Value(self.random.choice(self.types), f"p{number}")),))
        loops = self.random.randint(1, 3)
        for _ in range(loops):
            self._fill(self.random.randint(0, max(1, size // 8)))
            self._parallel(max(2, (size - self.b.count) // loops))
        self._fill(max(0, size - self.b.count))
        returned = [self.value(self.random.choice(self.types)) for _ in range(self.random.randint(0, 2))]
        self.b.return_(*returned)
        return Kernel("random", body, self.places, tuple(v.dtype for v in returned))

    # ---- operands

    def value(self, dtype: DType) -> Value:
        """A value of `dtype` that is at hand, or a constant."""
        pool = self.scope.values[dtype]
        if pool and self.random.random() < 0.9:
            return self.random.choice(pool)
        return self.scope.add(self.b.const(random_number(self.random, dtype), dtype))

    def index(self, extent: int | Value, dtype: DType | None = None) -> Value:
        """An index below `extent` (a Value of its own type, or a small number)."""
        if isinstance(extent, Value):
            return self.b.emit(MOD, self.value(extent.dtype), extent)
        dtype = dtype or self.random.choice(INTS)
        return self.b.emit(MOD, self.value(dtype), self.b.const(extent, dtype))

    def place(self, dtype: DType, rank: int) -> Place:
        """The place of this type and rank; fields and ndarrays by the toss of a coin."""
        name = f"{dtype}_{rank}"
        if name not in self.places:
            array = rank > 0 and self.random.random() < 0.5
            shape: tuple[int | None, ...] = (None,) * rank if array else EXTENTS[rank]
            self.places[name] = Place(name, dtype, shape, "ndarray" if array else "field")
        return self.places[name]

    def indices(self, place: Place) -> list[Value]:
        """One index in bounds per axis of any place."""
        return [self.index(self._extent(place, axis)) for axis in range(place.rank)]

    def _extent(self, place: Place, axis: int) -> int | Value:
        extent = place.shape[axis]
        return self.b.shape(place, axis, self.random.choice(INTS)) if extent is None else extent

    def access(self, place: Place) -> list[Value]:
        """Indices that the scope may touch: the thread's own element of an owned place, else anywhere."""
        own = self.scope.own_index
        return list(own) if own is not None and place in self.scope.owned else self.indices(place)

    # ---- regions

    @contextmanager
    def inside(self, region: Region) -> Iterator[Region]:
        """Write into `region` with a scope of its own."""
        outer, self.scope = self.scope, Scope(self.scope)
        self.depth += 1
        for arg in region.args:
            self.scope.add(arg)
        with self.b.into(region):
            yield region
        self.scope = outer
        self.depth -= 1

    def _fill(self, size: int) -> None:
        """Append about `size` ops."""
        end = self.b.count + size
        while self.b.count < end:
            self.random.choice(self.steps)(end - self.b.count)

    def _part(self, size: int) -> int:
        return self.random.randint(0, min(size, 12))

    def _parallel(self, size: int) -> None:
        rank = self.random.randint(1, 2)
        dtype = self.random.choice(INTS)
        bounds = [(self.b.const(self.random.randint(0, 1), dtype), self.b.const(n, dtype)) for n in EXTENTS[rank]]
        region = Region([Value(dtype, "ij"[axis]) for axis in range(rank)])
        with self.inside(region):
            self._own(region.args, rank)
            self._fill(size)
            for place in self.scope.owned:
                self.b.store(place, region.args, self.value(place.dtype))
            self.b.yield_()
        self.b.parallel_for(bounds, region)

    def _own(self, indices: list[Value], rank: int) -> None:
        """The memory rules of a new parallel loop. A handle made outside belongs to another thread."""
        self.scope.arrays = []
        self.scope.own_index = indices
        self.scope.owned = [self.place(dtype, rank) for dtype in self.random.sample(self.types, 3)]
        self.scope.sums = {f"sum_{t}": self.random.choice(COMMUTATIVE) for t in self.random.sample(self.sums, 2)}

    # ---- steps; each takes how many ops are left

    def _const(self, size: int) -> None:
        dtype = self.random.choice(self.types)
        self.scope.add(self.b.const(random_number(self.random, dtype), dtype))

    def _pure(self, size: int) -> None:
        row = self.random.choice(self.pure)
        types = {
            word: self.random.choice([dtype for dtype in allowed if dtype in self.types])
            for word, allowed in row.signature.classes.items()
        }
        operands = [self.value(types[word] if word in types else by_name(word)) for word in row.signature.inputs]
        attrs = {"to": self.random.choice(self.types)} if "to" in row.attrs else {}
        self.scope.add(self.b.emit(row, *operands, **attrs))

    def _bitcast(self, size: int) -> None:
        source = self.random.choice(self.types)
        x = self.value(source)
        if source.is_float:
            x = self.b.select(self.b.eq(x, x), x, self.b.const(0.0, source))
        to = self.random.choice([t for t in self.types if t.bits == source.bits])
        self.scope.add(self.b.bitcast(x, to))

    def _shape(self, size: int) -> None:
        rank = self.random.randint(1, 2)
        place = self.place(self.random.choice(self.types), rank)
        self.scope.add(self.b.shape(place, self.random.randrange(rank), self.random.choice(INTS)))

    def _load(self, size: int) -> None:
        place = self.place(self.random.choice(self.types), self.random.randint(0, 2))
        self.scope.add(self.b.load(place, self.access(place)))

    def _store(self, size: int) -> None:
        if self.scope.parallel:
            place = self.random.choice(self.scope.owned)
        else:
            place = self.place(self.random.choice(self.types), self.random.randint(0, 2))
        self.b.store(place, self.access(place), self.value(place.dtype))

    def _atomic(self, size: int) -> None:
        if self.scope.parallel and self.random.random() < 0.7:
            self._accumulate()
            return
        if self.scope.parallel:
            place = self.random.choice(self.scope.owned)
        else:
            place = self.place(self.random.choice(self.types), self.random.randint(0, 2))
        kinds = [kind for kind in ATOMICS.values() if place.dtype in CLASSES[kind.over]]
        kind = self.random.choice([k for k in kinds if k.name != "cas" or place.dtype not in FLOATS])
        indices = self.access(place)
        values = [self.value(place.dtype) for _ in range(kind.operands)]
        self.scope.add(self.b.atomic(kind.name, place, indices, *values))

    def _accumulate(self) -> None:
        name, kind = self.random.choice(list(self.scope.sums.items()))
        place = self.places.setdefault(name, Place(name, by_name(name[4:]), EXTENTS[1]))
        self.b.atomic(kind, place, self.indices(place), self.value(place.dtype))

    def _array(self, size: int) -> None:
        self.scope.arrays.append(self.b.array(self.random.choice(self.types), self.random.randint(1, 4)))
        self._array_store(size)

    def _array_load(self, size: int) -> None:
        if not self.scope.arrays:
            self._array(size)
            return
        handle = self.random.choice(self.scope.arrays)
        assert isinstance(handle.type, ArrayType)
        self.scope.add(self.b.array_load(handle, self.index(handle.type.length)))

    def _array_store(self, size: int) -> None:
        if not self.scope.arrays:
            self._array(size)
            return
        handle = self.random.choice(self.scope.arrays)
        assert isinstance(handle.type, ArrayType)
        self.b.array_store(handle, self.index(handle.type.length), self.value(handle.type.dtype))

    def _assert(self, size: int) -> None:
        x = self.value(self.random.choice(self.types))
        self.b.assert_(self.b.or_(self.value(u1), self.b.const(True, u1)), "never {}", x)  # noqa: PT009 - the op, not unittest's

    def _carried(self) -> list[Value]:
        return [self.value(self.random.choice(self.types)) for _ in range(self.random.randint(0, 3))]

    def _if(self, size: int) -> None:
        if self.depth > 3:
            self._pure(size)
            return
        types = [self.random.choice(self.types) for _ in range(self.random.randint(0, 2))]
        condition = self.value(u1)
        regions = []
        for _ in range(2):
            with self.inside(Region()) as region:
                self._fill(self._part(size))
                self.b.yield_(*[self.value(t) for t in types])
            regions.append(region)
        for result in self.b.if_(condition, *regions):
            self.scope.add(result)

    def _for(self, size: int) -> None:
        if self.depth > 3:
            self._pure(size)
            return
        dtype = self.random.choice(INTS)
        lo, hi = self.index(3, dtype), self.index(5, dtype)
        carried = self._carried()
        with self.inside(Region([Value(dtype, "k"), *(Value(v.type) for v in carried)])) as region:
            self._fill(self._part(size))
            self.b.yield_(*[self.value(v.dtype) for v in carried])
        for result in self.b.for_(lo, hi, carried, region):
            self.scope.add(result)

    def _while(self, size: int) -> None:
        if self.depth > 3:
            self._pure(size)
            return
        carried = [self.b.const(0, i32), *self._carried()]
        regions = [self._condition(carried, size), self._body(carried, size)]
        for result in self.b.while_(carried, *regions):
            self.scope.add(result)

    def _condition(self, carried: list[Value], size: int) -> Region:
        """A condition region: a drawn u1, and at most four iterations, which the first carried value counts."""
        with self.inside(Region([Value(v.type) for v in carried])) as region:
            self._fill(self._part(size))
            below = self.b.lt(region.args[0], self.b.const(self.random.randint(0, 4), i32))
            goes_on = self.b.and_(below, self.value(u1))
            self.b.yield_(goes_on, region.args[0], *[self.value(v.dtype) for v in carried[1:]])
        return region

    def _body(self, carried: list[Value], size: int) -> Region:
        with self.inside(Region([Value(v.type) for v in carried])) as region:
            self._fill(self._part(size))
            counted = self.b.add(region.args[0], self.b.const(1, i32))
            self.b.yield_(counted, *[self.value(v.dtype) for v in carried[1:]])
        return region


def _drawable(row: OpDef) -> bool:
    """Rows that need no more than operands of the right types."""
    return row.pure and row.signature.line is not None and row not in (CONST, BITCAST)
