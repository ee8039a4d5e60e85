"""Calls of all kinds, right and wrong, and what they do to the world: made once by machine code and once by Python.

A `World` is kernels with arrays, fields and an object of a data-oriented class. Two worlds are made alike; in one, no
call is ever left to machine code. An argument is described by what makes it (`Make`), so that each world has its own.
"""

from __future__ import annotations

import decimal
import fractions
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import matrices_kit
import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

import adstack as qd
from adstack.kernels import kernel as kernels

Array = npt.NDArray[Any]
Make = Callable[["World"], Any]
"""Makes an argument, for a world."""

VECTOR = qd.types.vector(2, qd.f32)
SCALARS = (qd.i8, qd.u8, qd.i16, qd.u16, qd.i32, qd.u32, qd.i64, qd.u64, qd.f16, qd.f32, qd.f64, qd.u1)


class Whole(int):
    """An integer of a program's own kind."""


class Real(float):
    """A float of a program's own kind."""


class Indexed:
    """Something that can be an index."""

    def __index__(self) -> int:
        return 3

    def __repr__(self) -> str:
        return "Indexed()"


class Item:
    """Something that has one number in it, as tensors have."""

    shape = ()

    def __init__(self, value: object) -> None:
        self.value = value

    def item(self) -> object:
        return self.value

    def __repr__(self) -> str:
        return f"Item({self.value!r})"


class Tensor:
    """As much of a torch tensor of the host as calls need."""

    __module__ = "torch"
    device = SimpleNamespace(type="cpu")

    def __init__(self, array: Array, *, requires_grad: bool = False) -> None:
        self.array, self.requires_grad = array, requires_grad
        self.grad: Any = Tensor(np.zeros_like(array)) if requires_grad else None

    def detach(self) -> Tensor:
        return Tensor(self.array)

    def numpy(self) -> Array:
        if self.requires_grad:
            raise RuntimeError("can't call numpy() on a tensor that requires grad")
        return self.array

    def __repr__(self) -> str:
        return f"Tensor({self.array!r})"


class Own(np.ndarray[Any, Any]):
    """An array of a program's own kind."""


