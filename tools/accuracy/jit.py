"""A math function compiled for this machine, to be run on many arguments at once."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np

from adstack.backends.codegen_llvm.text.pure_functions import function_text
from adstack.backends.codegen_llvm.text.writer import scalar_type, type_text
from adstack.ir.structure import Region
from adstack.ir.types import Array, DType

__all__ = ["Compiled"]


class Compiled:
    """`Compiled(region)(x, ...)` applies a region that yields one number to arrays; `lanes` elements go at once.

    Attributes:
        ir: the LLVM module before it is optimised.
        assembly: what the machine runs.
    """

    def __init__(self, region: Region, lanes: int = 16) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.inputs = [v.dtype for v in region.args]
        (self.output,) = (v.dtype for v in region.terminator.operands)
        self.lanes = lanes
        self.ir = self._module(region)
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(cpu=cpu, features=features, opt=3)
        module = llvm.parse_assembly(self.ir)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = False
        llvm.create_pass_builder(machine, options).getModulePassManager().run(
            module, llvm.create_pass_builder(machine, options)
        )
        self.assembly = machine.emit_assembly(module)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(self.inputs) + 1), ctypes.c_int64)
        self._entry = signature(self._engine.get_function_address("sweep"))

    def __call__(self, *args: Array) -> Array:
        n = args[0].size
        padded = -(-n // self.lanes) * self.lanes
        arrays = []
        for a, dtype in zip(args, self.inputs, strict=True):
            a = np.ascontiguousarray(a, dtype.numpy)
            arrays.append(a if padded == n else np.concatenate([a, np.zeros(padded - n, a.dtype)]))
        out = np.empty(padded, self.output.numpy)
        self._entry(*(a.ctypes.data for a in arrays), out.ctypes.data, padded)
        return out[:n]

    def _module(self, region: Region) -> str:
        text, declarations = function_text("f", region, self.lanes, "alwaysinline")
        result, lanes = type_text(self.output, self.lanes), self.lanes
        pointers = [f"ptr %in{k}" for k in range(len(self.inputs))] + ["ptr %out", "i64 %n"]
        loads, operands = "", []
        for k, dtype in enumerate(self.inputs):
            loads += f"  %a{k} = getelementptr {_element(dtype)}, ptr %in{k}, i64 %i\n"
            loads += f"  %m{k} = load {_in_memory(dtype, lanes)}, ptr %a{k}, align {dtype.size}\n"
            loads += f"  %v{k} = {_converted('trunc', f'%m{k}', _in_memory(dtype, lanes), type_text(dtype, lanes))}\n"
            operands.append(f"{type_text(dtype, lanes)} %v{k}")
        return (
            "\n".join(declarations.values())
            + "\n"
            + text
            + (
                f"define void @sweep({', '.join(pointers)}) {{\nentry:\n  br label %loop\nloop:\n"
                f"  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{loads}"
                f"  %y = call {result} @f({', '.join(operands)})\n"
                f"  %o = getelementptr {_element(self.output)}, ptr %out, i64 %i\n"
                f"  %z = {_converted('zext', '%y', result, _in_memory(self.output, lanes))}\n"
                f"  store {_in_memory(self.output, lanes)} %z, ptr %o, align {self.output.size}\n"
                f"  %next = add i64 %i, {self.lanes}\n  %more = icmp slt i64 %next, %n\n"
                "  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}\n"
            )
        )


def _element(dtype: DType) -> str:
    """The LLVM type of an element in memory: u1 takes a byte."""
    return "i8" if dtype.is_bool else scalar_type(dtype)


def _in_memory(dtype: DType, lanes: int) -> str:
    return _element(dtype) if lanes == 1 else f"<{lanes} x {_element(dtype)}>"


def _converted(word: str, value: str, source: str, to: str) -> str:
    """An instruction that makes one of these types of the other, if they differ."""
    return f"{word} {source} {value} to {to}" if source != to else f"bitcast {source} {value} to {to}"
