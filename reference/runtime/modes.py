"""A kernel in another mode: the IR that computes tangents, or propagates adjoints, instead of what the user wrote."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from ..autodiff.access import checked
from ..autodiff.checkpoint_plan import CheckpointPlan, plan_checkpoints
from ..autodiff.checkpointing.schedule import Checkpoints
from ..autodiff.emission.journal import Journal
from ..autodiff.forward import forward
from ..autodiff.journaled import journaled
from ..autodiff.lanes import in_lanes
from ..autodiff.overwrite.before import split_before
from ..autodiff.overwrite.replay import with_scratch
from ..autodiff.overwrite.updates import ordered_updates, plain_updates
from ..autodiff.places import RECORD, in_lane, lane_name
from ..autodiff.reverse import reverse
from ..autodiff.seen import seen, written
from ..errors import AdstackDataAccessError, AdstackRuntimeError
from ..ir.ops import ASSERT, PLACE_ACCESSES, PLACE_WRITES, PRINT
from ..ir.structure import Kernel, Op, Place, Region
from ..transforms.pipeline import optimize
from ..transforms.rewriting.rewrite import clone_kernel
from .derived import Derived, JournalMode, Recipe
from .protocol.options import Options
from .threads.collection import uncollected

__all__ = [
    "checked_mode",
    "forward_mode",
    "journal_mode",
    "lanes_mode",
    "reverse_mode",
    "seen_mode",
    "written_mode",
]


@dataclass(frozen=True)
class _Recipe:
    """What a reverse mode was made of.

    Attributes:
        kernel, grads: what `reverse` was given.
        finished: what was made of the kernel that it gave.
        replayed: see `reverse`.
        journal: see `reverse`; `kernel` is then as the journal knows it.
    """

    kernel: Kernel
    grads: Mapping[str, Place]
    finished: Callable[[Kernel], Derived]
    replayed: frozenset[str] = frozenset()
    journal: Journal | None = None

    def plan(self, levels: int = 1) -> CheckpointPlan:
        """What checkpoints take, of so many levels of loops; AdstackDataAccessError if there can't be any."""
        return plan_checkpoints(self.kernel, self.grads, self.replayed, self.journal, levels)

    def made(self, checkpoints: Checkpoints) -> Derived:
        """The same with checkpoints."""
        return self.finished(
            reverse(self.kernel, self.grads, self.replayed, checkpoints=checkpoints, journal=self.journal)
        )


@uncollected()
def forward_mode(kernel: Kernel, duals: Mapping[str, Place], options: Options, lanes: int = 1) -> Derived:
    """The kernel that computes tangents beside what it computes.

    To that kernel they are memory like any other, so that it can be differentiated in turn.

    Args:
        kernel: a verified kernel; it is not changed.
        duals: by the name of a primal place, the place of its tangents.
        options: what `init` was called with.
        lanes: how many directions are followed at once; `in_lane` says which places have the tangents of each.

    Raises:
        AdstackRuntimeError: the kernel itself uses tangents.
    """
    _check_real(kernel, "dual")
    memory = {name: replace(place, role="primal", of=None) for name, place in duals.items()}
    every = [{name: in_lane(place, lane) for name, place in memory.items()} for lane in range(lanes)]
    return Derived(forward(optimize(kernel, options, keep_accesses=True), *every))


@uncollected()
def reverse_mode(kernel: Kernel, grads: Mapping[str, Place], options: Options, *, rewinds: bool) -> Derived:
    """The kernel that propagates adjoints; it neither prints nor asserts.

    Where the kernel overwrites what its reverse pass reads, that pass makes the launch again in scratch memory.

    Args:
        kernel: a verified kernel; it is not changed.
        grads: by the name of a primal place, the place of its gradient.
        options: what `init` was called with.
        rewinds: whoever launches it can give it memory as it was before the forward launch.

    Raises:
        AdstackDataAccessError: the reverse pass needs values that the kernel has overwritten.
        AdstackRuntimeError: the kernel itself uses gradients.
    """
    kernel = _reversible(kernel, options)
    try:
        return Derived(reverse(kernel, grads), recipe=_Recipe(kernel, grads, Derived))
    except AdstackDataAccessError:
        if not rewinds:
            raise
    names = {p.name for p in kernel.places.values() if p.kind != "temp"}
    early, before = split_before(kernel, names)
    aliases = {alias.name: name for name, alias in before.items()}
    try:
        recipe = _Recipe(early, _moved(grads, aliases), lambda derivative: _only_read(derivative, aliases))
        return replace(_only_read(reverse(early, recipe.grads), aliases), recipe=recipe)
    except AdstackDataAccessError:
        replayed = with_scratch(kernel, names)
        early, before = split_before(replayed.kernel, names - replayed.scratch.keys())
        scratch = {place.name: name for name, place in replayed.scratch.items()}
        aliases = {alias.name: name for name, alias in (*before.items(), *replayed.before.items())} | scratch
        recipe = _Recipe(
            early,
            _moved(grads, aliases),
            lambda derivative: _only_read(derivative, aliases),
            replayed=frozenset(scratch),
        )
        return replace(_only_read(reverse(early, recipe.grads, recipe.replayed), aliases), recipe=recipe)


