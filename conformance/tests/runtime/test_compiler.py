"""Kernels whose adstacks only the thread can size: a limit of memory refuses them, since it could not be kept."""

from __future__ import annotations

import pytest
from transforms_kit import kernel_of

from adstack.errors import AdstackMemoryError
from adstack.runtime.compiler import compile_kernel
from adstack.runtime.protocol.options import Options
from adstack.runtime.reference_backend import ReferenceBackend

KERNEL = """kernel @k() {
  place @n : i64[4] field
  place @x : f32[4] field
  %0 = const 0 : i32
  %2 = const 2 : i64
  %4 = const 4 : i32
  parallel_for (%i = %0 to %4) {
    %old = load @n[%i]
    %new = mul %old, %2
    store @n[%i], %new
    %count = load @n[%i]
    %v = stack.alloca %count : stack<f32>
    %a = load @x[%i]
    for %j = %0 to %4 {
      stack.put %v, %j, %a
      yield
    }
    %b = stack.get %v, %0
    store @x[%i], %b
    yield
  }
  return
}"""

WITHOUT_STORE = KERNEL.replace("    store @n[%i], %new\n", "")


def compiled(text: str, **options: int) -> None:
    compile_kernel(kernel_of(text), Options(**options), ReferenceBackend(), adstacks=True)


def test_a_limit_that_threads_would_not_keep_is_refused_with_the_remedy():
    says = r"the adstacks that keep v in k\.0\.parallel are sized while it runs"
    with pytest.raises(AdstackMemoryError, match=says) as caught:
        compiled(KERNEL, ad_stack_heap_limit=1000)
    for word in ("ad_stack_heap_limit", "device_memory_GB", "ad_stack_size"):
        assert word in caught.value.do


def test_without_a_limit_or_with_a_capacity_they_run():
    compiled(KERNEL)
    compiled(KERNEL, ad_stack_heap_limit=1000, ad_stack_size=4)


def test_stacks_in_the_heap_are_not_refused():
    compiled(WITHOUT_STORE, ad_stack_heap_limit=1000)
