"""adstack: a kernel language embedded in Python with exact, compiled automatic differentiation.

import adstack as qd

    qd.init(arch=qd.reference)
    x = qd.field(qd.f32, shape=8)

    @qd.kernel
    def fill(a: qd.f32):
        for i in x:
            x[i] = a * i
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import math, simt, types
from .absent import missing as _missing
from .data.axes import axes, i, ij, ijk, ijkl, ijl, ik, ikl, il, j, jk, jkl, jl, k, kl, l
from .data.factories import Backend, field, ndarray, tensor
from .data.fields import Field, Layout, MatrixField, ScalarField
from .data.ndarrays import Ndarray
from .data.snode import FieldsBuilder, SNode, root
from .data.sparse import activate, append, deactivate, deactivate_all_snodes, is_active, length, rescale_index
from .data.struct_fields import StructField
from .errors import (
    AdstackArgumentError,
    AdstackAssertionError,
    AdstackAttributeError,
    AdstackCallError,
    AdstackCompilationError,
    AdstackDataAccessError,
    AdstackError,
    AdstackIndexError,
    AdstackMemoryError,
    AdstackNameError,
    AdstackOutOfBoundsError,
    AdstackOverflowError,
    AdstackRaceError,
    AdstackRuntimeError,
    AdstackRuntimeTypeError,
    AdstackStaleBoundError,
    AdstackSyntaxError,
    AdstackTypeError,
    AdstackValueError,
    BackendUnavailableError,
    InternalError,
)
from .errors import AdstackAssertionError as QuadrantsAssertionError
from .errors import AdstackCompilationError as QuadrantsCompilationError
from .errors import AdstackIndexError as QuadrantsIndexError
from .errors import AdstackNameError as QuadrantsNameError
from .errors import AdstackRuntimeError as QuadrantsRuntimeError
from .errors import AdstackRuntimeTypeError as QuadrantsRuntimeTypeError
from .errors import AdstackSyntaxError as QuadrantsSyntaxError
from .errors import AdstackTypeError as QuadrantsTypeError
from .ir.types import DType
from .kernels.decorator import kernel
from .kernels.extensions import extension, is_extension_enabled, is_extension_supported
from .kernels.graph import Graph, graph
from .kernels.kernel import Kernel
from .kernels.options import (
    amdgpu,
    arm64,
    cpu,
    cuda,
    current_arch,
    gpu,
    init,
    metal,
    reference,
    reset,
    sync,
    vulkan,
    x64,
    x86_64,
)
from .kernels.oriented import data_oriented
from .runtime.adstacks.stats import stats
from .transforms.math.library import find as _find  # noqa: F401 - which registers it: the IR finds functions there
from .values.annotations import Tensor
from .values.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_mul,
    atomic_or,
    atomic_sub,
    atomic_xor,
)
from .values.compile_time import (
    assume_in_range,
    block_local,
    grouped,
    loop_config,
    ndrange,
    static,
    static_assert,
    static_print,
    stop_grad,
)
from .values.func import func, pyfunc, real_func
from .values.functions import (
    abs,  # noqa: A004 - the language's own
    acos,
    asin,
    atan,
    atan2,
    bit_cast,
    bit_shr,
    cast,
    ceil,
    cos,
    cosh,
    exp,
    floor,
    fma,
    log,
    max,  # noqa: A004 - the language's own
    min,  # noqa: A004 - the language's own
    one,
    pow,  # noqa: A004 - the language's own
    randn,
    random,
    raw_div,
    raw_mod,
    round,  # noqa: A004 - the language's own
    rsqrt,
    select,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    zero,
)
from .values.matrices.matrix import Matrix, Vector, cholesky, eig, polar_decompose, solve, svd, sym_eig
from .values.matrices.struct import Struct
from .values.matrices.struct_classes import dataclass
from .values.parts import frexp
from .values.scalar_types import (
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .values.templates import Template, ref, template
from .version import VERSION

if _TYPE_CHECKING:
    from . import ad as ad
    from . import profiler as profiler

__version__ = VERSION

__all__ = [
    "AdstackArgumentError",
    "AdstackAssertionError",
    "AdstackAttributeError",
    "AdstackCallError",
    "AdstackCompilationError",
    "AdstackDataAccessError",
    "AdstackError",
    "AdstackIndexError",
    "AdstackMemoryError",
    "AdstackNameError",
    "AdstackOutOfBoundsError",
    "AdstackOverflowError",
    "AdstackRaceError",
    "AdstackRuntimeError",
    "AdstackRuntimeTypeError",
    "AdstackStaleBoundError",
    "AdstackSyntaxError",
    "AdstackTypeError",
    "AdstackValueError",
    "Backend",
    "BackendUnavailableError",
    "DType",
    "Field",
    "FieldsBuilder",
    "Graph",
    "InternalError",
    "Kernel",
    "Layout",
    "Matrix",
    "MatrixField",
    "Ndarray",
    "QuadrantsAssertionError",
    "QuadrantsCompilationError",
    "QuadrantsIndexError",
    "QuadrantsNameError",
    "QuadrantsRuntimeError",
    "QuadrantsRuntimeTypeError",
    "QuadrantsSyntaxError",
    "QuadrantsTypeError",
    "SNode",
    "ScalarField",
    "Struct",
    "StructField",
    "Template",
    "Tensor",
    "Vector",
    "abs",
    "acos",
    "activate",
    "ad",
    "amdgpu",
    "append",
    "arm64",
    "asin",
    "assume_in_range",
    "atan",
    "atan2",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "axes",
    "bit_cast",
    "bit_shr",
    "block_local",
    "cast",
    "ceil",
    "cholesky",
    "cos",
    "cosh",
    "cpu",
    "cuda",
    "current_arch",
    "data_oriented",
    "dataclass",
    "deactivate",
    "deactivate_all_snodes",
    "eig",
    "exp",
    "extension",
    "f16",
    "f32",
    "f64",
    "field",
    "float16",
    "float32",
    "float64",
    "floor",
    "fma",
    "frexp",
    "func",
    "gpu",
    "graph",
    "grouped",
    "i",
    "i8",
    "i16",
    "i32",
    "i64",
    "ij",
    "ijk",
    "ijkl",
    "ijl",
    "ik",
    "ikl",
    "il",
    "init",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_active",
    "is_extension_enabled",
    "is_extension_supported",
    "j",
    "jk",
    "jkl",
    "jl",
    "k",
    "kernel",
    "kl",
    "l",
    "length",
    "log",
    "loop_config",
    "math",
    "max",
    "metal",
    "min",
    "ndarray",
    "ndrange",
    "one",
    "polar_decompose",
    "pow",
    "pyfunc",
    "randn",
    "random",
    "raw_div",
    "raw_mod",
    "real_func",
    "ref",
    "reference",
    "rescale_index",
    "reset",
    "root",
    "round",
    "rsqrt",
    "select",
    "simt",
    "sin",
    "sinh",
    "solve",
    "sqrt",
    "static",
    "static_assert",
    "static_print",
    "stats",
    "stop_grad",
    "svd",
    "sym_eig",
    "sync",
    "tan",
    "tanh",
    "template",
    "tensor",
    "trunc",
    "types",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint1",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "vulkan",
    "x64",
    "x86_64",
    "zero",
]


def __getattr__(name: str) -> object:
    """`qd.ad` and `qd.profiler`, loaded when they are first used; for a name that is not there, what to use instead."""
    if name in ("ad", "profiler"):
        return _import_module(f"{__name__}.{name}")
    if name in math.__all__:
        raise _missing("qd", name, (), f"write qd.math.{name}")
    raise _missing("qd", name, __all__)


def __dir__() -> list[str]:
    """The names that users are to use: submodules can be imported, and are left out."""
    return [*__all__, "__version__"]
