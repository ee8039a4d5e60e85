"""Which memory the reverse pass may look at: never less than it does, and no more than it must for what is simple."""

from __future__ import annotations

from dataclasses import replace

import pytest
from transforms_kit import kernel_of, wrap

from adstack.autodiff.activities.needed import needed
from adstack.conformance.fuzz.smooth import smooth_adjoints, smooth_kernel
from adstack.conformance.fuzz.traffic import traffic_kernel
from adstack.errors import AdstackDataAccessError
from adstack.ir.structure import Kernel
from adstack.ir.types import f64
from adstack.runtime.modes import reverse_mode
from adstack.runtime.protocol.options import Options


def read_by_reverse(kernel: Kernel, names: set[str]) -> set[str]:
    """The places of the kernel that its reverse mode loads."""
    grads = {n: replace(kernel.places[n], name=f"{n}.grad", role="grad", of=n) for n in names}
    reversal = reverse_mode(kernel, grads, Options(), rewinds=False)
    loaded = {op.attrs["place"].name for op in reversal.kernel.body.walk() if op.name in ("load", "atomic")}
    return {name for name in loaded & kernel.places.keys() if kernel.places[name].kind != "temp"}


@pytest.mark.parametrize("block", range(3))
def test_it_is_never_less_than_the_reverse_pass_reads(block: int) -> None:
    read = 0
    for seed in range(12 * block, 12 * block + 12):
        for kernel in (traffic_kernel(seed, 8, f64), smooth_kernel(seed, 20, f64, in_place=bool(seed % 2))):
            names = set(smooth_adjoints(kernel, seed))
            try:
                loaded = read_by_reverse(kernel, names)
            except AdstackDataAccessError:
                continue
            assert loaded <= needed(kernel, names)
            read += len(loaded)
    assert read > 10


PLACES = """
    place @x : f64[4] field
    place @y : f64[4] field
    place @w : f64[4] field
    place @n : i32[4] field
    %0 = const 0 : i32
    %1 = const 4 : i32
    parallel_for (%i = %0 to %1) {
      %v = load @x[%i] : f64
      BODY
      yield
    }
    return
"""


def names_for(body: str) -> set[str]:
    kernel = kernel_of(wrap(PLACES.replace("BODY", body)))
    return needed(kernel, {"x", "y"})


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("store @y[%i], %v", set()),
        ("%u = load @w[%i] : f64  %s = add %v, %u : f64  store @y[%i], %s", set()),
        ("%u = load @w[%i] : f64  %s = mul %v, %u : f64  store @y[%i], %s", {"w"}),
        ("%s = mul %v, %v : f64  store @y[%i], %s", {"x"}),
        ("%k = load @n[%i] : i32  store @y[%k], %v", {"n"}),
        ("%s = exp %v : f64  store @y[%i], %s", {"x"}),
        ("%s = mul %v, %v : f64  store @w[%i], %s", set()),
    ],
)
def test_sums_need_nothing_and_products_their_factors(body: str, names: set[str]) -> None:
    assert names_for(body.replace("  ", "\n      ")) == names
