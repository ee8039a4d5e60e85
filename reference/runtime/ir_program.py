"""Kernels and programs written in the IR's text form, run on the current backend with numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import AdstackArgumentError
from ..ir.structure import Place, Program
from ..ir.text.parser import parse_ir
from ..ir.verify.verifier import verify
from .compiler import compile_kernel, compile_program
from .memory.buffers import Buffer
from .protocol.backend import Array, Bindings, Scalars
from .state import current

__all__ = ["IRProgram"]


class IRProgram:
    """A parsed and verified text.

    Args:
        text: one kernel, which goes through the pipeline, or one program, which is compiled as it is.
        file: what errors call the text.
    """

    def __init__(self, text: str, file: str = "<ir>") -> None:
        self.root = parse_ir(text, file)
        verify(self.root)

    def __call__(self, arrays: Mapping[str, Array] | None = None, scalars: Scalars = ()) -> tuple[object, ...]:
        """Launch with an array for each field and ndarray place; arrays change in place, returned scalars come back."""
        runtime = current()
        backend = runtime.backend
        if isinstance(self.root, Program):
            compiled = compile_program(self.root, runtime.options, backend)
        else:
            compiled = compile_kernel(self.root, runtime.options, backend)
        inputs = {place.name: _array(place, arrays or {}) for place in self._outer()}
        buffers = {name: Buffer(backend, self.root.places[name].dtype, a.shape) for name, a in inputs.items()}
        try:
            for name, buffer in buffers.items():
                buffer.write(inputs[name])
            bindings = Bindings(
                {name: b.storage for name, b in buffers.items()}, {name: b.shape for name, b in buffers.items()}
            )
            try:
                returned = tuple(compiled.launch(backend, scalars, bindings))
                backend.synchronize()
            finally:
                for name, buffer in buffers.items():
                    inputs[name][...] = buffer.read()
            return returned
        finally:
            for buffer in buffers.values():
                buffer.drop()

    def _outer(self) -> list[Place]:
        """The places that live longer than a launch."""
        return [place for place in self.root.places.values() if place.kind in ("field", "ndarray")]


def _array(place: Place, arrays: Mapping[str, Array]) -> Array:
    array = arrays.get(place.name)
    if not isinstance(array, np.ndarray) or array.dtype != place.dtype.numpy or array.ndim != place.rank:
        got = "nothing" if array is None else f"{getattr(array, 'dtype', type(array).__name__)}{np.shape(array)}"
        raise AdstackArgumentError(f"@{place.name} takes an array of {place.dtype}, {place.rank} axes; got {got}")
    return array
