"""Code objects in memory, and dispatches of their kernels."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from adstack.backends.shared.clang import FLAGS, host_object
from adstack.backends.shared.elf import ALLOCATED, EXECUTABLE, Object
from adstack.backends.shared.jit import Library, linked
from adstack.errors import InternalError

from .decoding import Decoded, decoded
from .instructions import source
from .processors import MOST_THREADS, Processor, processor_of
from .running import ENTRY

__all__ = ["Code", "Start", "core"]

_PAGE: Final = 4096
_ENDED: Final = 1
_STATES: Final = {
    2: "went on where there is no code",
    3: "came to the end of the code",
    4: "left the memory of its threads or of its workgroup",
    5: "indexed registers other than by a move, or that are not there",
}
_FLAGS: Final = (*FLAGS, "-fno-math-errno")


class _Dispatch(ctypes.Structure):
    """`Dispatch` of `running`."""

    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in (
            *("records", "base", "dwords", "entry", "packet", "words", "scratch", "bytes", "group"),
            *("group_bytes", "groups", "threads", "properties", "setup", "skew", "state", "pc"),
        )
    )


@dataclass(frozen=True)
class Start:
    """What a kernel's descriptor says of its waves.

    Attributes:
        entry: address of its first instruction, in the code object.
        private_bytes, group_bytes: memory of a thread and of a workgroup.
        setup: the word for COMPUTE_PGM_RSRC2.
        properties: which values are set up in scalar registers.
    """

    entry: int
    private_bytes: int
    group_bytes: int
    setup: int
    properties: int


@cache
def core(processor: Processor) -> Library:
    """A processor, as machine code of this one."""
    return linked(host_object(source(processor), _FLAGS, keep=True), [ENTRY])


class Code:
    """A code object in memory, ready to be dispatched.

    Args:
        image: of the code object.

    Raises:
        InternalError: it has an instruction that is not known.
    """

    def __init__(self, image: bytes) -> None:
        source = Object(image)
        self.processor = processor_of(source.flags)
        sections = [section for section in source.sections if section.flags & ALLOCATED and section.size]
        size = max(section.address + section.size for section in sections)
        self._memory = np.zeros(size + _PAGE, np.uint8)
        start = -self._memory.ctypes.data % _PAGE
        self.bytes = self._memory[start : start + size]
        self.base = self._memory.ctypes.data + start
        for section in sections:
            contents = source.data(section)
            self.bytes[section.address : section.address + len(contents)] = np.frombuffer(contents, np.uint8)
        code = [section for section in sections if section.flags & EXECUTABLE]
        first = min((section.address for section in code), default=0)
        self._text = self.base + first
        texts = [((one.address - first) // 4, source.data(one)) for one in code]
        self.decoded: Decoded = decoded(self.processor, texts)
        self._dwords = len(self.decoded.records) - self.decoded.extra
        self._run = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(core(self.processor)[ENTRY])

    def dispatch(self, start: Start, words: int, groups: int, threads: int, skew: int = 0) -> None:
        """Run a kernel on so many workgroups of so many threads each, one wave after another.

        Args:
            start: of the kernel.
            words: address of what it is handed.
            groups: how many workgroups.
            threads: of each of them.
            skew: by how much the last place of approximations is off, which results must not depend on.
        """
        assert 0 < threads <= MOST_THREADS
        packet = np.zeros(64, np.uint8)  # of a kernel dispatch: the extents of workgroups and of all, along three axes
        packet[4:10].view(np.uint16)[:] = threads, 1, 1
        packet[12:24].view(np.uint32)[:] = groups * threads, 1, 1
        most, own = threads + -threads % self.processor.lanes, max(start.private_bytes, 16)
        scratch = np.full(most * own, 0xAB, np.uint8)
        group = np.zeros(max(start.group_bytes, 1), np.uint8)
        dispatch = _Dispatch(
            records=self.decoded.records.ctypes.data,
            base=self._text,
            dwords=self._dwords,
            entry=self.base + start.entry,
            packet=packet.ctypes.data,
            words=words,
            scratch=scratch.ctypes.data,
            bytes=own,
            group=group.ctypes.data,
            group_bytes=start.group_bytes,
            groups=groups,
            threads=threads,
            properties=start.properties,
            setup=start.setup,
            skew=skew & (1 << 64) - 1,
        )
        state = self._run(ctypes.addressof(dispatch))
        if state != _ENDED:
            at = (dispatch.pc - self._text) // 4
            raise InternalError(f"a wave {_STATES[state]} after word {at}, {self.decoded.names.get(at)}")
