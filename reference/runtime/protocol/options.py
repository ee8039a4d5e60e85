"""The options of `init`: what they are called, what they mean, what they may be."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from ...errors import AdstackArgumentError, AdstackRuntimeTypeError
from ...ir.types import FLOATS, INTS, DType, f32, i32

__all__ = ["INSTEAD", "REFUSED", "WITHOUT_EFFECT", "Options", "parse"]

_WORDS: Final = """
    _test_mode ad_stack_experimental_enabled ad_stack_sparse_threshold_bytes advanced_optimization
    allow_nv_shader_extension auto_mesh_local_default_occupacy cache_loop_invariant_global_vars cfg_optimization
    cpu_block_dim_adaptive default_ad_stack_size default_cpu_block_dim default_gpu_block_dim
    demote_dense_struct_fors demote_no_access_mesh_fors detect_read_only experimental_auto_mesh_local flatten_if
    force_scalarize_matrix gpu_max_reg half2_vectorization log_level lower_access make_block_local
    make_cpu_multithreading_loop make_mesh_block_local make_thread_local max_block_dim
    mesh_localize_all_attr_mappings mesh_localize_from_end_mapping mesh_localize_to_end_mapping
    move_loop_invariant_outside_if num_compile_threads opt_level optimize_mesh_reordered_mapping print_non_pure
    quant_opt_atomic_demotion quant_opt_store_fusion real_matrix_scalarize require_version saturating_grid_dim
    simplify_after_lower_access simplify_before_lower_access src_ll_cache use_llvm
"""
LARGEST: Final = 2**63 - 1
"""The largest number that an option may be, if there is no smaller one here."""
_MOST: Final[dict[str, int]] = {"cpu_max_num_threads": 8192, "device_memory_GB": 2**32}
_OTHER_NAMES: Final = {"check_out_of_bound": "debug", "verbose": "announce"}
"""What existing programs call an option of here; the other name switches `debug` on, and never off."""
WITHOUT_EFFECT: Final = tuple(_WORDS.split())
"""Options of existing programs that are accepted and change nothing that can be seen.

They say how a compiler may go about its work, or about something that never happens here: no capacity of an adstack is
a default (`default_ad_stack_size`), nothing is logged (`log_level`), and `require_version` names a version of another
library.
"""
_PRINT: Final = "print_ir=True prints every stage of each kernel that is compiled; kernel.stages(...) gives them"
_DUMP: Final = "run `adstack dump program.py --stage amdgcn`"
_TIME: Final = "leave it out, and write with qd.profiler.Profile() as p: ..., and print(p.report())"
_CACHE: Final = "see `adstack cache`; the environment variable ADSTACK_CACHE_DIR says where compiled kernels are kept"
INSTEAD: Final = {
    "cuda_stack_limit": "adstacks are in the heap, which ad_stack_heap_limit limits",
    "debug_dump_path": _PRINT,
    "device_memory_fraction": "use device_memory_GB, in units of 2**30 bytes",
    "gdb_trigger": "debug=True checks accesses and arithmetic, and names the line",
    "kernel_profiler": _TIME,
    "offline_cache_cleaning_factor": _CACHE,
    "offline_cache_cleaning_policy": _CACHE,
    "offline_cache_file_path": _CACHE,
    "offline_cache_max_size_of_files": _CACHE,
    "print_accessor_ir": _PRINT,
    "print_ir_dbg_info": _PRINT,
    "print_kernel_amdgcn": _DUMP,
    "print_kernel_asm": _PRINT,
    "print_kernel_llvm_ir": _PRINT,
    "print_kernel_llvm_ir_optimized": _PRINT,
    "print_preprocessed_ir": _PRINT,
    "print_struct_llvm_ir": _PRINT,
    "timeline": _TIME,
    "verbose_kernel_launches": _TIME,
    "vk_api_version": "the version is that of the driver; ADSTACK_VULKAN_DEVICE chooses a device",
}
"""Options of existing programs for what is done in another way here, and what to do instead.

