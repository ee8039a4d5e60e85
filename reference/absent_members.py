"""The rows of `absent.py` for what objects have elsewhere, and for names that numpy, JAX and torch have."""

from __future__ import annotations

from typing import Final

from .absent_rows import INTERNAL, PROFILE, Row, row

__all__ = ["HABITS", "MEMBERS"]

_NO_ARRAY: Final = "it is no array of numpy or tensor of torch"
_ARRAYS: Final = (
    row(
        "sum mean prod std var argmax argmin cumsum dot",
        _NO_ARRAY,
        "write x.to_numpy().sum(), or a kernel that adds up: total[None] += x[i]",
    ),
    row("astype", _NO_ARRAY, "write a kernel with qd.cast(x[i], qd.f64), or x.to_numpy().astype(...)"),
    row("reshape flatten ravel transpose squeeze", _NO_ARRAY, "index its axes in another way, or use x.to_numpy()"),
    row("item tolist numpy cpu detach clone copy", _NO_ARRAY, "write x[None], x.to_numpy() or x.to_torch()"),
    row(
        "backward requires_grad",
        _NO_ARRAY,
        "write `with qd.ad.Tape(x): ...`, which leaves gradients in the .grad of fields made with needs_grad=True",
    ),
    row("at", _NO_ARRAY, "assign to its elements: x[i] = ... in a kernel"),
)

HABITS: Final = (
    row(
        "grad value_and_grad jacobian hessian vjp jvp",
        "gradients belong to kernels",
        "call kernel.grad(...), or use qd.ad.Tape and qd.ad.FwdMode",
    ),
    row(
        "jit njit compile",
        "functions are compiled by their decorator",
        "write @qd.kernel, or @qd.func for what kernels call",
    ),
    row("prange parallel vmap pmap", "the outermost loop of a kernel is parallel", "write for i in range(n): ..."),
    row(
        "zeros ones full empty array arange linspace zeros_like",
        "fields and ndarrays are made on the host, and filled",
        "write x = qd.field(qd.f32, shape=8), then x.fill(1.0) or x.from_numpy(...)",
    ),
    row("where", "the function has another name", "write qd.select(condition, a, b)"),
    row("clip clamp", "the function is in qd.math", "write qd.math.clamp(x, low, high)"),
    row("maximum fmax", "the function has another name", "write qd.max(a, b)"),
    row("minimum fmin", "the function has another name", "write qd.min(a, b)"),
    row("arcsin arccos arctan arctan2", "the function has another name", "write qd.asin, acos, atan or atan2"),
    row("power absolute", "the function has another name", "write a**b or qd.pow(a, b), abs(a) or qd.abs(a)"),
    row(
        "sum mean prod",
        "whole arrays have no functions",
        "write a kernel that adds up: for i in x: total[None] += x[i]",
    ),
    row("matmul dot cross norm normalize", "these are operators, methods and in qd.math", "write a @ b, or v.norm()"),
    row("log2 isnan isinf pi e inf nan sign", "this is in qd.math", "write qd.math.log2, qd.math.pi and so on"),
    row("vec2 vec3 vec4 mat2 mat3 mat4", "these types are in qd.math", "write qd.math.vec3 and so on"),
    row("float int bool double half", "scalar types say their width", "write qd.f32, qd.f64, qd.f16, qd.i32 or qd.u1"),
)
"""Names of the language's module that programs of numpy, JAX, torch and numba would have."""

