"""Locals of the kernel that loops read and later loops change: every read is differentiated at its own time."""

from __future__ import annotations

import pytest
from reverse_kit import check_against_oracle
from transforms_kit import kernel_of, wrap

from adstack.analysis.manager import Analyses
from adstack.autodiff.overwrite.versions import keep_versions
from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_buffers, smooth_kernel
from adstack.errors import AdstackDataAccessError
from adstack.interpreter import run
from adstack.ir.text.printer import print_ir
from adstack.ir.types import f64
from adstack.ir.verify.verifier import verify
from adstack.transforms.pipeline import lower

LOOP = """
    parallel_for (%{i} = %zero to %n) {{
      {body}
      yield
    }}"""
READ = "%r{i} = load @t[]\n store @y[%{i}], %r{i}"
ADD = "%a{i} = load @x[%{i}]\n atomic add @t[], %a{i}"


def loops(*bodies: str) -> str:
    """A kernel of these loops one after the other, around a local t."""
    text = "".join(LOOP.format(i=f"i{k}", body=body.format(i=f"i{k}")) for k, body in enumerate(bodies))
    return wrap(
        f"""
    place @x : f64[5] field
    place @y : f64[5] field
    place @t : f64[] temp
    %zero = const 0 : i32
    %n = const 5 : i32
    {text}
    return
    """
    )


@pytest.mark.parametrize(
    ("bodies", "versions"),
    [((ADD, READ), 1), ((READ, ADD), 2), ((ADD, ADD, READ), 1), ((READ, ADD, READ, ADD), 3), ((READ, READ), 1)],
)
def test_there_are_as_many_versions_as_are_read(bodies: tuple[str, ...], versions: int) -> None:
    kernel = kernel_of(loops(*bodies))
    memory = smooth_buffers(kernel, 1)
    plain = {name: buffer.copy() for name, buffer in memory.items()}
    run(lower(kernel), plain)
    keep_versions(kernel, Analyses())
    verify(kernel)
    assert sum(place.kind == "temp" for place in kernel.places.values()) == versions
    run(lower(kernel), memory)
    assert all((plain[name] == memory[name]).all() for name in memory), print_ir(kernel)


@pytest.mark.parametrize("block", range(6))
def test_gradients_of_kernels_with_locals_and_serial_code_are_the_oracles(block: int) -> None:
    accepted = 0
    for seed in range(12 * block, 12 * block + 12):
        options = {"shared_locals": block % 3 != 0, "serial_code": block % 2 == 0, "casts": block == 1}
        kernel = smooth_kernel(seed, 14, f64, **options)
        try:
            check_against_oracle(kernel, smooth_buffers(kernel, seed), smooth_adjoints(kernel, seed))
        except AdstackDataAccessError:
            continue
        accepted += 1
    assert accepted >= 10, "many kernels are refused: the others say little"
