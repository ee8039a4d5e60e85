"""The rows in the kernel language, for any module that speaks it: `python language.py MODULE ARCH [OPTIONS-AS-JSON]`.

Reads one request a line from standard input, `{"row": ..., "kind": ..., "calls": ..., "cache": ..., "size": ...}`, and
answers each with a line, `{"wall": seconds per call, "cpu": the same of processor time}` or `{"error": why}`. Without
calls, so many are timed together as take 5 ms. The row "about" asks who answers. Rows with a size are iterations of a
program of `conformance/programs`; of the first one there is an "outcome" too: the loss, and the size of each gradient.
Rows "adjoint-NAME" are works of `asv_benchmarks/benchmarks/adjoint_kernels.py`, forward; with "-both" behind it, also
in reverse. With a "target", FILE:KERNEL, and "arguments" a row is of a user's kernel, whose file finds this module
where it imports adstack.
The first request for a row prepares it and makes untimed calls; of rows of the kind "cold" the first call is timed.
"""
# Annotations are values here: not every compiler of the language finds the names in their texts.

import functools
import importlib
import importlib.util
import json
import operator
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

Language: TypeAlias = Any
"""The module that is measured: adstack, or a peer of it."""
Record: TypeAlias = dict[str, Any]
"""A JSON object."""

Work = Callable[[], object]
"""Does the work of one call."""

THREADS = 65536
STEPS = 64
MANY_THREADS = 1024
MANY_GRADIENT = "gradient-many-"
ADJOINT = "adjoint-"
BOTH = "-both"
USERS = ("target", "arguments")
SAMPLE, WARM = 5e-3, 0.3  # seconds timed together where a request names no number of calls; seconds before that
ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = ROOT / "conformance" / "harness" / "programs.py"
ADJOINTS = ROOT / "asv_benchmarks" / "benchmarks" / "adjoint_kernels.py"


def _nop(qd: Language) -> Work:
    y = qd.field(qd.f32, shape=())

    @qd.kernel
    def store():
        y[None] = 1.0

    return store


def _args(qd: Language, array: object = None) -> Work:
    array = qd.ndarray(qd.f32, shape=(16,)) if array is None else array

    @qd.kernel
    def store(a: qd.types.ndarray(dtype=qd.f32, ndim=1), s: qd.f32):
        a[0] = s

    return lambda: store(array, 2.0)