MEMBERS: Final[dict[str, tuple[Row, ...]]] = {
    "a number": (
        row("astype to type view", "numbers are converted by functions", "write qd.cast(x, qd.i32), or qd.i32(x)"),
        row("item numpy tolist", "it is a number already", "leave it out"),
        row("sum mean max min abs sqrt", "numbers have no methods", "write qd.max(a, b), qd.sqrt(x) and so on"),
        row("shape size ndim", "it is one number", "ask the field: x.shape"),
    ),
    "qd.ad.Tape": (row("insert", INTERNAL, "call kernels in the block: it records them"),),
    "qd.ad.FwdMode": (row("insert clear_seed recover_kernels", INTERNAL, "call kernels in the block"),),
    "qd.profiler": (
        row(
            "print_kernel_profiler_info query_kernel_profiler_info clear_kernel_profiler_info "
            "get_kernel_profiler_total_time kernel_profiler",
            PROFILE,
            "write with qd.profiler.Profile() as p: ..., and print(p.report())",
        ),
        row(
            "print_scoped_profiler_info clear_scoped_profiler_info scoped_profiler",
            PROFILE,
            "write with qd.profiler.Profile() as p: ...; p.report() tells where the time goes",
        ),
        row(
            "print_memory_profiler_info memory_profiler",
            "the profiler measures time",
            "call kernel.grad.adstack_report(...), which tells what gradients keep; fields take what numpy arrays take",
        ),
        row(
            "CuptiMetric get_predefined_cupti_metrics kernel_metrics collect_kernel_profiler_metrics "
            "set_kernel_profiler_metrics set_kernel_profiler_toolkit",
            "counters of one maker's devices are not read",
            "run the program under that maker's profiler, such as Nsight Compute: kernels keep their names there",
        ),
    ),
    "a field": (
        *_ARRAYS,
        row("layout", "how fields lie in memory is adstack's own business", "ask x.shape and x.offset"),
        row("host_accessors ptr vars", INTERNAL, "read x[i], or x.to_numpy()"),
        row("from_paddle to_paddle", "paddle is not known", "go through x.to_numpy() and x.from_numpy(), or DLPack"),
    ),
    "a struct field": (
        row("layout", "how fields lie in memory is adstack's own business", "ask x.shape and x.offset"),
        row("dtype to_dlpack", "its members have types of their own", "ask a member: x.mass.dtype"),
        row("struct_methods", INTERNAL, "call the method of an element: x[i].method()"),
        row("from_paddle to_paddle", "paddle is not known", "go through x.to_numpy() and x.from_numpy(), or DLPack"),
    ),
    "an ndarray": (
        *_ARRAYS,
        row("layout", "arrays lie in memory as numpy's do", "leave it out"),
        row("element_type get_type", INTERNAL, "ask x.dtype and x.element_shape"),
        row("host_accessor arr", INTERNAL, "read x[i], or x.to_numpy()"),
    ),
    "a vector or matrix type": (
        row("get_shape", "the shape is an attribute", "ask type.shape, type.n and type.m"),
        row(
            "check_matched tensor_type to_string from_kernel_struct_ret from_quadrants_object from_taichi_object "
            "set_kernel_struct_args set_argpack_struct_args",
            INTERNAL,
            "call the type to make a value, and ask its n, m and dtype",
        ),
    ),
    "a struct type": (
        row("dtype", "its members have types of their own", "ask type.members"),
        row("filled_with_scalar", "one number fills all members of a field", "write type.field(...).fill(number)"),
        row(
            "from_kernel_struct_ret from_quadrants_object from_taichi_object set_kernel_struct_args "
            "set_argpack_struct_args",
            INTERNAL,
            "call the type to make a value",
        ),
    ),
    "a kernel": (
        row("fn wrapper", INTERNAL, "k.function is the Python function"),
        row("is_pure", "every kernel is kept on disk, with what it captures as part of its key", "leave it out"),
        row("resume", "a graph runs to its end, and is not stopped and resumed", "split it into two graphs"),
    ),
    "the gradient of a kernel": (
        row(
            "grad",
            "a gradient has no gradient of its own",
            "call k.grad(...) in a qd.ad.FwdMode for second derivatives, or qd.ad.hvp or hessian",
        ),
    ),
    "a func": (
        row("fn func wrapper", INTERNAL, "f.function is the Python function"),
        row("grad", "gradients belong to kernels", "call the func in a kernel k, and k.grad(...)"),
        row("is_pure resume", "this is of kernels, and internal in other libraries", "leave it out"),
    ),
}
"""Whose name -> what is not there."""
