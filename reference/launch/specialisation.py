"""One kernel, compiled for one kind of arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

from ..errors import AdstackError
from ..ir.structure import Kernel
from ..runtime.graphs import Captured
from ..runtime.memory.buffers import Array, Buffer
from ..runtime.plans import REFUSED, Plan
from ..runtime.protocol.backend import Scalars
from ..runtime.protocol.following import Follower
from ..runtime.protocol.shortcuts import (
    Argument,
    DeviceArgument,
    SameAttribute,
    Still,
    StructArgument,
    leaves,
    of_others,
)
from ..runtime.state import Runtime
from ..runtime.threads.collection import uncollected
from ..runtime.writes import Writes
from ..values.specs import Lowered, Request, ScalarSpec, Spec
from .arguments import Call
from .attributes import Attribute, Attributes, attributes, conditions
from .lifetimes import Data, Life, objects_of, valueless
from .results import result_value

__all__ = ["Arguments", "LaunchRecords", "Specialisation", "run_plan", "specialise"]


Arguments = tuple[bytes, dict[str, int]]
"""The arguments of a call: the bits of its scalars, and for each place the identity of its memory."""


class LaunchRecords(Protocol):
    """Notes launches, so that `.grad()` knows what each of them read: `gradients/launches/records.py`."""

    @property
    def fields(self) -> Mapping[str, Buffer]:
        """The memory that the reverse pass may read and that is the same in every call, by the name of the place."""

    @property
    def arrays(self) -> tuple[str, ...]:
        """The places of array arguments that the reverse pass may read."""

    @property
    def notes(self) -> bool:
        """Whether Python must serve every call."""

    @property
    def keeps(self) -> bool:
        """Whether launches keep what they overwrite."""

    def may_serve(self, others: Collection[str]) -> bool:
        """Whether machine code may serve calls from now on; `others` are the parameters that take others' memory."""

    def are_untouched(self, call: Call) -> bool:
        """Whether nothing that matters to a call has been written since it is watched."""

    def launch(self, call: Call, run: Callable[[Call], object] | None = None) -> object:
        """Launch, and note it; the value that the kernel returns. `run` launches it, if it is to be done otherwise."""

    def note(self, call: Call, error: AdstackError | None = None) -> None:
        """Note a launch that others made; with an error, it can't be differentiated later."""

    @property
    def takes_arguments(self) -> bool:
        """Whether calls differ."""

    @property
    def rereads(self) -> bool:
        """Whether launches may write what their reverse pass reads."""

    def memories(self, call: Call) -> Sequence[Buffer]:
        """The memory that the reverse pass of a call may read."""

    def note_taped(self, call: Call, *, touched: bool = False, held: Mapping[str, Array] | None = None) -> None:
        """Note that a tape has launched, and differentiates the launch itself; `touched` says whether later launches
        of the tape have written what its reverse pass reads, and `held` what arrays of the host held.
        """


