"""A kernel in another mode: the IR that computes tangents, or propagates adjoints, instead of what the user wrote."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import AdstackDataAccessError, AdstackRuntimeError
from ..ir.structure import Kernel, Op, Place, Region
from ..transforms.autodiff.access import RECORD, checked
from ..transforms.autodiff.before import split_before
from ..transforms.autodiff.forward import forward
from ..transforms.autodiff.reverse import reverse
from ..transforms.pipeline import optimize
from ..transforms.rewrite import clone_kernel
from .options import Options

__all__ = ["RECORD", "Derived", "checked_mode", "forward_mode", "inputs", "reverse_mode"]


@dataclass(frozen=True)
class Derived:
    """A kernel in another mode.

    Attributes:
        kernel: to be lowered and launched with the arguments of the one that it comes from.
        beside: name of a primal place -> a place that comes with the launch beside it. In reverse mode it must hold
            what the primal held before the forward launch; in a checked kernel the marks of what was read.
        sites: the accesses that a checked kernel marks, by number.
    """

    kernel: Kernel
    beside: Mapping[str, Place] = field(default_factory=dict)
    sites: Sequence[Op | None] = ()


def forward_mode(kernel: Kernel, duals: Mapping[str, Place], options: Options) -> Derived:
    """The kernel with tangents: `duals` maps primal places to theirs."""
    _check_real(kernel, "dual")
    return Derived(forward(optimize(kernel, options, keep_accesses=True), duals))


def reverse_mode(kernel: Kernel, grads: Mapping[str, Place], options: Options, *, rewinds: bool) -> Derived:
    """The kernel that propagates adjoints; it neither prints nor asserts. `grads` maps primal places to gradients.

    With `rewinds`, whoever launches it knows what memory was before the forward launch.
    """
    _check_real(kernel, "grad")
    kernel = clone_kernel(kernel)
    _silence(kernel.body)
    kernel = optimize(kernel, options, keep_accesses=True)
    try:
        return Derived(reverse(kernel, grads))
    except AdstackDataAccessError:
        if not rewinds:
            raise
    kernel, before = split_before(kernel, {p.name for p in kernel.places.values() if p.kind != "temp"})
    moved = {alias.name: grads[name] for name, alias in before.items() if name in grads}
    return _only_read(reverse(kernel, {**grads, **moved}), before)


def checked_mode(kernel: Kernel, names: Collection[str], options: Options) -> Derived:
    """The kernel that checks whether it overwrites what it has read of these places; the record stands at `RECORD`."""
    made = checked(optimize(kernel, options, keep_accesses=True), names)
    return Derived(made.kernel, {**made.marks, RECORD: made.record} if made.marks else {}, made.sites)


def _only_read(kernel: Kernel, before: dict[str, Place]) -> Derived:
    """Leave out what the reverse pass does not look at."""
    read = {op.attrs["place"].name for op in _accesses(kernel.body)}
    unused = {alias.name for alias in before.values()} - read
    places = {name: place for name, place in kernel.places.items() if name not in unused}
    kept = {name: alias for name, alias in before.items() if alias.name not in unused}
    return Derived(replace(kernel, places=places), kept)


def inputs(kernel: Kernel) -> set[str]:
    """Names of the places of real numbers that the kernel reads."""
    reads = (op.attrs["place"] for op in kernel.body.walk() if op.name == "load")
    found = {place for place in reads if place.dtype.is_float and place.role == "primal" and place.kind != "temp"}
    return {place.name for place in found}


def _check_real(kernel: Kernel, role: str) -> None:
    """An error if the kernel works on the very gradients that differentiating it is about."""
    for op in _accesses(kernel.body):
        place: Place = op.attrs["place"]
        if place.role == role:
            used = place.label or place.name
            raise AdstackRuntimeError(
                f"Cannot automatically differentiate through a grad tensor: {kernel.name} uses {used}",
                loc=op.loc,
                do="launch it outside of the differentiation, or put it in a function under ad.no_grad",
            )


def _accesses(region: Region) -> Iterator[Op]:
    return (op for op in region.walk() if op.name in ("load", "store", "atomic"))


def _silence(region: Region) -> None:
    """Drop what is only there to be seen."""
    region.ops = [op for op in region.ops if op.name not in ("print", "assert")]
    for op in region.ops:
        for inner in op.regions:
            _silence(inner)
