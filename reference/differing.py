"""Names that adstack shares with Quadrants and Taichi, and that do not do exactly the same there; see `absent.py`."""

from __future__ import annotations

from typing import Final

from .absent_rows import Row, row

__all__ = ["DIFFERENT", "difference"]

DIFFERENT: Final[dict[str, tuple[Row, ...]]] = {
    "qd": (
        row(
            "init",
            "an unknown option is an error with the nearest name; options of other compilers do nothing, "
            "and those for what is done in another way, such as kernel_profiler, warn",
            "fast_math is off unless it is asked for; announce=False leaves out the line about the device",
        ),
        row(
            "gpu cuda vulkan",
            "gpu takes a real device before one that the processor plays, and is an error where there is none",
            "write enable_fallback=True where the processor will do",
        ),
        row(
            "metal",
            "nobody has tried a device of Apple's yet, which has to be asked for; f64 is refused",
            "set ADSTACK_METAL_DEVICE=default to try one",
        ),
        row(
            "amdgpu",
            "nobody has tried a device of AMD's yet, which has to be asked for",
            "set ADSTACK_AMDGPU_DEVICE=default to try one",
        ),
        row(
            "kernel",
            "loops with any bound, while, break and return under if are differentiated, without a size of stacks; "
            "a list whose elements are stored to has one name, where elsewhere each assignment and call copies it",
            "leave out what was written around them; write b = [*a] for a copy of a list, and f([*a])",
        ),
        row(
            "func",
            "a func that calls itself must end while it is compiled, under qd.static",
            "write @qd.real_func where only run-time values tell how deep",
        ),
        row(
            "real_func",
            "its calls are differentiated; max_depth bounds how deep they may be",
            "write @qd.real_func(max_depth=...) for more than the default",
        ),
        row(
            "data_oriented",
            "a number that is an attribute may change between calls: the kernel is compiled for the new one",
            "change it as in Python",
        ),
        row(
            "static",
            "a value that is known only at run time is an error with its place",
            "leave static out, or make it a template() argument",
        ),
        row(
            "block_local assume_in_range",
            "these are hints, and change no result; a wrong range is an error in debug mode",
            "keep them, or leave them out",
        ),
        row(
            "loop_config",
            "all but serialize are hints; where a loop uses qd.simt, block_dim is how many threads a block has",
            "keep it, or leave it out",
        ),
        row(
            "simt",
            "subgroups have 32 threads on every device, and all threads of a block come to each wait",
            "write loop_config(block_dim=...), and waits where no condition parts the threads",
        ),
        row(
            "graph",
            "a graph is recorded in a block, with its gradients, and launched at once",
            "write `with qd.graph() as g: ...`, then g.launch(); g.do_while(counter) repeats it",
        ),
        row(
            "field ndarray Field ScalarField MatrixField Ndarray",
            "an index out of bounds touches nothing, and is an error with and without debug mode",
            "write init(bounds='off') to leave the checks out",
        ),
        row(
            "Matrix Vector",
            "any size is allowed; an index that is known at run time only is checked as those of fields are; "
            "on the host each component is the number of Python's that was put there: Vector([1, 2.5])[0] is 1, "
            "integers have no width, and a component that was one may become 0.5",
            "keep large arrays in fields; write Vector([...], dt=qd.f32) for components of one type on the host",
        ),
        row(
            "u1",
            "beside arithmetic it counts as an i32, so that (a > 1) + (a > 2), and sum() of such a vector, count; "
            "elsewhere sums of truth values are truth values",
            "write | for whether one of them holds; begin a count with an integer, n = 0",
        ),
        row(
            "u8 u16 u32 u64",
            "an integer literal takes the type of the operand beside it: one that does not fit, such as -1, is an "
            "error; elsewhere it is of default_ip, and the result wraps or is wider",
            "write a - 1, qd.u32(4294967295) or qd.i32(a) * -1",
        ),
        row(
            "root SNode FieldsBuilder Layout axes",
            "levels give fields their shapes; how they lie in memory is adstack's own business",
            "leave out levels that were there for speed alone",
        ),
        row(
            "cast",
            "a float that no integer holds becomes the nearest one, and nan 0, on every backend",
        ),
        row(
            "pow",
            "an integer to a negative power is an error in debug mode, and 0 otherwise except for the bases 1 and -1",
            "write 2.0**n",
        ),
        row(
            "max min",
            "a nan loses against a number; at a tie the right operand gets the whole gradient",
            "test with qd.math.isnan where nan is to win",
        ),
        row(
            "sin cos tan asin acos atan2 exp log tanh sqrt rsqrt",
            "the bits are adstack's own, the same on every backend, with measured errors",
            "compare with tolerances; spec/math.md has the errors",
        ),
        row("round", "a half is rounded away from zero: round(2.5) is 3.0, and elsewhere it is 2.0"),
        row(
            "random randn",
            "numbers depend on the seed, the launch and the thread alone, and are the same on every backend",
            "set random_seed in init for other ones",
        ),
        row(
            "atomic_mul atomic_exchange atomic_cas atomic_max atomic_min",
            "they are differentiated where the gradient is exact, and refused with the reason elsewhere",
            "read spec/gradients.md",
        ),
        row(
            "sym_eig eig solve",
            "square matrices of any size are taken, and differentiated",
            "mind the singular cases: equal eigenvalues have no gradient",
        ),
        row(
            "svd",
            "square matrices of any size are taken, and differentiated; singular values are not negative, and U and V "
            "may reflect: elsewhere those of 3 x 3 turn, and the last singular value has the determinant's sign",
            "where both must turn, negate the last column of each that has a negative determinant, and the last "
            "singular value for each; equal singular values have no gradient",
        ),
        row(
            "polar_decompose",
            "square matrices of any size are taken, and differentiated; of a 3 x 3 matrix with a negative determinant "
            "R reflects, and P has no negative eigenvalue: elsewhere R turns, and P has one; one without inverse "
            "gives nan",
            "where R must turn, compute it from svd as U @ V.transpose(), with U and V that turn",
        ),
        row(
            "extension is_extension_supported is_extension_enabled",
            "they answer for adstack's backends",
        ),
        row(
            "QuadrantsAssertionError QuadrantsCompilationError QuadrantsNameError QuadrantsRuntimeError "
            "QuadrantsRuntimeTypeError QuadrantsSyntaxError QuadrantsTypeError",
            "they are adstack's errors by the old name, each also the error of Python that fits",
        ),
        row(
            "stop_grad",
            "of a field it stops the gradient in all of the loop in which it stands; it takes values, too",
        ),
        row("profiler", "the profiler is a context", "write with qd.profiler.Profile() as p: ..."),
    ),
    "qd.ad": (
        row(
            "Tape",
            "what is overwritten is kept; gradients are right or refused; a block that raises has none",
            "leave out copies of the state for every step; validation=True names what is overwritten",
        ),
        row("FwdMode", "a store replaces the dual, as it replaces the number"),
        row("grad_replaced grad_for no_grad", "custom gradients work inside of Tape and with .grad()"),
    ),
    "qd.types": (
        row(
            "ndarray NDArray",
            "arrays in Fortran order are copied and written back, strided ones are refused; a mismatch is a ValueError",
            "pass np.ascontiguousarray(array) of a strided one",
        ),
    ),
    "a field": (
        row(
            "fill from_numpy",
            "what does not fit an integer is refused or wrapped as by the field's own type",
            "convert it before",
        ),
        row("to_torch from_torch to_dlpack", "copy=False shares memory where the device allows it"),
    ),
    "a kernel": (
        row(
            "grad",
            "it runs the adjoint alone; a gradient that would come from memory which has changed is refused",
            "use qd.ad.Tape for programs of several launches",
        ),
    ),
}
"""Whose name -> what is not the same as elsewhere, and what to do about it."""


def difference(owner: str, name: str) -> Row | None:
    """The row of a name, if there is one.

    Args:
        owner: a key of the table.
        name: an attribute of that.
    """
    return next((one for one in DIFFERENT.get(owner, ()) if name in one.names), None)