@qd.data_oriented
class Holder:
    """Baked in: numbers, a field; one of its methods takes a number and an array."""

    def __init__(self, field: Any) -> None:
        self.scale = 2
        self.field = field

    @qd.kernel
    def keep(self, a: qd.i32, x: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.f64:
        x[0] = a
        return self.field[0] * self.scale + a


def numbers_kernel(dtype: Any) -> Any:
    """A kernel that gives a number of a type back, and keeps it in an array."""

    @qd.kernel
    def same(x: qd.types.ndarray(dtype=dtype, ndim=1), a: dtype) -> dtype:
        x[1] = a
        return a

    return same


def mixed_kernels() -> dict[str, Any]:
    """Kernels of several parameters."""

    @qd.kernel
    def put(x: qd.types.ndarray(dtype=qd.f32, ndim=1), at: qd.i32, value: qd.f32):
        if at >= 0 and at < x.shape[0]:
            x[at] = value

    @qd.kernel
    def total(x: qd.types.ndarray(ndim=2), flag: qd.u1) -> qd.f64:
        s = qd.cast(0, qd.f64)
        for i, j in qd.ndrange(x.shape[0], x.shape[1]):
            s += x[i, j] * (10 * i + j)
        if flag:
            s = -s
        return s

    @qd.kernel
    def copy(x: qd.types.ndarray(), y: qd.types.ndarray(dtype=qd.f64, ndim=1)):
        y[0] = x.shape[0]

    @qd.kernel
    def pairs(x: qd.types.ndarray(dtype=VECTOR, ndim=1), v: VECTOR):
        for i in x:
            x[i] += v

    @qd.kernel
    def either(t: qd.template(), a: qd.f32) -> qd.f32:
        return a + t

    return {"put": put, "total": total, "copy": copy, "pairs": pairs, "either": either, **matrices_kit.kernels()}


class World:
    """Kernels, and memory that they work on."""

    def __init__(self) -> None:
        self.field = qd.field(qd.f32, 3)
        self.field.fill(0.5)
        self.holder = Holder(self.field)
        self.arrays = {
            (dtype, rank, grad): qd.ndarray(dtype, (3,) * rank, needs_grad=grad) for dtype, rank, grad in _ARRAYS
        }
        self.arrays[VECTOR, 1, False] = qd.ndarray(VECTOR, (3,))
        for k, array in enumerate(self.arrays.values()):
            array.fill(k)
        self.kernels = {f"same {dtype}": numbers_kernel(dtype) for dtype in SCALARS} | mixed_kernels()
        self.kernels["keep"] = self.holder.keep

    def warm_up(self) -> None:
        """Let machine code serve what it can."""
        for _ in range(2):
            for dtype in SCALARS:
                for x in (self.arrays[dtype, 1, False], np.zeros(3, dtype.numpy), Tensor(np.zeros(3, dtype.numpy))):
                    self.kernels[f"same {dtype}"](x, 1.0 if dtype.is_float else dtype is qd.u1 or 1)
            for x in (self.arrays[qd.f32, 1, False], self.arrays[qd.f32, 1, True], np.zeros(3, np.float32)):
                self.kernels["put"](x, 1, 0.5)
                self.holder.keep(1, x)
            for dtype in (qd.f32, qd.i64):
                self.kernels["total"](self.arrays[dtype, 2, False], True)
                self.kernels["total"](np.ones((2, 3), dtype.numpy), False)
                self.kernels["copy"](np.ones(3, dtype.numpy), self.arrays[qd.f64, 1, False])
            matrices_kit.warm_up(self.kernels, self.arrays[qd.f32, 1, False])
            for t in (1, 2.5, True):
                self.kernels["either"](t, 0.5)

    def contents(self) -> dict[Any, bytes]:
        """All memory there is."""
        held = {key: array.to_numpy().tobytes() for key, array in self.arrays.items()}
        return {**held, "field": self.field.to_numpy().tobytes(), "scale": repr(self.holder.scale).encode()}


_ARRAYS = [
    *((dtype, 1, False) for dtype in SCALARS),
    (qd.f32, 1, True), (qd.f64, 1, True), (qd.f32, 2, False), (qd.i64, 2, False), (qd.f32, 2, True), (qd.f32, 3, False),
]  # fmt: skip


@contextmanager
def python_only() -> Iterator[None]:
    """No call is left to machine code from now on."""
    most, kernels.MOST_SHORTCUTS = kernels.MOST_SHORTCUTS, 0  # type: ignore[misc]
    try:
        yield
    finally:
        kernels.MOST_SHORTCUTS = most  # type: ignore[misc]


# ---- arguments

_EDGES = [
    sign * (1 << bits) + more
    for bits in (7, 8, 15, 16, 31, 32, 53, 63, 64, 200)
    for sign in (1, -1)
    for more in (-1, 0, 1)
]
_REALS = [3.4028235677973366e38, 3.4028234663852886e38, 65504.0, 65520.0, 5e-324, 1.4e-45, 7e-46, -0.0, 1.5, 0.1]
_PLAIN = st.one_of(
    st.sampled_from(_EDGES),
    st.integers(-300, 300),
    st.sampled_from(_REALS),
    st.floats(),
    st.floats(width=32),
    st.booleans(),
)
_SMALL = st.integers(0, 127)
_KINDS: tuple[Callable[[Any], Any], ...] = (
    Whole, Real, np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint8, np.int16, np.int32, np.uint32,
    np.int64, np.uint64, np.bool_, np.complex64, complex, fractions.Fraction, decimal.Decimal, str, Item, np.asarray,
    lambda value: np.asarray([value]), lambda value: [value], lambda value: (value, value),
)  # fmt: skip
_ODD: tuple[object, ...] = (None, "", "1", b"1", Indexed(), object, Ellipsis, NotImplemented, (), {}, qd.f32, int)


def constant(value: object) -> Make:
    """An argument that is the same object in every world."""
    return lambda world: value


@st.composite
def numbers(draw: st.DrawFn) -> Make:
    """A number of any kind, or something that looks like one."""
    value = draw(_SMALL if draw(st.integers(0, 2)) else _PLAIN)
    if draw(st.integers(0, 3)):
        return constant(value)
    kind = draw(st.sampled_from(_KINDS))
    try:
        with np.errstate(all="ignore"):
            return constant(kind(value))
    except (OverflowError, ValueError, TypeError):
        return constant(value)


_DTYPES = [
    "f4", "f8", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", ">f4", ">i8", "c8", "O", "S3", "M8[s]",
    "f4,i4",
]  # fmt: skip


def _laid_out(array: Array, how: str) -> Array:
    """The same numbers in another layout."""
    match how:
        case "fortran":
            return np.asfortranarray(array)
        case "every other":
            return np.repeat(array, 2, axis=0)[::2] if array.ndim else array
        case "backwards":
            return array[::-1] if array.ndim else array
        case "read-only":
            array.flags.writeable = False
        case "own kind":
            return array.view(Own)
        case "unaligned":
            raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
            return raw.view(array.dtype).reshape(array.shape) if array.dtype.kind in "fiub" else array
        case "broadcast":
            return np.broadcast_to(array[:1], array.shape) if array.ndim and len(array) else array
    return array


_LAYOUTS = ("c", "fortran", "every other", "backwards", "read-only", "read-only", "own kind", "unaligned", "broadcast")


@st.composite
def host_arrays(draw: st.DrawFn) -> Make:
    """A numpy array: of any type, rank and layout."""
    dtype = draw(st.sampled_from(_DTYPES[:11]) | st.sampled_from(_DTYPES))
    shape = tuple(draw(st.lists(st.sampled_from((3, 2, 1, 0, 5)), max_size=3)))
    how = draw(st.sampled_from(_LAYOUTS))
    return lambda world: _laid_out(np.ones(shape, dtype), how)


@st.composite
def arrays(draw: st.DrawFn) -> Make:
    """An array of any kind."""
    which = draw(st.integers(0, 9))
    if which < 5:
        key = draw(st.sampled_from([*_ARRAYS, (VECTOR, 1, False)]))
        return lambda world: world.arrays[key]
    if which == 9:
        return lambda world: world.field
    return draw(host_arrays())


def anything() -> st.SearchStrategy[Make]:
    """Any argument."""
    return st.one_of(numbers(), arrays(), st.sampled_from(_ODD).map(constant))


PARAMETERS: dict[str, tuple[tuple[str, Any], ...]] = {
    **{f"same {dtype}": (("x", arrays), ("a", numbers)) for dtype in SCALARS},
    "put": (("x", arrays), ("at", numbers), ("value", numbers)),
    "total": (("x", arrays), ("flag", numbers)),
    "copy": (("x", arrays), ("y", arrays)),
    "pairs": (("x", arrays), ("v", anything)),
    "either": (("t", anything), ("a", numbers)),
    "three": (("x", arrays), ("v", lambda: matrices_kit.vectors(numbers(), 3)), ("a", numbers)),
    "square": (("m", lambda: matrices_kit.matrices(numbers())), ("flags", lambda: matrices_kit.vectors(numbers(), 2))),
    "keep": (("a", numbers), ("x", arrays)),
}
"""The parameters of each kernel, and what may be right for them."""


_WANTED = {f"same {t}": (t, 1) for t in SCALARS}
_WANTED |= {"put": (qd.f32, 1), "keep": (qd.f32, 1), "three": (qd.f32, 1), "total": (qd.f32, 2)}
"""The arrays that parameters called `x` take."""


@st.composite
def fitting(draw: st.DrawFn, kernel: str, name: str) -> Make:
    """An array that a parameter takes, or would if it were laid out in another way."""
    dtype, rank = (qd.f64, 1) if name == "y" else _WANTED.get(kernel, (qd.f32, 2))
    grad = (dtype, rank, True) in _ARRAYS and draw(st.booleans())
    if draw(st.booleans()):
        return lambda world: world.arrays[dtype, rank, grad]
    how, extents = (
        draw(st.sampled_from(_LAYOUTS if draw(st.booleans()) else ("c",))),
        tuple(draw(st.lists(st.sampled_from((3, 2, 4)), min_size=rank, max_size=rank))),
    )
    kind = draw(st.sampled_from((np.asarray, Tensor, Tensor, partial(Tensor, requires_grad=True))))
    return lambda world: kind(_laid_out(np.arange(np.prod(extents)).reshape(extents).astype(dtype.numpy), how))


@st.composite
def calls(draw: st.DrawFn, kernels: Sequence[str] = ()) -> tuple[str, list[Make], dict[str, Make]]:
    """A call: of which kernel, one of some or any, with which arguments by position and by name."""
    kernel = draw(st.sampled_from(kernels or list(PARAMETERS)))
    values = []
    for name, strategy in PARAMETERS[kernel]:
        if strategy is arrays and draw(st.integers(0, 31)):
            values.append((name, draw(fitting(kernel, name))))
        else:
            values.append((name, draw(strategy() if draw(st.integers(0, 15)) else anything())))
    shape = draw(st.integers(0, 31))
    if shape == 0:
        values.pop()
    by_name = draw(st.integers(0, len(values))) if shape < 4 else 0
    first, last = values[: len(values) - by_name], values[len(values) - by_name :]
    positional, named = [make for _, make in first], dict(last)
    if shape == 1:
        positional.append(draw(anything()))
    if shape == 2:
        named[draw(st.sampled_from(("x", "a", "seed", "self", "z")))] = draw(anything())
    return kernel, positional, named


CHANGES: dict[str, Callable[[World], None]] = {
    "scale 3": lambda world: setattr(world.holder, "scale", 3),
    "scale 2": lambda world: setattr(world.holder, "scale", 2),
    "scale 2.0": lambda world: setattr(world.holder, "scale", 2.0),
    "scale True": lambda world: setattr(world.holder, "scale", True),
    "field": lambda world: world.field.fill(1.5),
}
"""What a program does between calls."""


# ---- what came of them


def outcome(world: World, call: tuple[str, list[Make], dict[str, Make]]) -> tuple[Any, ...]:
    """What a call gives or raises, and all memory after it."""
    kernel, positional, named = call
    args, kwargs = [make(world) for make in positional], {name: make(world) for name, make in named.items()}
    try:
        result = world.kernels[kernel](*args, **kwargs)
    except (qd.AdstackError, TypeError, ValueError) as error:
        message: tuple[Any, ...] = type(error), str(error)
    else:
        message = type(result), np.asarray(result).tobytes() if isinstance(result, (bool, int, float)) else repr(result)
    inputs = [value.array if isinstance(value, Tensor) else value for value in (*args, *kwargs.values())]
    arrays = [array for array in inputs if isinstance(array, np.ndarray)]
    own = [
        array.tobytes() for array in arrays if array.dtype.kind != "O" and array.dtype != np.longdouble
    ]  # it has gaps
    return message, own, world.contents()
