"""From a kernel's IR to something a backend can launch, and the text of every stage on the way."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import AdstackMemoryError
from ..ir.structure import Kernel, Program
from ..ir.text.printer import print_ir
from ..sizing.forced import with_capacity
from ..sizing.size import Sized
from ..sizing.sizers import with_sizers
from ..transforms import pipeline
from ..transforms.loops.hold import hold
from ..transforms.memory.accumulate import accumulate
from ..transforms.memory.guard import guard
from ..transforms.tasks.gather import gather
from ..transforms.tasks.gathering import ALWAYS, DEAREST
from ..transforms.tasks.jam import jam
from .adstacks.budget import current
from .adstacks.layout import held
from .compiled import Compiled
from .dumps import dump_of
from .protocol.backend import Backend, Executable
from .protocol.options import Options
from .races import RaceCheck
from .threads.collection import uncollected

__all__ = ["compile_kernel", "compile_program", "stages"]


@uncollected()
def compile_kernel(kernel: Kernel, options: Options, backend: Backend, *, adstacks: bool = False) -> Compiled:
    """Simplify a kernel, split it into tasks, and compile it for a backend.

    Args:
        kernel: a verified kernel; it is not changed.
        options: what `init` was called with.
        backend: compiles the program, and says which of its abilities passes may count on.
        adstacks: reverse mode made the kernel: its adstacks get sizers, or the depth that the options ask for.

    Raises:
        AdstackMemoryError: adstacks are held in memory that the heap's limit does not allow.
        BackendUnavailableError: the device can't run such a program.
    """
    dump = dump_of(kernel.name)
    program = pipeline.lower(kernel, options, None if dump is None else dump.ir)
    if adstacks and options.ad_stack_size:
        sized = Sized(with_capacity(program, options.ad_stack_size))
    else:
        sized = with_sizers(program, claims=backend.capabilities.claims) if adstacks else Sized(program)
    program = sized.program
    _gather(program, options, backend)
    _jam(program, options, backend)
    _hold(program, options, backend)
    _guard(program, options)
    if adstacks and current().heap_limit(options.ad_stack_heap_limit):
        _refuse_held(program)
    compiled = compile_program(program, options, backend, sized)
    if dump is not None:
        dump.ir("sized", program)
        listing = {} if dump.is_complete else backend.listing(compiled.executable)
        for stage, text in listing.items():
            dump.text(stage, text)
    return compiled


def compile_program(program: Program, options: Options, backend: Backend, sized: Sized | None = None) -> Compiled:
    """Compile a program that no pass changes any more, but that how updates are added up is decided here.

    Args:
        program: the tasks, sized and guarded.
        options: what `init` was called with; in debug mode the program may be compiled again, to look for races.
        backend: compiles it.
        sized: how deep its adstacks are, if it has any.

    Raises:
        BackendUnavailableError: the device can't run such a program.
    """
    _accumulate(program, options, backend)
    uses = list(_uses(program))
    races = RaceCheck.of(program, options, backend)
    return Compiled(
        program,
        _executable(program, options, backend) if races is None else races.executable,
        frozenset(name for name, _, writes in uses if writes),
        frozenset(name for name, reads, _ in uses if reads),
        sized,
        races,
    )


def _executable(program: Program, options: Options, backend: Backend) -> Executable:
    """What the backend makes of a program; where memory is short, once more when what is only at hand went back."""
    try:
        return backend.compile(program, options)
    except AdstackMemoryError:
        if not current().relieve():
            raise
        return backend.compile(program, options)


def _gather(program: Program, options: Options, backend: Backend) -> None:
    """Turn loops around that add to neighbours: where that is faster, and where the order of additions is fixed, since
    one thread would run the loop otherwise. Not where checks say which iteration was wrong.
    """
    device = backend.capabilities
    if device.holds and (device.gathers or options.deterministic) and not options.debug:
        dearest = ALWAYS if options.deterministic else DEAREST
        program.tasks = [one for task in program.tasks for one in gather(task, dearest)]


def _jam(program: Program, options: Options, backend: Backend) -> None:
    """Let iterations do the work of several where threads update the same memory; where threads run side by side, so
    that these updates are atomic. Not where checks say which iteration was wrong, or the order of additions is fixed.
    """
    device = backend.capabilities
    if device.holds and "subgroup" in device.sums and not options.debug and not options.deterministic:
        program.tasks = [jam(task) for task in program.tasks]


def _hold(program: Program, options: Options, backend: Backend) -> None:
    """Add up in registers what inner loops add to one element; not where checks say which iteration was wrong, or where
    the order of additions is fixed.
    """
    if backend.capabilities.holds and not options.debug and not options.deterministic:
        for task in program.tasks:
            hold(task)


def _guard(program: Program, options: Options) -> None:
    """Keep accesses from touching memory out of bounds, unless checks do that or the options leave it out."""
    if options.bounds == "safe" and not options.debug:
        for task in program.tasks:
            guard(task.body)


def _accumulate(program: Program, options: Options, backend: Backend) -> None:
    """Plan how updates that iterations share are added up."""
    for task in program.tasks:
        accumulate(task, backend.capabilities.sums, deterministic=options.deterministic)


def _refuse_held(program: Program) -> None:
    """Raise AdstackMemoryError if a limit on the heap would not hold, because threads keep stacks themselves."""
    for task in program.tasks:
        stack = held(task)
        if stack is not None:
            what = f"that keep {stack.result.name} " if stack.result.name else ""
            raise AdstackMemoryError(
                f"{program.name}: the adstacks {what}in {task.name} are sized while it runs, by what it writes "
                "itself: no limit of memory can be kept",
                loc=stack.loc if stack.loc.line else None,
                do="leave ad_stack_heap_limit and device_memory_GB at 0, or give a capacity with ad_stack_size, or let "
                "another kernel compute the bound",
            )


def _uses(program: Program) -> Iterator[tuple[str, bool, bool]]:
    """(place, reads, writes) of every op that touches the memory of a place."""
    for task in program.tasks:
        for op in task.body.walk():
            place = op.attrs.get("place")
            if place is not None and place.kind != "depths":
                yield place.name, op.opdef.reads, op.opdef.writes


def stages(kernel: Kernel, options: Options, backend: Backend) -> dict[str, str]:
    """What a kernel is after each step of compilation, for people and tests.

    Args:
        kernel: a verified kernel; it is not changed.
        options: what `init` was called with.
        backend: lowers and lists the program.

    Returns:
        By the name of the step, in order: the text of the IR after each pass, from "frontend" to "tasks" and "guard",
        then the backend's own listings ("llvm", "asm", ...).
    """
    texts: dict[str, str] = {}

    def observe(stage: str, root: Kernel | Program) -> None:
        texts[stage] = print_ir(root)

    program = pipeline.lower(kernel, options, observe)
    _gather(program, options, backend)
    _jam(program, options, backend)
    _hold(program, options, backend)
    _guard(program, options)
    _accumulate(program, options, backend)
    texts["guard"] = print_ir(program)
    return {**texts, **backend.listing(backend.compile(program, options))}