They change no result: a program that gives one runs, with a warning that says what to do. Switched off, they are
accepted.
"""
REFUSED: Final = {
    "default_up": "write the type itself, such as qd.u32; qd.math.uvec2 and its like are as wide as default_ip",
}
"""Options of existing programs that would change results, and what to do instead. Switched off, they are accepted."""


@dataclass(frozen=True)
class Options:
    """What `init` was told.

    Attributes:
        default_fp: type of float literals, of `float`, and of the quotient of integers.
        default_ip: type of integer literals and of `int`.
        debug: check bounds, races, asserts and arithmetic while running. Existing programs may also ask for it by
            check_out_of_bound=True.
        bounds: what is done about an index out of bounds where `debug` is not set: "safe" lets nothing outside be
            touched and makes it an error of the launch (spec/memory.md), "off" checks nothing: it may corrupt memory.
        fast_math: license fusing of `a * b + c`, and the fast variants of math functions (spec/math.md).
        deterministic: let bits depend on the program and its input alone, not on threads, runs or the device: where the
            order of atomic updates makes a difference, it is that of the iterations' indices (spec/parallel.md).
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
        print_full_traceback: show the way through adstack's own code in errors about the user's program, too.
        raise_on_templated_floats: refuse floats as `template()` arguments, each of which compiles a kernel of its own.
        offline_cache: keep compiled kernels on disk, where the backend has something to keep.
        device_memory_GB: memory of the device that fields, arrays and the adstack heap may take together, in units of
            2**30 bytes; 0 for all there is.
        device: which of the arch's devices, by its number or, on vulkan, a part of its name; "" for the one that the
            environment names, or the backend prefers. `adstack doctor` lists them.
        announce: say on standard error, once for each device, which one was taken and why. ADSTACK_ANNOUNCE=0 in the
            environment is the same as False. Existing programs may say verbose.
        enable_fallback: use the cpu, with a warning, where the arch asked for is unavailable.
    """

    default_fp: DType = f32
    default_ip: DType = i32
    debug: bool = False
    bounds: str = "safe"
    fast_math: bool = False
    deterministic: bool = False
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
    print_full_traceback: bool = False
    raise_on_templated_floats: bool = False
    offline_cache: bool = True
    device_memory_GB: float = 0.0  # noqa: N815 - the name that existing programs use
    device: str = ""
    announce: bool = True
    enable_fallback: bool = False


_CHOICES: Final[dict[str, tuple[object, ...]]] = {
    "default_fp": FLOATS,
    "default_ip": INTS,
    "cpu_lanes": (0, *(1 << k for k in range(8))),
    "bounds": ("safe", "off"),
    "ad_stack_storage": ("auto", "heap", "stack"),
}
_KINDS: Final[dict[str, type]] = {f.name: type(getattr(Options(), f.name)) for f in fields(Options)}


def parse(arguments: Mapping[str, object]) -> Options:
    """Options from keywords, the `arguments` of `init` besides the arch.

    One of `INSTEAD` is a warning at the call of `init`.

    Raises:
        AdstackArgumentError: for an unknown name, one of `REFUSED`, or a value that is none of an option's choices.
        AdstackRuntimeTypeError: for a value of a wrong type, or a number that is out of range.
    """
    for name, remedy in REFUSED.items():
        if arguments.get(name):
            raise AdstackArgumentError(f"init() does not do what {name}={arguments[name]!r} asks for", do=remedy)
    for name, remedy in INSTEAD.items():
        if arguments.get(name):
            warnings.warn(f"init() does nothing for {name}={arguments[name]!r}\n  do: {remedy}", stacklevel=3)
    silent = (*WITHOUT_EFFECT, *INSTEAD, *REFUSED, *_OTHER_NAMES)
    options = {name: _checked(name, value) for name, value in arguments.items() if name not in silent}
    for other in _OTHER_NAMES.keys() & arguments.keys():
        name, value = _OTHER_NAMES[other], _of_kind(other, arguments[other], bool)
        if name != "debug":
            options.setdefault(name, value)
        elif value:
            options[name] = True
    return replace(Options(), **options)


def _checked(name: str, value: object) -> Any:
    if name not in _KINDS:
        near = difflib.get_close_matches(name, [*_KINDS, *WITHOUT_EFFECT], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known options: {', '.join(_KINDS)}"
        raise AdstackArgumentError(f"init() has no option {name!r}", do=hint)
    if name == "device":
        return _device(value)
    if name in _CHOICES:
        return _one_of(name, value, _CHOICES[name])
    return _of_kind(name, value, _KINDS[name])


def _device(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, str)) or (isinstance(value, int) and value < 0):
        raise AdstackRuntimeTypeError(f"option device takes an int >= 0 or a name, got {value!r}")
    return str(value).strip()


def _one_of(name: str, value: object, choices: tuple[object, ...]) -> object:
    if not any(value is c or (isinstance(c, (str, int)) and value == c) for c in choices):
        raise AdstackArgumentError(f"option {name} is {value!r}", do=f"use one of {', '.join(map(str, choices))}")
    return value


def _of_kind(name: str, value: object, kind: type) -> object:
    if kind is bool and value in (0, 1):
        return bool(value)
    most = _MOST.get(name, LARGEST)
    number: float | None = None
    if (isinstance(value, int) and kind is not bool) or (isinstance(value, float) and kind is float):
        number = value
    if number is not None and 0 <= number <= most:
        return kind(number)
    range_ = "" if kind is bool else " >= 0"
    if number is not None and number > 0:
        range_ = f" up to {most}"
    raise AdstackRuntimeTypeError(
        f"option {name} takes {'an' if kind is int else 'a'} {kind.__name__}{range_}, got {value!r}"
    )