@dataclass(eq=False)
class Specialisation:
    """What serves all calls with an equal key.

    Attributes:
        kernel: the IR as the frontend made it.
        plan: how it is launched.
        returns: spec of what it returns, or None.
        specs: of the parameters, without the values of template arguments.
        captured: attributes that were baked in.
        life: it serves calls as long as what it was made for is there.
        fields: place name -> the field or ndarray that it stands for, as long as it lives.
        gradients: what is known of its derivatives: `gradients/modes/state.py` makes it, and knows what it is.
        placed: how many fields had been placed when it was looked whether it has a gradient; -1 before that.
        records: notes its launches for `.grad()`, see `LaunchRecords`; None if it has no gradient.
        calls: how many launches Python made; with 1, machine code has not served any yet.
        graph: its launches as one, and with which arguments, see `kernels/as_graph.py`; False if that can't be.
        tangents: of a kernel that computes tangents beside its values (`gradients/modes/jvp.py`): name of a place of
            tangents -> that of the place whose tangents it holds.
        together: serves the calls in which places that its kernel holds apart are one memory, see
            `gradients/modes/apart.py`; None as long as there was none.
    """

    specs: tuple[Spec, ...]
    kernel: Kernel
    plan: Plan
    returns: Spec | None
    captured: tuple[Attribute, ...]
    life: Life
    fields: Data
    gradients: object = None
    records: LaunchRecords | None = None
    placed: int = -1
    calls: int = 0
    graph: tuple[Arguments, Captured] | Literal[False] | None = None
    tangents: Mapping[str, str] = field(default_factory=dict)
    together: Specialisation | None = field(default=None, init=False)

    @property
    def keeps(self) -> bool:
        """Whether launches keep what they overwrite."""
        return self.records is not None and self.records.keeps

    @property
    def needs_python(self) -> bool:
        """Whether Python must serve every call: to note launches, or to tell a watch what they write."""
        return (self.records is not None and self.records.notes) or self.plan.is_watched

    @cached_property
    def is_current(self) -> Callable[[], bool]:
        """Says whether the attributes that the kernel was compiled with are what they were."""
        return Attributes(self.captured).are_same

    def shortcut(
        self, arguments: tuple[Argument, ...], otherwise: Callable[..., object]
    ) -> Callable[..., object] | None:
        """A callable that serves calls with such arguments without Python, and leaves others to `otherwise`."""
        if not (self.returns is None or isinstance(self.returns, ScalarSpec)):
            return None
        if self.needs_python or (self.records is not None and not self.records.may_serve(of_others(arguments))):
            return None
        returns, words = self.returns is not None, self.conditions
        if words is None:
            return None
        needed = frozenset(() if self.records is None else self.records.arrays)
        return self.plan.shortcut(
            *(arguments, self.attributes, returns, otherwise), conditions=words, keep=(self.life.word,), needed=needed
        )

    def follower(self, arguments: tuple[Argument, ...], *, returns: bool = False) -> Follower | None:
        """What serves calls with such arguments where they are the next ones of a sequence; None if nothing does.

        With `returns` the kernel may return a scalar.
        """
        returns = returns and isinstance(self.returns, ScalarSpec)
        on_device = any(isinstance(one, DeviceArgument) for one in leaves(arguments))
        if on_device or (self.returns is not None and not returns):
            return None
        if of_others(one for one in arguments if isinstance(one, StructArgument)):
            return None  # what arrays of others hold is noted of those that are arguments themselves
        if not of_others(arguments).isdisjoint(self.plan.compiled.written):
            return None  # nobody tells what else looks at that memory
        words = self.conditions
        if words is None:
            return None
        return self.plan.follower(arguments, self.attributes, words, (self.life.word,), returns=returns)

    @property
    def attributes(self) -> tuple[SameAttribute, ...]:
        """What attributes must be, for machine code."""
        return tuple(one.described(self.life) for one in self.captured if not one.in_words)

    @property
    def conditions(self) -> tuple[Still, ...] | None:
        """What words in memory must be, for machine code; None if only Python can tell whether it may be called."""
        words = conditions(self.captured)
        return None if words is None else (*self.life.conditions, *words)

    def end(self) -> None:
        """Drop what was compiled for its gradients: no call can reach it any more."""
        self.gradients = self.records = self.graph = None
        if self.together is not None:
            self.together.end()

    def launch(self, call: Call) -> object:
        """Run it, so that it can be differentiated later; the value that the kernel returns."""
        self.calls += 1
        records = self.records
        return self.run(call) if records is None else records.launch(call)

    def run(self, call: Call) -> object:
        """Run it, and nothing else; the value that the kernel returns."""
        scalars = run_plan(self.plan, call)
        return None if self.returns is None else result_value(self.returns, scalars)

    def run_by(
        self, machine_code: Callable[..., object], args: tuple[object, ...], writes: Writes, call: Call
    ) -> object:
        """As `run`, by machine code, if it does it: see `Plan.serve`."""
        result = self.plan.serve(machine_code, args, writes)
        return self.run(call) if result is REFUSED else result

    def stages(self, runtime: Runtime) -> dict[str, str]:
        """The IR at each stage, as text."""
        from ..runtime.compiler import stages

        return stages(self.kernel, runtime.options, runtime.backend)


def run_plan(plan: Plan, call: Call) -> Scalars:
    """Launch with a call's arguments; the returned scalars."""
    if call.loans is None:
        return plan.launch(call.scalars, call.arrays)
    written = plan.compiled.written
    for loan in call.loans:
        loan.check(call, written)
    scalars = plan.launch(call.scalars, call.arrays)
    for loan in call.loans:
        loan.give_back(written)
    return scalars


@uncollected()
def specialise(request: Request, runtime: Runtime) -> Specialisation:
    """Compile a kernel for the kind of arguments that a request describes.

    Raises what the frontend finds wrong with the kernel's source, and what the compiler refuses.
    """
    from ..frontend import lower
    from ..runtime.compiler import compile_kernel

    lowered: Lowered = lower(request)
    compiled = compile_kernel(lowered.kernel, runtime.options, runtime.backend)
    buffers = {name: data.buffer for name, data in lowered.fields.items()}
    plan = Plan(runtime.backend, compiled, buffers)
    life = Life(objects_of(request.specs, lowered.captured))
    specs, captured = tuple(map(valueless, request.specs)), attributes(lowered.captured, life)
    specialisation = Specialisation(
        specs, lowered.kernel, plan, request.returns, captured, life, Data(lowered.fields, life)
    )
    if runtime.options.print_ir:
        for title, text in specialisation.stages(runtime).items():
            print(f"==== {lowered.kernel.name}: {title}\n{text}")
    return specialisation
