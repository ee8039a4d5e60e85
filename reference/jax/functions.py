"""Kernels as functions that jax differentiates: `adstack.jax.wrap`. jax is imported when a kernel is wrapped.

jax calls the kernel back (`jax.pure_callback`), with arrays in the memory of the host; that works under `jit`, too.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache, partial
from typing import Any, Final, TypeAlias

import numpy as np

from ..errors import AdstackDataAccessError, AdstackRuntimeError, AdstackRuntimeTypeError
from ..interop.bridge import Bridge, Demand, Outputs, WithGradient
from ..ir.types import Array
from ..runtime.state import current
from ..values.elements import Elements

__all__ = ["wrap"]

Traced: TypeAlias = Any
"""An array, a tracer, a shape or a module of jax, whose types are known only where it is installed."""
MOST: Final = 64
"""For how many kinds of calls of a kernel what jax has compiled is used again."""


def wrap(kernel: object, outputs: Outputs | None = None) -> Callable[..., Traced]:
    """A kernel as a function of jax arrays that jax differentiates in reverse mode.

        step = adstack.jax.wrap(kernel, outputs={"y": jnp.zeros_like})
        jax.grad(lambda x: step(x).sum())(x)

    The function takes what the kernel takes, and changes nothing: of arrays that the kernel writes it returns what they
    are after the launch, in the order of the parameters; one as it is, several as a tuple, behind what the kernel
    itself returns. Numbers are constants to the derivative. Under `vmap` the kernel is launched once for each element.

    Args:
        kernel: a kernel, or a kernel of an object. It works on its arguments alone: no fields.
        outputs: parameters that calls leave out, each with a function of the passed arguments that makes the array.

    Raises:
        AdstackRuntimeError: if there is no jax; if the kernel uses what is no argument; for second derivatives.
        AdstackDataAccessError: from a derivative, if attributes that are compiled in have changed since the launch.
        AdstackRuntimeTypeError: for arguments that jax can't see into.
    """
    jax = _jax()
    bridge = Bridge(kernel, outputs)

    @lru_cache(MOST)
    def function(epoch: int, *args: _Static | _Like) -> Traced:
        return _Call(jax, bridge, args).function()

    def call(*args: object, **kwargs: object) -> Traced:
        arranged = bridge.arranged(args, kwargs)
        arrays = [value for value in arranged if isinstance(value, (jax.Array, np.ndarray))]
        kinds = [
            _like(jax, f"argument {name} of {bridge.name}", value)
            if isinstance(value, (jax.Array, np.ndarray))
            else _static(jax, f"argument {name} of {bridge.name}", value)
            for name, value in zip(bridge.names, arranged, strict=True)
        ]
        results = function(current().epoch, *kinds)(*arrays)
        return results[0] if len(results) == 1 else results or None

    call.__name__ = call.__qualname__ = bridge.name
    return call


def _jax() -> Traced:
    try:
        return importlib.import_module("jax")
    except ImportError as error:
        raise AdstackRuntimeError(f"jax can't be imported: {error}", do="python -m pip install jax") from error


@dataclass(frozen=True)
class _Static:
    """An argument that jax does not see.

    Attributes:
        type, key: equal for equal types and bits: the sign of a zero counts.
        value: the argument, or a copy of one that may change.
    """

    type: type[object]
    key: Traced
    value: Traced = field(compare=False)


@dataclass(frozen=True)
class _Like:
    """An argument that jax computes, by what is known of it when the call is traced."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def is_real(self) -> bool:
        return self.dtype.kind == "f"


def _like(jax: Traced, what: str, array: Traced) -> _Like:
    """What is known of an array, which messages call `what`."""
    if jax.dtypes.issubdtype(array.dtype, jax.dtypes.extended):
        raise AdstackRuntimeTypeError(
            f"{what} has elements of jax's own type {array.dtype}", do="pass numbers, such as jax.random.key_data(key)"
        )
    return _Like(array.shape, np.dtype(array.dtype))


def _static(jax: Traced, what: str, value: Traced) -> _Static:
    """An argument that is no array, which messages call `what`: numbers, also in vectors, lists and dataclasses."""
    key = _key(jax, what, value)
    try:
        hash(key)
    except TypeError:
        raise AdstackRuntimeTypeError(
            f"{what} is a {type(value).__name__}, which can't be told from others: it can't be hashed",
            do="pass arrays, numbers, vectors or dataclasses of these",
        ) from None
    return _Static(type(value), key, deepcopy(value) if isinstance(key, tuple) else value)


