"""What Quadrants or Taichi has and adstack has not: one table, of which messages and the page of differences are made.

`python -m adstack.tools.differences --write` writes the page, spec/differences.md; a test compares.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .errors import AdstackAttributeError

__all__ = ["ABSENT", "Row", "missing"]


@dataclass(frozen=True)
class Row:
    """Names that adstack leaves out for one reason.

    Attributes:
        names: of the module or class.
        why: what is not there, and the reason; a clause without a full stop.
        do: what to use instead; an imperative without a full stop.
    """

    names: tuple[str, ...]
    why: str
    do: str


def _row(names: str, why: str, do: str) -> Row:
    return Row(tuple(names.split()), why, do)


_SPARSE: Final = "fields are dense: no sparse levels are activated and deactivated"
_DENSE: Final = "place the field under qd.root.dense(...), and keep a mask or a list of what is active beside it"

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
        _row(
            "simt subgroup warp",
            "shared memory and subgroup operations are not in the language: kernels mean the same on every device",
            "write sums as x[None] += ...: adstack plans how iterations that share an element add to it",
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
        _row(
            "activate deactivate deactivate_all_snodes is_active append length rescale_index get_addr",
            _SPARSE,
            _DENSE,
        ),
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
            "linalg SparseMatrix SparseMatrixBuilder SparseSolver SparseCG MatrixFreeCG LinearOperator",
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
            "a graph repeats its calls as often as the host says",
            "record the calls with qd.graph(), and launch the graph in a while of Python",
        ),
        _row(
            "perf_dispatch",
            "there is no choice among kernels by time",
            "measure with qd.profiler.Profile",
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
        _row("experimental lang core _lib", "this is internal in other libraries", "use the names that dir(qd) lists"),
        _row(
            "logical_and logical_or logical_not",
            "logic is written with operators",
            "write a and b, a or b, not a; of vectors a & b, a | b",
        ),
        _row("global_thread_idx", "kernels do not see threads", "use the index of the loop"),
        _row("any_arr ext_arr", "arrays have one annotation", "write qd.types.ndarray(...)"),
    ),
    "qd.types": (
        _row(
            "texture rw_texture",
            "there are no textures",
            "pass a field of vectors, or an ndarray",
        ),
        _row("quant quantized_types", "there are no types of fewer bits than 8", "use i8, u8, i16, u16 or f16"),
        _row("argpack", "there are no packs of arguments", "pass a struct or an instance of a dataclass"),
        _row("sparse_matrix_builder", "there are no sparse matrices", "use scipy.sparse on to_numpy()"),
        _row("any_arr ext_arr", "arrays have one annotation", "write qd.types.ndarray(...)"),
        _row("ref", "the annotation is in qd", "write qd.ref(type)"),
    ),
    "qd.math": (
        _row("lerp", "the function has another name", "write qd.math.mix(a, b, t)"),
        _row("saturate", "the function has another name", "write qd.math.clamp(x, 0.0, 1.0)"),
        _row("norm", "norms are methods", "write v.norm() or qd.math.length(v)"),
    ),
    "qd.ad": (
        _row(
            "checkpoint remat checkpointing",
            "what is kept and what is computed again is decided by adstack",
            "leave it out; k.grad.adstack_report(...) tells what is kept",
        ),
        _row(
            "grad value_and_grad jacobian hessian vjp jvp",
            "gradients belong to kernels",
            "call kernel.grad(...), or use qd.ad.Tape and qd.ad.FwdMode",
        ),
    ),
    "a level of a layout": (
        _row("pointer bitmasked dynamic hash", _SPARSE, _DENSE),
        _row("activate deactivate deactivate_all is_active append length", _SPARSE, _DENSE),
        _row(
            "quant_array bit_struct bit_array", "there are no types of fewer bits than 8", "use i8, u8, i16, u16 or f16"
        ),
    ),
}
"""Whose name -> what is not there."""


def missing(owner: str, name: str, names: Iterable[str]) -> AttributeError:
    """The error for a name that is not there: with the reason, what to use, or names that are spelled like it.

    Args:
        owner: a key of the table.
        name: what was asked for.
        names: what there is.
    """
    if name.startswith("__"):  # as which protocols of Python ask whether they are supported
        return AttributeError(name)
    for row in ABSENT[owner]:
        if name in row.names:
            return AdstackAttributeError(f"{owner} has no '{name}': {row.why}", do=row.do)
    near = difflib.get_close_matches(name, names, 3)
    do = f"did you mean {' or '.join(near)}?" if near else ""
    return AdstackAttributeError(f"{owner} has no attribute '{name}'", do=do)
