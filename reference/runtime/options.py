"""The options of `init`: what they are called, what they mean, what they may be."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from ..errors import AdstackArgumentError, AdstackRuntimeTypeError
from ..ir.types import FLOATS, INTS, DType, f32, i32

__all__ = ["WITHOUT_EFFECT", "Options", "parse"]

_WORDS: Final = """
    ad_stack_experimental_enabled ad_stack_sparse_threshold_bytes advanced_optimization
    cache_loop_invariant_global_vars cfg_optimization cuda_stack_limit debug_dump_path default_cpu_block_dim
    default_gpu_block_dim demote_dense_struct_fors detect_read_only device_memory_fraction flatten_if
    force_scalarize_matrix gdb_trigger half2_vectorization kernel_profiler log_level make_block_local
    make_cpu_multithreading_loop make_thread_local max_block_dim move_loop_invariant_outside_if num_compile_threads
    offline_cache_cleaning_policy offline_cache_file_path offline_cache_max_size_of_files opt_level print_accessor_ir
    print_full_traceback print_ir_dbg_info print_kernel_asm print_kernel_llvm_ir print_preprocessed_ir
    raise_on_templated_floats saturating_grid_dim timeline vk_api_version
"""
_BOUNDS: Final = "check_out_of_bound"
WITHOUT_EFFECT: Final = tuple(_WORDS.split())
"""Options of existing programs that are accepted and change nothing."""


@dataclass(frozen=True)
class Options:
    """What `init` was told.

    Attributes:
        default_fp: type of float literals, of `float`, and of the quotient of integers.
        default_ip: type of integer literals and of `int`.
        debug: check bounds, races, asserts and arithmetic while running; existing programs may also ask for it by
            check_out_of_bound.
        bounds: what is done about an index out of bounds where `debug` is not set: "safe" lets nothing outside be
            touched and makes it an error of the launch (spec/memory.md), "off" checks nothing: it may corrupt memory.
        fast_math: license fusing of `a * b + c`, and the fast variants of math functions (spec/math.md).
        random_seed: of the random streams.
        ad_stack_size: capacity of every adstack; 0 lets sizing decide.
        ad_stack_storage: where adstacks live: "auto", "heap" or "stack".
        ad_stack_heap_limit: bytes the adstack heap may take; 0 for no limit but the device's.
        ad_snapshot: let forward launches save what the reverse pass needs and they overwrite.
        short_circuit_operators: `and` and `or` do not evaluate what does not matter.
        unrolling_limit: warn when a static loop unrolls to more iterations than this; 0 for never.
        cpu_lanes: iterations that the cpu backend runs side by side in a thread, a power of two up to 128; 0 lets it
            choose.
        cpu_max_num_threads: threads of the cpu backend; 0 for one per core.
        print_ir: print the IR of every kernel that is compiled.
        offline_cache: keep compiled kernels on disk, where the backend has something to keep.
        device_memory_GB: memory of the device that fields, arrays and the adstack heap may take together, in units of
            2**30 bytes; 0 for all there is.
        enable_fallback: use the cpu, with a warning, where the arch asked for is unavailable.
    """

    default_fp: DType = f32
    default_ip: DType = i32
    debug: bool = False
    bounds: str = "safe"
    fast_math: bool = False
    random_seed: int = 0
    ad_stack_size: int = 0
    ad_stack_storage: str = "auto"
    ad_stack_heap_limit: int = 0
    ad_snapshot: bool = False
    short_circuit_operators: bool = True
    unrolling_limit: int = 32
    cpu_lanes: int = 0
    cpu_max_num_threads: int = 0
    print_ir: bool = False
    offline_cache: bool = True
    device_memory_GB: float = 0.0  # noqa: N815 - the name that existing programs use
    enable_fallback: bool = False


_CHOICES: Final[dict[str, tuple[Any, ...]]] = {
    "default_fp": FLOATS,
    "default_ip": INTS,
    "cpu_lanes": (0, *(1 << k for k in range(8))),
    "bounds": ("safe", "off"),
    "ad_stack_storage": ("auto", "heap", "stack"),
}
_KINDS: Final[dict[str, type]] = {f.name: type(getattr(Options(), f.name)) for f in fields(Options)}


def parse(given: Mapping[str, Any]) -> Options:
    """Options from keywords; an unknown name, a wrong type or value is an error that says what would be right."""
    known = {name: _checked(name, value) for name, value in given.items() if name not in (*WITHOUT_EFFECT, _BOUNDS)}
    if _BOUNDS in given and _of_kind(_BOUNDS, given[_BOUNDS], bool):
        known["debug"] = True
    return replace(Options(), **known)


def _checked(name: str, value: Any) -> Any:
    if name not in _KINDS:
        near = difflib.get_close_matches(name, [*_KINDS, *WITHOUT_EFFECT], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known options: {', '.join(_KINDS)}"
        raise AdstackArgumentError(f"init() has no option {name!r}", do=hint)
    if name in _CHOICES:
        return _one_of(name, value, _CHOICES[name])
    return _of_kind(name, value, _KINDS[name])


def _one_of(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    if not any(value is c or (isinstance(c, (str, int)) and value == c) for c in choices):
        raise AdstackArgumentError(f"option {name} is {value!r}", do=f"use one of {', '.join(map(str, choices))}")
    return value


def _of_kind(name: str, value: Any, kind: type) -> Any:
    if kind is bool and value in (0, 1):
        return bool(value)
    if kind is float and isinstance(value, (int, float)) and value >= 0:
        return float(value)
    if kind is int and isinstance(value, int) and value >= 0:
        return int(value)
    raise AdstackRuntimeTypeError(
        f"option {name} takes {'an' if kind is int else 'a'} {kind.__name__}{'' if kind is bool else ' >= 0'}, "
        f"got {value!r}"
    )