def _key(jax: Traced, what: str, value: Traced) -> Traced:
    """What tells an argument from others of its type; of what consists of parts, a tuple."""
    if isinstance(value, (float, np.floating)):
        return repr(value)
    if isinstance(value, (jax.Array, np.ndarray)):
        raise AdstackRuntimeTypeError(
            f"{what} has an array in it, where jax does not see it",
            do="pass it as an argument of its own, annotated with qd.types.ndarray()",
        )
    parts: Sequence[Traced]
    if isinstance(value, Elements):
        parts = value.entries
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, one.name) for one in fields(value)]
    elif isinstance(value, (list, tuple)):
        parts = value
    else:
        return value
    return tuple((type(part), _key(jax, what, part)) for part in parts)


_NUMBER: Final = (_Like((), np.dtype(np.int32)),)
"""What is known of the number of a launch."""


@dataclass(frozen=True, eq=False)
class _Kept:
    """What the derivative of a launch is computed from, apart from arrays.

    Attributes:
        active: positions of the arguments whose adjoints are computed, in order.
        demand: see there.
        contents: positions of the arguments whose contents are kept, in order.
    """

    active: tuple[int, ...]
    demand: Demand
    contents: tuple[int, ...]


class _Call:
    """A call of a wrapped kernel, whose arrays are known by shape and type alone.

    Args:
        jax: the module.
        bridge: the kernel.
        args: of the call.
    """

    def __init__(self, jax: Traced, bridge: Bridge, args: Sequence[_Static | _Like]) -> None:
        self.jax = jax
        self.bridge = bridge
        self.args = args
        self.like = {k: like for k, like in enumerate(args) if isinstance(like, _Like)}
        self.arrays = [k for k in self.like if bridge.takes_array(k)]
        sample = self._arguments({})
        self.written = bridge.written(sample)
        bridge.refuse_fields(sample)
        self.returns = [] if bridge.returns is None else [_Like(bridge.returns[0], np.dtype(bridge.returns[1]))]
        self._known: dict[tuple[int, ...], tuple[_Kept, Traced, Traced]] = {}

    def function(self) -> Traced:
        """The call as a function of its arrays, with a derivative."""
        run = self.jax.custom_vjp(self._run)
        run.defvjp(self._forward, lambda kept, adjoints: kept[0](*kept[1:], adjoints), symbolic_zeros=True)
        return run

    def _forward(self, *primals: Traced) -> tuple[Traced, Traced]:
        """The results, and what the derivative needs: the function that computes it, and arrays for it."""
        perturbed = tuple(k for k, primal in zip(self.like, primals, strict=True) if primal.perturbed)
        values = [primal.value for primal in primals]
        if perturbed not in self._known:
            kept = self._keep(perturbed)
            run = partial(self._called, partial(self._launch_noted, kept), _NUMBER)
            back = partial(self._back, kept, partial(self._pull, kept))
            self._known[perturbed] = kept, run, self.jax.tree_util.Partial(back)
        kept, run, back = self._known[perturbed]
        *results, number = self._once(run)(*values)
        return tuple(results), (back, number, self._contents(kept, values, results))

    def _run(self, *values: Traced) -> Traced:
        return self._called(self._launch, (), *values)

    def _called(self, launch: Callable[..., Traced], more: Sequence[_Like], *values: Traced) -> Traced:
        """What jax gets by calling a launch back, which gives `more` after the results."""
        likes = (*self.returns, *(self.like[k] for k in self.written), *more)
        specs = [self._spec(like) for like in likes]
        return tuple(self.jax.pure_callback(launch, specs, *values, vmap_method="sequential"))

    def _launch_noted(self, kept: _Kept, *values: Traced) -> list[Array]:
        """Launch, and tell which code that was, for `_pull`."""
        number = self._number(kept, dict(zip(self.like, values, strict=True)))
        return [*self._launch(*values), np.array(number, np.int32)]

    def _number(self, kept: _Kept, values: dict[int, Traced]) -> int:
        """See `Bridge.number`: of the launch that is differentiated."""
        return self.bridge.number(self._paired(self._arguments(values), kept.active, {}))

    def _launch(self, *values: Traced) -> list[Array]:
        args = self._arguments(dict(zip(self.like, values, strict=True)), copied=self.written)
        value = self.bridge.launch(args)
        returned = [] if value is None else [value.astype(self._spec(self.returns[0]).dtype)]
        return returned + [args[k] for k in self.written]

    def _keep(self, perturbed: Sequence[int]) -> _Kept:
        if numbers := [k for k in perturbed if k not in self.arrays]:
            raise AdstackRuntimeTypeError(
                f"argument {self.bridge.names[numbers[0]]} of {self.bridge.name} is a number, which is a constant to "
                "the derivative, and jax differentiates it",
                do="annotate the parameter with qd.types.ndarray() and pass an array of one element, or stop_gradient",
            )
        active = tuple(k for k in self.arrays if k in perturbed or (k in self.written and self.like[k].is_real))
        demand = self.bridge.demand(self._paired(self._arguments({}), active, {}))
        return _Kept(active, demand, tuple(k for k in self.like if k in demand.contents or k not in self.arrays))

    def _contents(self, kept: _Kept, values: Sequence[Traced], results: Sequence[Traced]) -> list[Traced]:
        """The arrays that the derivative needs, and the numbers."""
        arrays = dict(zip(self.like, values, strict=True))
        if not kept.demand.again:
            arrays |= dict(zip(self.written, results[len(self.returns) :], strict=True))
        return [arrays[k] for k in kept.contents]

    def _back(
        self, kept: _Kept, pull: Traced, number: Traced, contents: Sequence[Traced], adjoints: Sequence[Traced]
    ) -> tuple[Traced, ...]:
        """The adjoints of all arguments that jax computes, from those of the results."""
        zero = self.jax.custom_derivatives.SymbolicZero
        plain = [self.jax.numpy.zeros(a.shape, a.dtype) if isinstance(a, zero) else a for a in adjoints]
        real = [a for a in plain if a.dtype != self.jax.dtypes.float0]
        specs = [self._spec(self.like[k]) for k in kept.active]
        once = self._once(partial(self.jax.pure_callback, pull, specs, vmap_method="sequential"))
        gradients = once(number, contents, real)
        by_position = dict(zip(kept.active, gradients, strict=True))
        return tuple(by_position[k] if k in by_position else self._zero(like) for k, like in self.like.items())

    def _once(self, function: Callable[..., Traced]) -> Traced:
        """A function of which there are no derivatives: to ask for these is an error."""
        once = self.jax.custom_jvp(function)

        def refuse(primals: Traced, tangents: Traced) -> Traced:
            raise AdstackRuntimeError(
                f"{self.bridge.name} has no second derivatives through jax, which differentiates a gradient of it here",
                do="compute them with a qd.ad.Tape inside of a qd.ad.FwdMode, or take the gradient at stop_gradient(x) "
                "if it is a constant",
            )

        once.defjvp(refuse)
        return once

    def _pull(self, kept: _Kept, number: Traced, contents: Sequence[Traced], adjoints: Sequence[Traced]) -> list[Array]:
        """What jax calls back: the adjoints of the active arguments."""
        if int(number) != self._number(kept, dict(zip(kept.contents, contents, strict=True))):
            raise AdstackDataAccessError(
                f"the derivative of {self.bridge.name} needs what is compiled in, such as attributes of objects, which "
                "has changed since the launch",
                do="change it when the derivative has been computed, or pass it as an argument",
            )
        args = self._arguments(dict(zip(kept.contents, contents, strict=True)), copied=self.written)
        first = sum(like.is_real for like in self.returns)
        real = [k for k in self.written if self.like[k].is_real]
        pairs = self._paired(args, kept.active, dict(zip(real, adjoints[first:], strict=True)))
        self.bridge.pull(pairs, kept.demand, np.asarray(adjoints[0]) if first else None)
        return [pairs[k].grad for k in kept.active]

    def _arguments(self, values: dict[int, Traced], copied: Sequence[int] = ()) -> tuple[Traced, ...]:
        """The arguments of a launch: arrays of numpy, and numbers; what is not known stands there with any contents."""

        def argument(k: int, kind: _Static | _Like) -> Traced:
            if isinstance(kind, _Static):
                return kind.value
            array = np.asarray(values[k]) if k in values else np.zeros(kind.shape, kind.dtype)
            array = np.array(array, order="C") if k in copied else np.ascontiguousarray(array).reshape(kind.shape)
            return array.item() if array.size == 1 and self.bridge.takes_number(k) else array

        return tuple(argument(k, kind) for k, kind in enumerate(self.args))

    @staticmethod
    def _paired(args: tuple[Traced, ...], active: Sequence[int], adjoints: dict[int, Traced]) -> tuple[Traced, ...]:
        """The arguments with the memory of their gradients."""

        def pair(k: int) -> WithGradient:
            return WithGradient(args[k], np.array(adjoints[k]) if k in adjoints else np.zeros_like(args[k]))

        return tuple(pair(k) if k in active else value for k, value in enumerate(args))

    def _spec(self, like: _Like) -> Traced:
        return self.jax.ShapeDtypeStruct(like.shape, self.jax.dtypes.canonicalize_dtype(like.dtype))

    def _zero(self, like: _Like) -> Traced:
        return np.zeros(like.shape, like.dtype if like.is_real else self.jax.dtypes.float0)
