"""What the benchmarks share: opening a backend, and the folder of this file for processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BACKENDS = ("reference", "vulkan", "cuda", "cpu")
COMPILED = ("vulkan", "cuda", "cpu")
BY_LLVM = ("cpu",)
HERE = str(Path(__file__).resolve().parent)


def opened(backend: str, **options: Any) -> Any:
    """adstack, started on a backend; NotImplementedError, which skips the benchmark, if there is none here."""
    import adstack as qd

    try:
        qd.init(arch=backend, **options)
    except Exception as error:
        raise NotImplementedError(f"{backend}: {error}") from error
    return qd


def called(work: Any, *given: Any) -> None:
    """Call often enough that everything that is done once, or at the second call, has been done."""
    for _ in range(3):
        work(*given)


def finishing(qd: Any, backend: str, work: Any) -> Any:
    """Work that is done when the call returns: on devices of their own, launches only begin then."""
    if backend in ("reference", "cpu"):
        return work

    def both() -> None:
        work()
        qd.sync()

    return both


def gradient(kernel: Any) -> Any:
    """A kernel in reverse mode; NotImplementedError, which skips the benchmark, where there is none."""
    if not hasattr(kernel, "grad"):
        raise NotImplementedError("no reverse mode")
    return kernel.grad