def _nop_reverse(qd: Language) -> Work:
    x, y = qd.field(qd.f32, shape=(), needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def square():
        y[None] = x[None] * x[None]

    return _gradient(qd, square, y)


def _args_reverse(qd: Language) -> Work:
    x, y = qd.ndarray(qd.f32, shape=(16,), needs_grad=True), qd.ndarray(qd.f32, shape=(16,), needs_grad=True)

    @qd.kernel
    def scale(
        x: qd.types.ndarray(dtype=qd.f32, ndim=1),
        y: qd.types.ndarray(dtype=qd.f32, ndim=1),
        s: qd.f32,
    ):
        y[0] = x[1] * s

    def both() -> None:
        scale(x, y, 2.0)
        scale.grad(x, y, 2.0)

    return both


def _tape(qd: Language) -> Work:
    x, y = qd.field(qd.f32, shape=101, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def step(t: qd.i32):
        x[t + 1] = x[t] * x[t]

    @qd.kernel
    def last():
        y[None] += x[100]

    def taped() -> None:
        with qd.ad.Tape(loss=y):
            for t in range(100):
                step(t)
            last()

    return taped


def _recurrence(qd: Language, threads: int = THREADS, steps: int = STEPS, **options: bool) -> Work:
    x, y = qd.field(qd.f32, shape=threads, **options), qd.field(qd.f32, shape=(), **options)
    n = qd.field(qd.i32, shape=())
    x.from_numpy(np.linspace(0.0, 1.0, threads).astype(np.float32))
    n[None] = steps

    @qd.kernel
    def forward():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = qd.sin(v) * 0.9 + 0.1
            y[None] += v

    return _gradient(qd, forward, y) if options else forward


def _gradient(qd: Language, forward: Language, out: Language) -> Work:
    """The gradient of a kernel that has been called, by its inputs: each element of `out` counts once."""
    forward()
    out.grad.fill(1.0)
    qd.sync()
    return cast(Work, forward.grad)


def _gather(qd: Language) -> Work:
    x, z, w = (qd.field(qd.f32, shape=THREADS) for _ in range(3))
    deg, col = qd.field(qd.i32, shape=THREADS), qd.field(qd.i32, shape=(THREADS, 16))
    draw = np.random.default_rng(0)
    x.from_numpy(draw.random(THREADS, dtype=np.float32))
    w.from_numpy(draw.random(THREADS, dtype=np.float32))
    deg.from_numpy(draw.integers(0, 17, THREADS).astype(np.int32))
    col.from_numpy(draw.integers(0, THREADS, (THREADS, 16)).astype(np.int32))

    @qd.kernel
    def forward():
        for i in x:
            acc = 0.0
            for j in range(deg[i]):
                acc += w[col[i, j]] * x[i]
            z[i] = acc

    return forward


def _element_read(qd: Language) -> Work:
    x = qd.field(qd.f32, shape=16)
    return lambda: x[7]


def _element_write(qd: Language) -> Work:
    x = qd.field(qd.f32, shape=16)

    def write() -> None:
        x[7] = 2.0

    return write


def _many(qd: Language, count: int, **options: bool) -> Work:
    """`count` variables carried round a loop: the source is written to a file, where compilers look for it."""
    path = Path(tempfile.mkdtemp(prefix="many"), f"many{count}.py")
    path.write_text(_module(Path(__file__).with_name("many.py")).source(count, MANY_THREADS))
    forward, y = _module(path).make(qd, options)
    return cast(Work, _gradient(qd, forward, y) if options else forward)


def _module(path: Path) -> Any:
    """A file, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _adjoint(qd: Language, name: str) -> Work:
    """A work that adds to memory which iterations share: forward, or forward and in reverse.

    Raises:
        ModuleNotFoundError: if this is not a checkout, which has the benchmarks.
    """
    sys.path.insert(0, str(ADJOINTS.parents[1]))
    make, size = importlib.import_module("benchmarks.adjoint_kernels").WORKS[name.removesuffix(BOTH)]
    work = make(qd, size)
    forward: Work = work.forward

    def both() -> None:
        forward()
        work.seed()  # the last reverse pass has set the gradient of what it overwrites to 0
        work.reverse()

    return both if name.endswith(BOTH) else forward


class Iteration:
    """An iteration of an optimisation: the loss, its gradient, and what is made of it."""

    def __init__(self, qd: Language, name: str, size: str) -> None:
        self.program = _module(PROGRAMS).make(name, qd, size)
        self.loss = 0.0

    def __call__(self) -> None:
        self.loss = float(self.program.differentiate())
        self.program.update()

    def outcome(self) -> dict[str, float]:
        """The loss, and the euclidean norms of the gradients."""
        gradients = {name: place.grad.to_numpy().astype(np.float64) for name, place in self.program.inputs.items()}
        return {"loss": self.loss, **{name: float(np.linalg.norm(one)) for name, one in gradients.items()}}


class UserGradient:
    """The gradient of a user's kernel, of which there has been a call."""

    def __init__(self, kernel: Any, args: tuple[Any, ...]) -> None:
        self.gradient, self.given = kernel.grad, args
        kernel(*args)

    def __call__(self) -> None:
        self.gradient(*self.given)

    def outcome(self) -> dict[str, float]:
        """What is kept, if the language tells: how many adstacks, and their bytes per thread."""
        if not hasattr(self.gradient, "adstack_report"):
            return {}
        report = self.gradient.adstack_report(*self.given)
        return {"adstacks": len(report), "bytes per thread": sum(task.stride for task in report.tasks)}


def user_work(qd: Language, row: str, target: str, arguments: str) -> Work:
    """A call or the gradient of `FILE:KERNEL`; the arguments are expressions in terms of the program's names."""
    path, _, name = target.rpartition(":")
    sys.modules["adstack"] = qd
    sys.path.insert(0, str(Path(path).parent))
    kernel = operator.attrgetter(name)(program := _module(Path(path)))
    values = eval(f"({arguments},)" if arguments.strip() else "()", vars(program))
    if row.endswith("gradient"):
        gradient = UserGradient(kernel, values)
        return gradient if row.startswith("first") else functools.partial(gradient.gradient, *values)
    return functools.partial(kernel, *values) if values else kernel


def prepare(qd: Language, row: str, size: str = "", target: str | None = None, arguments: str | None = None) -> Work:
    """The work of a row; KeyError if there is no such row."""
    if target:
        return user_work(qd, row, target, arguments or "")
    if size:
        return Iteration(qd, row.rpartition("program-")[2], size)
    if row.startswith(("many", MANY_GRADIENT)):
        is_gradient = {"needs_grad": True} if row.startswith(MANY_GRADIENT) else {}
        return _many(qd, int(row.removeprefix(MANY_GRADIENT).removeprefix("many")), **is_gradient)
    if row.startswith(ADJOINT):
        return _adjoint(qd, row.removeprefix(ADJOINT))
    return ROWS[row](qd)


ROWS: dict[str, Callable[[Language], Work]] = {
    "nop": _nop,
    "args": _args,
    "nop-reverse": _nop_reverse,
    "args-reverse": _args_reverse,
    "args-torch": lambda qd: _args(qd, importlib.import_module("torch").zeros(16)),
    "adstack-reverse": lambda qd: _recurrence(qd, threads=1, steps=8, needs_grad=True),
    "tape": _tape,
    "recurrence": _recurrence,
    "recurrence-reverse": lambda qd: _recurrence(qd, needs_grad=True),
    "gather": _gather,
    "element-read": _element_read,
    "element-write": _element_write,
    "first": _recurrence,
    "first-cached": _recurrence,
    "first-nop": _nop,
    "first-gradient": lambda qd: _recurrence(qd, needs_grad=True),
}


def timed(work: Work, sync: Work, calls: int) -> dict[str, float]:
    """Seconds per call, the queue drained at the end."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(calls):
        work()
    sync()
    return {"wall": (time.perf_counter() - wall) / calls, "cpu": (time.process_time() - cpu) / calls}


def warm(work: Work, sync: Work) -> None:
    """Call until what compiles, learns or takes memory at first has done so: twice, and for 0.3 s."""
    start, calls = time.perf_counter(), 0
    while calls < 2 or time.perf_counter() - start < WARM:
        calls += bool(timed(work, sync, 1))


def enough(work: Work, sync: Work) -> int:
    """How many calls take 5 ms together, rounded up to a power of two."""
    calls = 1
    while timed(work, sync, calls)["wall"] * calls < SAMPLE:
        calls *= 2
    return calls


class Runner:
    """One implementation, opened at the first request that needs it."""

    def __init__(self, module: str, arch: str, stated: Record) -> None:
        self.name, self.arch, self.stated = module, arch, stated
        self.qd = importlib.import_module(module)
        self.ready, self.calls = dict[str, Work](), dict[str, int]()

    def answer(self, request: Record) -> Record:
        """The reply to a request: its row is prepared the first time, then measured as the request's kind says."""
        row = request["row"]
        if row == "about":
            return self.about()
        if not self.ready:
            self.start(request.get("cache") or "")
        cold = request["kind"] == "cold"
        if row not in self.ready:
            self.ready[row] = prepare(self.qd, row, request.get("size", ""), *map(request.get, USERS))
            self.qd.sync()
            if not cold:
                warm(self.ready[row], self.qd.sync)
            self.calls[row] = request["calls"] or (1 if cold else enough(self.ready[row], self.qd.sync))
        work = self.ready[row]
        if not cold:
            timed(work, self.qd.sync, 1)  # others had the device, and the processor's caches, since
        times = timed(work, self.qd.sync, self.calls[row])
        return {**times, "outcome": work.outcome()} if cold and isinstance(work, (Iteration, UserGradient)) else times

    def start(self, cache: str) -> None:
        """Open the arch; whatever a user's program asks of `init` later is opened on the same one."""
        init, own = self.qd.init, {"arch": getattr(self.qd, self.arch), **self.options(cache), **self.stated}
        init(**own)
        self.qd.init = lambda arch=None, **options: init(**{**options, **own})

    def about(self) -> Record:
        """Which implementation this is: its name, its version and Python's."""
        version = self.qd.__version__
        text = version if isinstance(version, str) else ".".join(map(str, version))
        return {"name": self.name, "version": text, "python": platform.python_version()}

    def options(self, cache: str) -> Record:
        """Compiled kernels are kept only in the folder `cache`, if there is one."""
        os.environ["ADSTACK_CACHE_DIR"] = cache or tempfile.mkdtemp()
        options: Record = {"offline_cache": bool(cache)}
        if cache and self.name != "adstack":
            options["offline_cache_file_path"] = cache
        if self.name == "quadrants":
            options["ad_stack_experimental_enabled"] = True  # loops of dynamic length have no gradient otherwise
        return options


def main() -> None:
    """Answer until the input ends. Banners that implementations print go to standard error."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(prefix="bench") as scratch:
        tempfile.tempdir = scratch
        runner = Runner(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]) if len(sys.argv) > 3 else {})
        for line in sys.stdin:
            try:
                reply = runner.answer(json.loads(line))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is this row's answer
                reply = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
