"""A math function compiled for this machine, to be run on many arguments at once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from adstack.backends.llvm.pure import function_text
from adstack.backends.llvm.writer import scalar_type, type_text
from adstack.ir.builder import Builder
from adstack.ir.structure import Region, Value
from adstack.ir.types import DType
from adstack.transforms.math.num import Num

__all__ = ["Compiled", "trace"]

Array = npt.NDArray[Any]


def trace(function: Callable[..., Num], dtype: DType, arity: int) -> Region:
    """The IR of a function of `arity` numbers of one type."""
    region = Region([Value(dtype, f"x{k}") for k in range(arity)])
    b = Builder(region)
    result = function(*(Num(b, v) for v in region.args))
    b.yield_(result.v)
    return region


class Compiled:
    """`Compiled(region)(x, ...)` applies the function to arrays; `lanes` iterations run at once."""

    def __init__(self, region: Region, lanes: int = 16) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.dtype = region.args[0].dtype
        self.arity = len(region.args)
        self.lanes = lanes
        self.ir = self._module(region)
        target = llvm.Target.from_default_triple()
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        machine = target.create_target_machine(cpu=cpu, features=features, opt=3)
        module = llvm.parse_assembly(self.ir)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = False
        llvm.create_pass_builder(machine, options).getModulePassManager().run(module, _pass_builder(machine, options))
        self.assembly = machine.emit_assembly(module)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        signature = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (self.arity + 1), ctypes.c_int64)
        self._entry = signature(self._engine.get_function_address("sweep"))

    def __call__(self, *args: Array) -> Array:
        n = args[0].size
        padded = -(-n // self.lanes) * self.lanes
        arrays = []
        for a in args:
            a = np.ascontiguousarray(a, self.dtype.numpy)
            arrays.append(a if padded == n else np.concatenate([a, np.zeros(padded - n, a.dtype)]))
        out = np.empty(padded, self.dtype.numpy)
        self._entry(*(a.ctypes.data for a in arrays), out.ctypes.data, padded)
        return out[:n]

    def _module(self, region: Region) -> str:
        text, declarations = function_text("f", region, self.lanes, "alwaysinline")
        vector, scalar = type_text(self.dtype, self.lanes), scalar_type(self.dtype)
        pointers = [f"ptr %in{k}" for k in range(self.arity)] + ["ptr %out", "i64 %n"]
        loads = ""
        for k in range(self.arity):
            loads += f"  %a{k} = getelementptr {scalar}, ptr %in{k}, i64 %i\n"
            loads += f"  %v{k} = load {vector}, ptr %a{k}, align {self.dtype.size}\n"
        call = ", ".join(f"{vector} %v{k}" for k in range(self.arity))
        return "\n".join(declarations.values()) + "\n" + text + (
            f"define void @sweep({', '.join(pointers)}) {{\nentry:\n  br label %loop\nloop:\n"
            f"  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{loads}"
            f"  %y = call {vector} @f({call})\n"
            f"  %o = getelementptr {scalar}, ptr %out, i64 %i\n"
            f"  store {vector} %y, ptr %o, align {self.dtype.size}\n"
            f"  %next = add i64 %i, {self.lanes}\n  %more = icmp slt i64 %next, %n\n"
            "  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}\n"
        )


def _pass_builder(machine: Any, options: Any) -> Any:
    return llvm.create_pass_builder(machine, options)
