"""CUDA's graphs, as the driver has them: nodes one after the other, launched at once."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from .bindings import Handle, call, declarations
from .interface.driver import Copy, Launch, Node, Zero
from .interface.errors import DriverError

__all__ = ["NativeGraph"]


class NativeGraph:
    """A `DriverGraph`, see there.

    Args:
        context: of the device.
        nodes: what it does.
    """

    def __init__(self, context: Handle, nodes: Sequence[Node]) -> None:
        graph = call("cuGraphCreate", 0)
        self._nodes: list[Handle] = []
        for node in nodes:
            self._nodes.append(_added(graph, context, self._nodes[-1:], node))
        self._executable = call("cuGraphInstantiate", graph, 0)
        self.handle = int(self._executable)
        self.handles: Sequence[int] = [int(node) for node in self._nodes]
        # nodes are known by their place in the graph they were made in, so it stays
        weakref.finalize(self, _release, graph, self._executable).atexit = False

    def set(self, number: int, node: Launch) -> None:
        """See `DriverGraph.set`."""
        params, words = _kernel(node)
        call("cuGraphExecKernelNodeSetParams", self._executable, self._nodes[number], params)
        del words

    def launch(self) -> None:
        """Queue everything."""
        call("cuGraphLaunch", self._executable, None)


def _added(graph: Handle, context: Handle, before: list[Handle], node: Node) -> Handle:
    """The node of a graph that comes after those before."""
    if isinstance(node, Zero):
        return call("cuGraphAddMemsetNode", graph, before, len(before), _memset(node), context)
    if isinstance(node, Copy):
        return call("cuGraphAddMemcpyNode", graph, before, len(before), _memcpy(node), context)
    params, words = _kernel(node)
    added = call("cuGraphAddKernelNode", graph, before, len(before), params)
    del words
    return added


def _memset(node: Zero) -> Handle:
    """What the driver is told of bytes to be zeroed: one row of elements of a byte."""
    params = declarations().CUDA_MEMSET_NODE_PARAMS()
    params.dst, params.pitch, params.value = node.address, node.size, 0
    params.elementSize, params.width, params.height = 1, node.size, 1
    return params


def _memcpy(node: Copy) -> Handle:
    """What the driver is told of bytes to be copied: one row of them, from the device to the device."""
    params, device = declarations().CUDA_MEMCPY3D(), declarations().CUmemorytype.CU_MEMORYTYPE_DEVICE
    params.srcMemoryType = params.dstMemoryType = device
    params.srcDevice, params.dstDevice = node.source, node.target
    params.WidthInBytes, params.Height, params.Depth = node.size, 1, 1
    return params


def _kernel(node: Launch) -> tuple[Handle, object]:
    """What the driver is told of a kernel, and what has to live while it is."""
    words = np.array([node.words.ctypes.data], np.uint64)
    params = declarations().CUDA_KERNEL_NODE_PARAMS()
    params.func, params.kernelParams = node.function, words.ctypes.data
    params.gridDimX, params.gridDimY, params.gridDimZ = node.grid, 1, 1
    params.blockDimX, params.blockDimY, params.blockDimZ = node.block, 1, 1
    return params, words


def _release(graph: Handle, executable: Handle) -> None:
    for name, handle in (("cuGraphExecDestroy", executable), ("cuGraphDestroy", graph)):
        with suppress(DriverError):
            call(name, handle)
