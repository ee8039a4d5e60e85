"""Handing the kernels of a graph other words, by machine code: a function that is called as cuLaunchKernel is.

The host's code of a program launches its tasks through the function that its table names. With this one there, and the
record of a graph where the stream stands, each call tells the next node what it would have launched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from .codegen import WORDS
from .toolchain import Code, host_code

__all__ = ["NODE_PARAMS", "OTHER", "Updates"]

OTHER: Final = 1
"""What is given where another kernel comes than the node has: CUDA's code for a value that can't be."""
_FIELDS: Final = ("set", "made", "nodes", "functions", "count", "next")
"""Words of a record: cuGraphExecKernelNodeSetParams, the graph, its kernels' nodes and functions, how many there are,
and which comes next."""
NODE_PARAMS: Final = np.dtype(
    [
        *(("function", np.uint64), ("grid", np.uint32, 3), ("block", np.uint32, 3), ("shared", np.uint32)),
        *((name, np.uint64) for name in ("params", "extra", "kernel", "context")),
    ],
    align=True,
)
"""CUDA_KERNEL_NODE_PARAMS, as cuda.h declares it since CUDA 12; `params` is the address of addresses of arguments."""
_ARGUMENTS: Final = ("f", "gx", "gy", "gz", "bx", "by", "bz", "shared", "words", "extra")
"""The parameters of a kernel node, in the order of CUDA_KERNEL_NODE_PARAMS."""


def _loaded(name: str, ty: str) -> str:
    at = _FIELDS.index(name)
    return f"  %{name}.at = getelementptr i64, ptr %record, i64 {at}\n  %{name} = load {ty}, ptr %{name}.at, align 8\n"


def _text() -> str:
    stores = "".join(
        f"  %to{k} = getelementptr %params, ptr %told, i32 0, i32 {k}\n"
        f"  store {'i32' if 0 < k < 8 else 'ptr'} %{name}, ptr %to{k}\n"
        for k, name in enumerate(_ARGUMENTS)
    )
    return (
        "%params = type { ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr, ptr }\n"
        "define i32 @adstack.update(ptr %f, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared,\n"
        "    ptr %record, ptr %words, ptr %extra) {\n"
        "entry:\n  %told = alloca %params, align 8\n  store %params zeroinitializer, ptr %told\n"
        + _loaded("count", "i64")
        + _loaded("next", "i64")
        + "  %more = icmp slt i64 %next, %count\n  br i1 %more, label %known, label %other\n"
        "known:\n"
        + _loaded("functions", "ptr")
        + "  %function.at = getelementptr ptr, ptr %functions, i64 %next\n  %function = load ptr, ptr %function.at\n"
        "  %same = icmp eq ptr %function, %f\n  br i1 %same, label %tell, label %other\n"
        f"other:\n  ret i32 {OTHER}\ntell:\n"
        + stores
        + _loaded("set", "ptr")
        + _loaded("made", "ptr")
        + _loaded("nodes", "ptr")
        + "  %node.at = getelementptr ptr, ptr %nodes, i64 %next\n  %node = load ptr, ptr %node.at\n"
        "  %code = call i32 %set(ptr %made, ptr %node, ptr %told)\n"
        "  %after = add i64 %next, 1\n  store i64 %after, ptr %next.at, align 8\n  ret i32 %code\n}\n"
    )


@cache
def _code() -> Code:
    return host_code(_text(), ["adstack.update"], None)


class Updates:
    """What is told to the kernels of one graph.

    Args:
        setter: the address of cuGraphExecKernelNodeSetParams.
        graph: what is launched.
        nodes, functions: of its kernels, in order.
    """

    def __init__(self, setter: int, graph: int, nodes: Sequence[int], functions: Sequence[int]) -> None:
        self._nodes, self._functions = np.array(nodes, np.int64), np.array(functions, np.int64)
        addresses = (self._nodes.ctypes.data, self._functions.ctypes.data)
        self._record = np.array([setter, graph, *addresses, len(nodes), 0], np.int64)

    @contextmanager
    def told(self, table: npt.NDArray[np.int64]) -> Iterator[None]:
        """Inside, a program that launches tells the nodes instead."""
        kept = {at: int(table[at]) for at in (WORDS["launch"], WORDS["stream"])}
        table[WORDS["launch"]] = _code().symbols["adstack.update"]
        table[WORDS["stream"]] = self._record.ctypes.data
        self._record[_FIELDS.index("next")] = 0
        try:
            yield
        finally:
            for at, word in kept.items():
                table[at] = word

    @property
    def is_complete(self) -> bool:
        """Whether every kernel was told."""
        return int(self._record[_FIELDS.index("next")]) == len(self._nodes)