@uncollected()
def lanes_mode(derived: Derived, lanes: int, own: Collection[str]) -> Derived:
    """A reverse mode for several directions; `in_lane` says which places have the memory of each.

    Args:
        derived: for one direction: the kernel, what stands beside, and the recipe count.
        lanes: how many directions there are.
        own: the places of which each direction has one. So it has of what stands beside these, of temps and of scratch
            memory.
    """
    kernel, names = derived.kernel, {*own}
    names |= {alias for alias, name in derived.beside.items() if name in own}
    names |= {place.name for place in kernel.places.values() if place.kind == "temp"}
    names |= {op.attrs["place"].name for op in kernel.body.walk() if op.opdef in PLACE_WRITES}
    beside = {
        lane_name(alias, lane): lane_name(name, lane if name in own else 0)
        for alias, name in derived.beside.items()
        for lane in range(lanes if alias in names else 1)
    }
    recipe = None if derived.recipe is None else _RecipeInLanes(derived.recipe, lanes, frozenset(own))
    return Derived(in_lanes(kernel, lanes, names), beside, recipe=recipe)


@dataclass(frozen=True)
class _RecipeInLanes:
    """What a reverse mode for several directions was made of: that for `one`."""

    one: Recipe
    lanes: int
    own: frozenset[str]

    def plan(self, levels: int = 1) -> CheckpointPlan:
        """See `Recipe`: what one direction takes."""
        return self.one.plan(levels)

    def made(self, checkpoints: Checkpoints) -> Derived:
        """See `Recipe`."""
        return lanes_mode(self.one.made(checkpoints), self.lanes, self.own)


@uncollected()
def journal_mode(kernel: Kernel, grads: Mapping[str, Place], options: Options) -> JournalMode:
    """The kernel for launches that log what their reverse mode needs, and that reverse mode.

    Args:
        kernel: a verified kernel; it is not changed.
        grads: by the name of a primal place, the place of its gradient.
        options: what `init` was called with.

    Raises:
        AdstackDataAccessError: not even a log makes its reverse pass possible.
        AdstackRuntimeError: the kernel itself uses gradients.
    """
    _check_real(kernel, "grad")
    logged = journaled(optimize(ordered_updates(kernel), options, keep_accesses=True), grads)
    silent = None
    if any(op.opdef in (PRINT, ASSERT) for op in logged.forward.body.walk()):
        silent = clone_kernel(logged.forward)
        _silence(silent.body)
    logs = {log.place.name: log.place for log in logged.logs}
    recipe = _Recipe(logged.source, grads, lambda kernel: _logged(kernel, logs), journal=logged.journal)
    return JournalMode(logged.forward, silent, Derived(logged.backward, recipe=recipe), logged.logs, logged.sheets)


def _logged(kernel: Kernel, logs: Mapping[str, Place]) -> Derived:
    """With the memory that a launch has logged to."""
    kernel.places.update(logs)
    return Derived(kernel)


def seen_mode(derived: Derived, names: Collection[str]) -> Derived:
    """A mode that also marks what it reads of the places `names`."""
    if not names:
        return derived
    marked = seen(derived.kernel, names)
    return Derived(
        marked.kernel, derived.beside, {mark.name: name for name, mark in marked.marks.items()}, marked.sites
    )


@uncollected()
def written_mode(kernel: Kernel, names: Collection[str]) -> Derived:
    """The kernel that also marks what it writes of the places `names`: the same numbers again are written, too.

    So it is marked before it is optimised, which leaves out stores of what is there.
    """
    marked = written(kernel, names)
    return Derived(marked.kernel, {}, {mark.name: name for name, mark in marked.marks.items()}, marked.sites)


@uncollected()
def checked_mode(kernel: Kernel, names: Collection[str], options: Options) -> Derived:
    """The kernel that checks whether it overwrites what it has read: the global data access rule.

    Args:
        kernel: a verified kernel; it is not changed.
        names: the places to check.
        options: what `init` was called with.

    Returns:
        The kernel, with places of marks beside; the record stands at `RECORD`. There is neither if the kernel does not
        both read and write one of these places.
    """
    marked = checked(optimize(kernel, options, keep_accesses=True), names)
    marks = {mark.name: name for name, mark in marked.marks.items()}
    return Derived(marked.kernel, {}, {**marks, RECORD: RECORD} if marks else {}, marked.sites)


def _reversible(kernel: Kernel, options: Options) -> Kernel:
    """The kernel as reverse mode takes it: it neither prints nor asserts."""
    _check_real(kernel, "grad")
    kernel = clone_kernel(kernel)
    _silence(kernel.body)
    return optimize(plain_updates(kernel), options, keep_accesses=True)


def _moved(grads: Mapping[str, Place], aliases: Mapping[str, str]) -> dict[str, Place]:
    """Gradients for aliases too: those of what they stand for."""
    return {**grads, **{alias: grads[name] for alias, name in aliases.items() if name in grads}}


def _only_read(kernel: Kernel, aliases: dict[str, str]) -> Derived:
    """Leave out what the reverse pass does not look at."""
    unused = aliases.keys() - {op.attrs["place"].name for op in _accesses(kernel.body)}
    places = {name: place for name, place in kernel.places.items() if name not in unused}
    kept = {alias: name for alias, name in aliases.items() if alias not in unused}
    return Derived(replace(kernel, places=places), kept)


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
    return (op for op in region.walk() if op.opdef in PLACE_ACCESSES)


def _silence(region: Region) -> None:
    """Drop what is only there to be seen."""
    region.keep(lambda op: op.opdef not in (PRINT, ASSERT))
    for op in region.ops:
        for inner in op.regions:
            _silence(inner)
