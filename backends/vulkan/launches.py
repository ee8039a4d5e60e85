"""Launches that Python makes: their words are written, their dispatches recorded, and what they report is read."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

import numpy as np

from adstack.backends.shared.bits import raw_bits
from adstack.ir.types import DType, u8
from adstack.runtime.protocol.backend import Bindings, Scalar, Scalars
from adstack.runtime.threads.interrupts import uninterrupted

from .driver.pipeline import Pipeline
from .executable import Executable
from .graphs import Graphs
from .layout import Piece, mapped
from .shared import Shared
from .shortcuts import Launcher

__all__ = ["Launches"]


class Launches:
    """Makes and counts the launches of a backend, and waits for them.

    Args:
        common: the device.
        most: workgroups that a task gets.

    Attributes:
        count: how many launches there were, in memory that machine code counts on as well.
        graphs: keeps launches that are to be repeated.
    """

    def __init__(self, common: Shared, most: int) -> None:
        self.count = ctypes.c_int64(0)
        self._common, self._memory, self._stream, self._most = common, common.memory, common.stream, most
        self.graphs = Graphs(
            common.memory, common.stream, common.heap, common.lock, common.unread, most, common.leftovers
        )

    def launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        """See `Backend.launch`."""
        with self._common.lock, uninterrupted():
            return self._launch(executable, scalars, bindings)

    def relaunch(self, executable: Executable, launcher: Launcher) -> None:
        """Make the launch that machine code has counted and left to Python, as adstacks must be laid out for it."""
        with self._common.lock, uninterrupted():
            bindings = launcher.bindings()
            executable.settled = bindings.sized  # which machine code has compared
            self.count.value -= 1
            try:
                self._launch(executable, launcher.scalars(), bindings)
            finally:
                executable.settled = False  # machine code remembers what depths depend on, and for whom they stand
            launcher.lay_out(executable.layouts, executable.words, executable.depths)

    def _launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        if executable.repeated:
            self.settle()  # what a graph's launch reported is told apart
        self.count.value += 1
        executable.number, executable.scalars, executable.repeated = self.count.value, scalars, False
        counts = self._counts(executable, scalars, bindings)
        piece = self._words(executable, counts)
        try:
            if executable.binder is not None:
                executable.binder.check(piece, bindings.storages)
            self._hand(executable, piece, scalars, bindings)
            for pipeline, groups in executable.steady:
                self._run(executable, pipeline, piece, groups, bindings)
            if not executable.steady:
                self._record(executable, piece, counts, bindings)
            if self.graphs.keeping:
                self.graphs.note(executable, scalars, bindings)
            if not executable.waits:
                return ()
            try:
                self.settle()
            finally:  # what was printed before a check failed is seen as well
                if executable.prints is not None:
                    executable.show()
            places, inside = executable.program.places, executable.context.inside
            return [_read(piece, inside[name], places[name].dtype) for name in executable.program.results]
        finally:
            batch = self._stream.batch
            for storage in bindings.storages.values():
                storage.batch = batch
            if piece.own:
                piece.batch = batch
                self._memory.free(piece)

    def _counts(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> list[int | None]:
        """How many iterations each task has in a launch, as far as the host can tell; 0 for those to leave out."""
        if executable.steady:
            return []
        sized = executable.settled and bindings.sized
        tasks = zip(executable.program.tasks, executable.extents, strict=True)
        return [0 if sized and task.sizes else extent.count(scalars, bindings.shapes) for task, extent in tasks]

    def _record(self, executable: Executable, piece: Piece, counts: Sequence[int | None], bindings: Bindings) -> None:
        """Record the dispatches of a launch."""
        executable.settled = False
        executable.layouts.check(executable.depths)
        for number, (task, iterations) in enumerate(zip(executable.program.tasks, counts, strict=True)):
            if executable.stale and executable.layouts.looks_ahead(number):
                self._learn_depths(executable)
                executable.layouts.check(executable.depths, number)
            if iterations != 0:
                executable.stale |= bool(task.sizes)
                self._dispatch(executable, number, piece, iterations, bindings)
        executable.settled = True

    def _run(self, executable: Executable, pipeline: Pipeline, piece: Piece, groups: int, bindings: Bindings) -> None:
        """Dispatch one task of a launch."""
        if self.graphs.keeping:
            self.graphs.step(pipeline, groups)
        if executable.binder is not None:
            executable.binder.bind(pipeline, piece, bindings.storages)
        self._stream.dispatch(pipeline, piece.address, groups)

    def _dispatch(
        self, executable: Executable, number: int, piece: Piece, iterations: int | None, bindings: Bindings
    ) -> None:
        pipeline = executable.pipelines[number]
        groups = pipeline.groups(iterations, self._most)
        if number in executable.context.heaps:
            groups = self._lay_out(executable, number, piece, pipeline.threads(iterations, self._most))
        self._run(executable, pipeline, piece, groups, bindings)

    def _words(self, executable: Executable, counts: Sequence[int | None]) -> Piece:
        """Memory for the words of a launch; apart from the batch's if the launch may have to wait in between."""
        if not executable.context.heaps or self._stands(executable, counts):
            return self._stream.words(executable.context.size)
        piece = self._memory.piece(u8, (executable.context.size,), visible=True)
        piece.own = True
        return piece

    def _stands(self, executable: Executable, counts: Sequence[int | None]) -> bool:
        """Whether the adstacks of a launch are where they were in the last one."""
        if executable.context.depths and executable.stale:
            return False
        if any(task.sizes and n != 0 for task, n in zip(executable.program.tasks, counts, strict=True)):
            return False
        layouts, depths, pipelines = executable.layouts, executable.depths, executable.pipelines
        heaps = (number for number in executable.context.heaps if counts[number] != 0)
        return all(layouts.stands(k, pipelines[k].threads(counts[k], self._most), depths) for k in heaps)

    def _lay_out(self, executable: Executable, number: int, piece: Piece, threads: int) -> int:
        """Make a task's adstacks ready for up to so many threads; gives how many workgroups run."""
        layouts = executable.layouts
        if layouts.needs_depths(number) and executable.stale:
            self._learn_depths(executable)
        if not layouts.stands(number, threads, executable.depths):
            words, at = layouts.lay_out(number, threads, executable.depths), executable.context.heaps[number].address
            executable.words[at : at + len(words)] = words  # for later launches, while they stand
            struct.pack_into(f"<{len(words)}Q", piece.block.host, piece.offset + 8 * at, *words)
        return -(-layouts.running[number] // executable.pipelines[number].local_size)

    def _learn_depths(self, executable: Executable) -> None:
        """Wait for the sizers that were recorded, and look what they have computed."""
        assert executable.sizes is not None
        self._stream.finish()
        executable.depths = mapped(executable.sizes).tolist()
        executable.stale = False

    def _hand(self, executable: Executable, piece: Piece, scalars: Scalars, bindings: Bindings) -> None:
        """Write down what a launch is handed, and what is to be known of it later."""
        if executable.bound is bindings:
            piece.block.host[piece.offset : piece.offset + executable.context.size] = executable.packed
        else:
            self._fill(executable, piece, scalars, bindings)
        if executable.reports:
            executable.shapes = bindings.shapes
            self._common.unread[id(executable)] = executable

    def _fill(self, executable: Executable, piece: Piece, scalars: Scalars, bindings: Bindings) -> None:
        """Write the words of a launch, and zeros behind them; remember them if the next launch has the same."""
        words, context = executable.words, executable.context
        for slot, value, dtype in zip(context.params, scalars, executable.program.params, strict=True):
            words[slot] = raw_bits(value, dtype)
        for name, slot in context.pointers.items():
            words[slot] = bindings.storages[name].address
        for (name, axis), slot in context.extents.items():
            words[slot] = bindings.shapes[name][axis]
        words[context.own["launch"]] = self.count.value
        host, at = piece.block.host, piece.offset
        executable.packer.pack_into(host, at, *words)
        rest = context.size - executable.packer.size
        if rest:
            end = at + executable.packer.size
            host[end : end + rest] = bytes(rest)
        if executable.repeats:
            executable.bound, executable.packed = bindings, host[at : at + context.size]

    def settle(self) -> None:
        """Wait for everything, and raise the first thing that went wrong in it, once."""
        self._stream.finish()
        if self._common.reporting or self._common.outside.any:
            with uninterrupted():
                self._raise_reported()

    def _raise_reported(self) -> None:
        launched = self._common.take_reporting()
        for error in filter(None, [self._common.outside.taken(), *(one.failure() for one in launched)]):
            raise error

    def seen(self, storage: Piece) -> None:
        """Wait for what may touch the memory of a handle, so that the host may."""
        if storage.batch > self._stream.device.finished and self._common.reporting:
            self.settle()
        else:
            self._stream.wait(storage.batch)
            if self._common.outside.any:
                self.settle()


def _read(piece: Piece, at: int, dtype: DType) -> Scalar:
    """A returned scalar."""
    value: Scalar = np.frombuffer(piece.block.host, dtype.numpy, 1, piece.offset + at)[0].item()
    return value
