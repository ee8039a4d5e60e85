"""What Quadrants or Taichi has and adstack has not: one table, of which messages and pages are made.

What both have, and what is not the same in adstack, is beside it in `differing.py`.
`python -m adstack.tools.differences --write` writes spec/differences.md and docs/name_by_name.md; a test compares.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from .absent_members import HABITS, MEMBERS
from .absent_rows import Row
from .absent_rows import row as _row
from .errors import AdstackAttributeError

__all__ = ["ABSENT", "absent", "missing", "with_absent"]

Class = TypeVar("Class", bound=type)


ABSENT: Final[dict[str, tuple[Row, ...]]] = {
    "qd": (
        _row(
            "GUI ui Window Scene Canvas Camera",
            "adstack opens no windows",
            "draw field.to_numpy() with matplotlib, pyvista or any other library",
        ),
        _row(
            "Texture Format rgb_to_hex hex_to_rgb",
            "there are no textures",
            "use a field of vectors, with an interpolation of its own in a func; it is differentiated, too",
        ),
        _row(
            "tools imread imwrite imshow imresize imdisplay VideoManager PLYWriter PLYReader",
            "adstack reads and writes no files",
            "use imageio, Pillow, matplotlib or meshio on field.to_numpy()",
        ),
        _row("subgroup", "operations of subgroups are in qd.simt", "write qd.simt.subgroup.shuffle(...) and so on"),
        _row(
            "warp",
            "the size of a device's warps is not visible: kernels mean the same on every device",
            "write qd.simt.subgroup, whose size is 32 everywhere",
        ),
        _row(
            "block_dim",
            "how a loop is distributed is adstack's own business",
            "write qd.loop_config(block_dim=...), which is a hint, or leave it out",
        ),
        _row("parallelize", "settings of loops are one function", "write qd.loop_config(parallelize=...)"),
        _row(
            "serialize strictly_serialize", "settings of loops are one function", "write qd.loop_config(serialize=True)"
        ),
        _row(
            "bit_vectorize no_activate cache_read_only loop_unique reorder",
            "this hint is for sparse or quantised fields, or for one compiler",
            "leave it out: it changes no result",
        ),
        _row("get_addr", "where elements stand in memory is adstack's own business", "index the field"),
        _row(
            "BitpackedFields quant",
            "there are no types of fewer bits than 8",
            "use i8, u8, i16, u16 or f16, or pack bits with << and & in a func",
        ),
        _row(
            "Mesh MeshInstance MeshElement MeshElementField TetMesh TriMesh mesh_local mesh_patch_idx",
            "there is no type of meshes",
            "keep indices of vertices and cells in integer fields, and loop over cells",
        ),
        _row(
            "linalg SparseMatrix SparseMatrixBuilder sparse_matrix_builder SparseSolver SparseCG MatrixFreeCG "
            "LinearOperator make_spd",
            "there are no sparse matrices",
            "use scipy.sparse on to_numpy(), or a conjugate gradient of kernels, whose gradient adstack computes",
        ),
        _row(
            "aot export deploy",
            "kernels are not exported to other programs",
            "call them from Python: compiled kernels are kept on disk between runs (offline_cache)",
        ),
        _row(
            "graph_do_while",
            "a graph that is repeated is launched by the host",
            "record the calls with `with qd.graph() as g: ...`, and write g.do_while(counter)",
        ),
        _row(
            "graph_parallel graph_parallel_context stream_parallel create_stream Stream create_event Event",
            "adstack orders launches itself, and users have no streams",
            "call kernels one after the other; what torch and cupy do in streams of theirs is waited for",
        ),
        _row(
            "checkpoint GraphStatus",
            "a graph runs to its end, and is not stopped and resumed",
            "split it into two graphs, and look at a field between them",
        ),
        _row(
            "perf_dispatch clock_counter clock_freq_hz",
            "kernels read no clocks, and are not chosen by time",
            "measure with qd.profiler.Profile",
        ),
        _row(
            "algorithms parallel_sort PrefixSumExecutor",
            "there is no library of algorithms",
            "use numpy.sort and numpy.cumsum on to_numpy(), or a serial loop in a kernel, which is differentiated",
        ),
        _row(
            "BufferView",
            "parts of arrays have no type of their own",
            "pass the array, and where the part begins and ends as integers; or pass a slice of a numpy array",
        ),
        _row(
            "MatrixTensor VectorTensor",
            "tensors of numbers, vectors and matrices are one class",
            "write qd.Tensor, and ask its element_shape",
        ),
        _row(
            "pure",
            "every kernel is kept on disk, with what it captures as part of its key",
            "leave it out",
        ),
        _row(
            "volatile_load",
            "there are no loads that are to be repeated while another thread writes",
            "write what one part of a kernel leaves for another in two loops, one after the other",
        ),
        _row(
            "interop wrap",
            "these functions are in modules of their own",
            "write adstack.torch.wrap(kernel) or adstack.jax.wrap(kernel)",
        ),
        _row(
            "DeviceCapability dump_compile_config",
            "what a device can do and what was set is asked of the command",
            "run `adstack doctor`, and give options to qd.init(...)",
        ),
        _row(
            "sparse",
            "sparse levels have no module of their own",
            "write qd.root.pointer(...), bitmasked(...), dynamic(...) or hash(...)",
        ),
        _row(
            "Tape clear_all_gradients grad_replaced grad_for no_grad FwdMode complex_kernel complex_kernel_grad",
            "differentiation has a module of its own",
            "write qd.ad.Tape, qd.ad.FwdMode, qd.ad.grad_replaced and so on",
        ),
        _row(
            "print_kernel_profile_info query_kernel_profile_info clear_kernel_profile_info set_kernel_profile_metrics "
            "collect_kernel_profile_info print_profile_info print_memory_profile_info get_predefined_cupti_metrics",
            "the profiler is a context",
            "write with qd.profiler.Profile() as p: ..., and print(p.report())",
        ),
        _row(
            "TRACE DEBUG INFO WARN ERROR CRITICAL set_logging_level is_logging_effective "
            "trace debug info warn error critical",
            "adstack writes no log",
            "use Python's logging for what your program says; what adstack has to say are warnings and errors",
        ),
        _row(
            "cfg",
            "options are given to init and stay",
            "give options to qd.init(...), and ask qd.current_arch()",
        ),
        _row(
            "cc opengl gles dx11 dx12 wasm js",
            "there is no such backend",
            "use qd.cpu, qd.cuda or qd.vulkan; qd.gpu takes the first that is available",
        ),
        _row(
            "TaichiCompilationError TaichiSyntaxError TaichiNameError TaichiTypeError TaichiIndexError "
            "TaichiRuntimeError TaichiRuntimeTypeError TaichiAssertionError",
            "errors have adstack's name",
            "write Adstack... (or Quadrants...) in place of Taichi...",
        ),
        _row(
            "ScalarNdarray VectorNdarray MatrixNdarray",
            "ndarrays of numbers, vectors and matrices are one class",
            "write qd.Ndarray, and ask its element_shape",
        ),
        _row(
            "MatrixType StructType VectorType",
            "these classes are in qd.types",
            "write qd.types.matrix, vector or struct",
        ),
        _row("argpack ArgPack", "there are no packs of arguments", "pass a struct or an instance of a dataclass"),
        _row(
            "experimental lang core python _lib",
            "this is internal in other libraries",
            "use the names that dir(qd) lists",
        ),
        _row(
            "logical_and logical_or logical_not",
            "logic is written with operators",
            "write a and b, a or b, not a; of vectors a & b, a | b",
        ),
        _row("global_thread_idx", "threads are seen in blocks", "write qd.simt.block.global_thread_idx()"),
        _row("any_arr ext_arr", "arrays have one annotation", "write qd.types.ndarray(...)"),
        *HABITS,
    ),
    "qd.types": (
        _row(
            "texture rw_texture texture_type",
            "there are no textures",
            "pass a field of vectors, or an ndarray",
        ),
        _row("quant quantized_types", "there are no types of fewer bits than 8", "use i8, u8, i16, u16 or f16"),
        _row("argpack", "there are no packs of arguments", "pass a struct or an instance of a dataclass"),
        _row("sparse_matrix_builder", "there are no sparse matrices", "use scipy.sparse on to_numpy()"),
        _row("any_arr ext_arr", "arrays have one annotation", "write qd.types.ndarray(...)"),
        _row("ref", "the annotation is in qd", "write qd.ref(type)"),
        _row(
            "BufferViewType buffer_view_type",
            "parts of arrays have no type of their own",
            "pass the array, and where the part begins and ends as integers",
        ),
        _row("primitive_types", "scalar types are in qd and qd.types", "write qd.f32, or qd.types.f32"),
        _row(
            "compound_types ndarray_type annotations enums utils is_tensor",
            "this is internal in other libraries",
            "use the names that dir(qd.types) lists",
        ),
    ),
    "qd.math": (
        _row("lerp", "the function has another name", "write qd.math.mix(a, b, t)"),
        _row("saturate", "the function has another name", "write qd.math.clamp(x, 0.0, 1.0)"),
        _row("norm", "norms are methods", "write v.norm() or qd.math.length(v)"),
        _row("fns", "the n-th bit that is set is not searched", "loop over the bits, with (mask >> i) & 1"),
    ),
    "qd.simt": (
        _row(
            "warp",
            "the size of a device's warps is not visible: kernels mean the same on every device",
            "write qd.simt.subgroup, whose size is 32 everywhere",
        ),
        _row("grid", "blocks do not wait for each other", "write two loops, one after the other"),
    ),
    "qd.simt.block": (
        _row("mem_sync mem_fence", "waiting orders memory as well", "write qd.simt.block.sync()"),
        _row(
            "sync_all_nonzero sync_any_nonzero sync_count_nonzero",
            "threads count in shared memory",
            "write count[0] += 1 on a SharedArray, under the condition, between two calls of sync()",
        ),
    ),
    "qd.simt.subgroup": (
        _row(
            "barrier memory_barrier", "its operations wait by themselves", "leave it out, or write qd.simt.block.sync()"
        ),
        _row("elect", "the first thread is chosen by its number", "write invocation_id() == 0"),
        _row(
            "reduce_mul reduce_and reduce_or reduce_xor inclusive_add inclusive_mul inclusive_min inclusive_max "
            "inclusive_and inclusive_or inclusive_xor all_equal broadcast_first",
            "subgroups have sums, extrema, votes and shuffles",
            "write a loop over shuffle(value, lane), or over a SharedArray",
        ),
    ),
    "qd.ad": (
        _row(
            "checkpoint remat checkpointing",
            "what is kept and what is computed again is decided by adstack",
            "leave it out; k.grad.adstack_report(...) tells what is kept",
        ),
        _row(
            "grad value_and_grad vjp jvp jacfwd jacrev",
            "gradients belong to kernels",
            "call kernel.grad(...), or use qd.ad.Tape, qd.ad.FwdMode and qd.ad.jacobian",
        ),
    ),
    "a level of a layout": (
        _row(
            "activate deactivate is_active append length",
            "what kernels do with levels are functions",
            "write qd.is_active(level, [i]), for example, in a kernel",
        ),
        _row(
            "quant_array bit_struct bit_array", "there are no types of fewer bits than 8", "use i8, u8, i16, u16 or f16"
        ),
        _row("ptr", "how fields lie in memory is adstack's own business", "keep the level in a variable"),
    ),
    **MEMBERS,
}
"""Whose name -> what is not there."""


def absent(owner: str, name: str) -> Row | None:
    """The row of a name that `owner`, a key of the table, does not have; None if the table does not know it."""
    return next((row for row in ABSENT.get(owner, ()) if name in row.names), None)


def missing(owner: str, name: str, names: Iterable[str], have: str = "") -> AttributeError:
    """The error for a name that is not there: with the reason, what to use, or names that are spelled like it.

    Args:
        owner: a key of the table.
        name: what was asked for.
        names: what there is.
        have: what to say of that where no name is spelled like it.
    """
    if name.startswith("__"):  # as which protocols of Python ask whether they are supported
        return AttributeError(name)
    row = absent(owner, name)
    if row is not None:
        return AdstackAttributeError(f"{owner} has no '{name}': {row.why}", do=row.do)
    near = difflib.get_close_matches(name, names, 3)
    do = f"did you mean {' or '.join(near)}?" if near else have
    return AdstackAttributeError(f"{owner} has no attribute '{name}'", do=do)


class _Absent:
    """An attribute of a class whose instances do not have it: what is raised says what to use.

    It costs nothing where an attribute is there, which `__getattr__` would: a class with that is looked up more slowly.
    """

    def __init__(self, owner: str, name: str) -> None:
        self.owner = owner
        self.name = name

    def __get__(self, instance: object, owner_type: object = None) -> object:
        raise missing(self.owner, self.name, ())


def with_absent(owner: str) -> Callable[[Class], Class]:
    """Decorator of a class: its instances say of each absent name what to use instead.

    Args:
        owner: a key of the table.
    """

    def marked(cls: Class) -> Class:
        for row in ABSENT[owner]:
            for name in (name for name in row.names if not hasattr(cls, name)):
                setattr(cls, name, _Absent(owner, name))
        return cls

    return marked
