"""A kernel as a function of arrays that belong to another library, which asks for its derivative later.

The library keeps what the derivative needs, as it does for functions of its own. What that is depends on the kernel:
mostly what the reverse pass reads, in the contents that the launch left. Where the launch overwrites what the reverse
pass needs, the contents before the launch are kept instead, and it is launched again when the derivative is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ..errors import AdstackCallError, AdstackDataAccessError, AdstackRuntimeError, AdstackRuntimeTypeError
from ..gradients.modes.companions import companions
from ..gradients.modes.compiled import differentiated
from ..gradients.seeds import SEED, is_real
from ..ir.ops import RANDOM
from ..kernels.kernel import BoundKernel, Kernel
from ..launch.arguments import Parameter, ScalarParameter
from ..launch.array_arguments import NdarrayParameter, WithGradient
from ..launch.specialisation import Specialisation
from ..launch.template_arguments import TemplateParameter
from ..runtime.memory.buffers import Array
from ..runtime.state import Runtime
from ..values.matrices.matrix import Matrix
from ..values.specs import MatrixSpec, ScalarSpec
from .surroundings import Surroundings

__all__ = ["Bridge", "Demand", "Outputs", "WithGradient"]

_COUNT: Final = count(1)
Outputs = Mapping[str, Callable[..., Any]]
"""Parameters that calls leave out: a function of the arguments that are passed makes the array for each."""


@dataclass(frozen=True)
class Demand:
    """What the derivative of a launch needs to know of it.

    Attributes:
        contents: positions of the arguments whose contents matter; others of the same shape and type do as well.
        again: whether it launches again: contents are then those before the launch, not those after it.
        read: the names of all memory that it reads, which is there after the launch.
        surroundings: what nobody keeps of that, and what else the launch works with, if that was asked for.
    """

    contents: frozenset[int]
    again: bool
    read: frozenset[str]
    surroundings: Surroundings | None = None


class Bridge:
    """A kernel that is called with arrays of another library.

    Args:
        kernel: a kernel, or one bound to its object.
        outputs: see `Outputs`.

    Attributes:
        names: of the parameters, in order; without the object of a method.

    Raises:
        AdstackRuntimeTypeError: if it is no kernel.
        AdstackCallError: if a name in `outputs` is not that of a parameter.
    """

    def __init__(self, kernel: object, outputs: Outputs | None = None) -> None:
        if not isinstance(kernel, (Kernel, BoundKernel)):
            raise AdstackRuntimeTypeError(f"wrap() takes a kernel, got {kernel!r}", do="decorate it with @qd.kernel")
        self._bound: Final = (kernel.owner,) if isinstance(kernel, BoundKernel) else ()
        self._kernel: Final = kernel.kernel if isinstance(kernel, BoundKernel) else kernel
        self.names: Final = self._kernel.signature.names[len(self._bound) :]
        self._outputs: Final = dict(outputs or {})
        if unknown := [name for name in self._outputs if name not in self.names]:
            raise AdstackCallError(f"wrap(): {self.name} has no parameter {unknown[0]!r}, which is among the outputs")
        self._demands: Final[WeakKeyDictionary[Specialisation, Demand]] = WeakKeyDictionary()
        self._numbers: Final[WeakKeyDictionary[Specialisation, int]] = WeakKeyDictionary()

    @property
    def name(self) -> str:
        """The kernel's."""
        return self._kernel.signature.name

    def arranged(self, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters, with arrays for those that calls leave out.

        AdstackCallError if they are not exactly those that the function takes.
        """
        names = [name for name in self.names if name not in self._outputs]
        passed = dict(zip(names, args, strict=False)) if len(args) <= len(names) else {}
        if len(passed) != len(args) or not passed.keys().isdisjoint(kwargs) or {*passed, *kwargs} != {*names}:
            raise AdstackCallError(f"{self.name} takes the arguments {', '.join(names)}")
        passed |= kwargs
        in_order = [passed[name] for name in names]
        created = {name: make(*in_order) for name, make in self._outputs.items()}
        return tuple(created[name] if name in created else passed[name] for name in self.names)

    def takes_array(self, position: int) -> bool:
        """Whether a parameter takes arrays; others take numbers and compile-time objects."""
        return isinstance(self._parameter(position), (NdarrayParameter, TemplateParameter))

    def takes_number(self, position: int) -> bool:
        """Whether a parameter takes one number."""
        return isinstance(self._parameter(position), ScalarParameter)

    def _parameter(self, position: int) -> Parameter:
        parameter: Parameter = self._kernel.parameters[len(self._bound) + position]
        return parameter

    def written(self, args: tuple[object, ...]) -> tuple[int, ...]:
        """The positions of the arguments that a launch may write.

        AdstackRuntimeError if it may write anything else: the library would not know.
        """
        specialisation, _, _ = self._prepared(args)
        names = {name for name in specialisation.plan.compiled.written if self._lasts(specialisation, name)}
        if others := names.difference(self.names):
            label = specialisation.kernel.places[min(others)].label or min(others)
            raise AdstackRuntimeError(
                f"{self.name} writes {label}, which is none of its array arguments: derivatives could not follow",
                loc=specialisation.kernel.loc,
                do="pass it as an argument, annotated with qd.types.ndarray()",
            )
        return tuple(position for position, name in enumerate(self.names) if name in names)

    def refuse_hidden(self, args: tuple[object, ...]) -> None:
        """AdstackRuntimeTypeError if an array of the library that it may differentiate is in an argument, as in a
        dataclass, where the library does not see it.
        """
        specialisation, call, _ = self._prepared(args)
        hidden = [name for name in call.arrays.keys() & companions(specialisation, "grad") if name not in self.names]
        name = next((name for name in sorted(hidden) if name in call.lent or not call.arrays[name].owned), None)
        if name is not None:
            raise AdstackRuntimeTypeError(
                f"{name} of {self.name} requires grad, and is inside of an argument, where derivatives can't follow it",
                loc=specialisation.kernel.loc,
                do="pass it as an argument of its own, annotated with qd.types.ndarray()",
            )

    def refuse_fields(self, args: tuple[object, ...]) -> None:
        """AdstackRuntimeError if a launch with such `args` may read a field that is none of them."""
        specialisation, _, _ = self._prepared(args)
        names = {name for name in specialisation.plan.compiled.read if self._lasts(specialisation, name)}
        if others := names.difference(self.names):
            label = specialisation.kernel.places[min(others)].label or min(others)
            raise AdstackRuntimeError(
                f"{self.name} reads {label}, which is none of its array arguments: it is no function of these alone",
                loc=specialisation.kernel.loc,
                do="pass it as an argument, annotated with qd.types.ndarray()",
            )

    def launch(self, args: tuple[object, ...]) -> Array | None:
        """Launch with `args`, one for each parameter that is not bound.

        Returns the number or vector that the kernel returns as an array, and None if it returns nothing.
        AdstackRuntimeTypeError if it returns several things.
        """
        returns = self.returns
        value = self._kernel(*self._bound, *args)
        if returns is None:
            return None
        return np.asarray(value.to_numpy() if isinstance(value, Matrix) else value, returns[1])

    @property
    def returns(self) -> tuple[tuple[int, ...], npt.DTypeLike] | None:
        """The shape and type of what the kernel returns; AdstackRuntimeTypeError if that is several things."""
        spec = self._kernel.returns
        if spec is None:
            return None
        if not isinstance(spec, (ScalarSpec, MatrixSpec)):
            raise AdstackRuntimeTypeError(
                f"{self.name} returns several things", do="return a number or a vector, or write to an array"
            )
        return spec.shape if isinstance(spec, MatrixSpec) else (), spec.dtype.numpy

    def demand(self, args: tuple[object, ...], kept: Collection[int] | None = None) -> Demand:
        """What the derivative needs of a launch that is about to be; arrays are passed `WithGradient` as to `pull`.

        Args:
            args: of the launch.
            kept: the positions of the arrays whose contents the library keeps where they matter. Everything else is
                noted, so that `pull` refuses what has changed; None: everything is the same whenever it is asked for.

        Raises:
            AdstackRuntimeError: if the launch would have to be made again, and draws random numbers.
        """
        specialisation, call, runtime = self._prepared(args)
        demand = self._demands.get(specialisation)
        if demand is None:
            demand = self._demands[specialisation] = self._demanded(specialisation, runtime)
        if kept is None:
            return demand
        others = demand.read.difference(self.names[position] for position in kept)
        return replace(demand, surroundings=Surroundings.of(specialisation, call, others))

    def _demanded(self, specialisation: Specialisation, runtime: Runtime) -> Demand:
        compiled = specialisation.plan.compiled
        try:
            mode = differentiated(specialisation, "reverse", runtime, strict=False)
            read, again = mode.plan.compiled.read, False
        except AdstackDataAccessError:  # it needs what the launch overwrites
            read, again = compiled.read | compiled.written, True
            self._refuse_random(specialisation)
        contents = frozenset(position for position, name in enumerate(self.names) if name in read)
        return Demand(contents, again, frozenset(name for name in read if self._lasts(specialisation, name)))

    def _refuse_random(self, specialisation: Specialisation) -> None:
        """AdstackRuntimeError if a launch that is made again would draw other random numbers."""
        drawn = next((op for op in specialisation.kernel.body.walk() if op.opdef is RANDOM), None)
        if drawn is not None:
            raise AdstackRuntimeError(
                f"the derivative of {self.name} launches it again, which would draw other random numbers",
                loc=drawn.loc,
                do="pass the random numbers as an argument, annotated with qd.types.ndarray()",
            )

    def number(self, args: tuple[object, ...]) -> int:
        """A number of the code of a launch with such `args`: another one if what is compiled in is not what it was."""
        specialisation, _, _ = self._prepared(args)
        if specialisation not in self._numbers:
            self._numbers[specialisation] = next(_COUNT)
        return self._numbers[specialisation]

    def pull(self, args: tuple[object, ...], demand: Demand, seed: Array | None) -> None:
        """Propagate adjoints through a launch.

        Args:
            args: those of the launch. An array `WithGradient` has the adjoint of its elements after the launch, and
                gets that of its elements before. Contents are as `demand` says, and may be overwritten.
            demand: that of the launch.
            seed: the adjoint of what the kernel returned, if that is real.

        Raises:
            AdstackDataAccessError: if something that it needs and the library does not keep has changed since.
        """
        if demand.surroundings is not None:
            specialisation, call, _ = self._prepared(args)
            demand.surroundings.check(specialisation, call)
        seeds = {} if seed is None or not is_real(self._kernel.returns) else {SEED: seed.tolist()}
        if demand.again:
            self._kernel(*self._bound, *args)
            self._kernel.grad(*self._bound, *args, **seeds)
        else:
            self._kernel.grad.left(*self._bound, *args, **seeds)

    def _prepared(self, args: tuple[object, ...]) -> tuple[Specialisation, Any, Runtime]:
        with self._kernel.shown:
            return self._kernel.prepared((*self._bound, *args), {})

    @staticmethod
    def _lasts(specialisation: Specialisation, name: str) -> bool:
        """Whether a place is memory that is there after the launch, and holds values of the program."""
        place = specialisation.kernel.places.get(name)
        return place is not None and place.role == "primal" and place.kind in ("field", "ndarray")
