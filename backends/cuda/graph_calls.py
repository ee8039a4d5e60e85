"""CUDA's graphs, as the driver has them: nodes one after the other, launched at once."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .driver_error import DriverError
from .graph_updates import Updates

__all__ = ["DriverGraph", "KernelParams", "Launch", "MemsetParams", "Node", "Zero"]


@dataclass(frozen=True)
class Launch:
    """A kernel with the words that it is handed: by value, when the graph is made or the node is set."""

    function: int
    grid: int
    block: int
    words: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Zero:
    """Bytes to be zeroed."""

    address: int
    size: int


Node = Launch | Zero


class KernelParams(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("params", ctypes.POINTER(ctypes.c_void_p)),
        ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    )


class MemsetParams(ctypes.Structure):
    """CUDA_MEMSET_NODE_PARAMS."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("pitch", ctypes.c_size_t),
        ("value", ctypes.c_uint),
        ("element", ctypes.c_uint),
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    )


Call = Callable[..., None]
"""Calls a function of the driver by its name; DriverError if it fails."""


class DriverGraph:
    """A graph of nodes in order, ready to be launched on the default stream.

    Args:
        call: the driver.
        context: of the device.
        nodes: what it does.
        setter: gives the address of cuGraphExecKernelNodeSetParams.
    """

    def __init__(self, call: Call, context: ctypes.c_void_p, nodes: Sequence[Node], setter: Callable[[], int]) -> None:
        self._call, self._setter = call, setter
        graph, self._made = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuGraphCreate", ctypes.byref(graph), 0)
        self._nodes: list[ctypes.c_void_p] = []
        for node in nodes:
            self._add(graph, context, node)
        call("cuGraphInstantiateWithFlags", ctypes.byref(self._made), graph, ctypes.c_uint64(0))
        # nodes are known by their place in the graph they were made in, so it stays
        weakref.finalize(self, _release, call, graph, self._made).atexit = False

    def _add(self, graph: ctypes.c_void_p, context: ctypes.c_void_p, node: Node) -> None:
        handle = ctypes.c_void_p()
        before = (ctypes.c_void_p * 1)(self._nodes[-1].value) if self._nodes else None
        head = (ctypes.byref(handle), graph, before, ctypes.c_size_t(len(self._nodes[-1:])))
        if isinstance(node, Zero):
            memset = MemsetParams(node.address, node.size, 0, 1, node.size, 1)
            self._call("cuGraphAddMemsetNode", *head, ctypes.byref(memset), context)
        else:
            params, keep = _params(node)
            self._call("cuGraphAddKernelNode_v2", *head, ctypes.byref(params))
            del keep
        self._nodes.append(handle)

    def set(self, number: int, node: Launch) -> None:
        """Hand a kernel other words from the next launch of the graph on."""
        params, keep = _params(node)
        self._call("cuGraphExecKernelNodeSetParams_v2", self._made, self._nodes[number], ctypes.byref(params))
        del keep

    def updates(self, kernels: Mapping[int, int]) -> Updates:
        """How kernels, functions by the numbers of their nodes, are handed other words by machine code."""
        nodes = [self._nodes[number].value or 0 for number in kernels]
        return Updates(self._setter(), self._made.value or 0, nodes, list(kernels.values()))

    def launch(self) -> None:
        """Queue everything."""
        self._call("cuGraphLaunch", self._made, None)


def _params(node: Launch) -> tuple[KernelParams, object]:
    """What the driver is told of a kernel, and what has to live while it is."""
    words = (ctypes.c_void_p * 1)(node.words.ctypes.data)
    params = KernelParams(node.function, (node.grid, 1, 1), (node.block, 1, 1), 0, words)
    return params, words


def _release(call: Call, graph: ctypes.c_void_p, made: ctypes.c_void_p) -> None:
    for name, what in (("cuGraphExecDestroy", made), ("cuGraphDestroy", graph)):
        with suppress(DriverError):
            call(name, what)
