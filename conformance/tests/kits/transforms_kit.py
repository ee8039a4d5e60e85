"""What the tests of passes share: texts before and after, and proof by running both that nothing else changed."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
from interpreter_kit import same_bits

from adstack.conformance.fuzz.programs import random_buffers, random_kernel, random_params
from adstack.errors import AdstackRuntimeError
from adstack.interpreter import RunOptions, run
from adstack.ir.structure import Kernel, Program, Region
from adstack.ir.text.parser import parse_ir
from adstack.ir.text.printer import print_ir
from adstack.ir.verify.verifier import verify
from adstack.transforms.rewriting.options import Options
from adstack.transforms.rewriting.rewrite import clone_kernel

Pass = Callable[[Region, Options], None]

DEBUG = Options(debug=True)
PLAIN = Options()


def kernel_of(text: str) -> Kernel:
    """The verified kernel of an indented text."""
    kernel = parse_ir(textwrap.dedent(text).strip("\n") + "\n")
    verify(kernel)
    assert isinstance(kernel, Kernel)
    return kernel


def wrap(body: str, head: str = "kernel @k() {") -> str:
    """A kernel around the lines of a body."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "  ")
    return f"{head}\n{lines}\n}}\n"


def after(run_pass: Pass, kernel: Kernel, options: Options = PLAIN) -> Kernel:
    """A copy of the kernel after the pass, verified."""
    changed = clone_kernel(kernel)
    run_pass(changed.body, options)
    verify(changed)
    return changed


def golden(run_pass: Pass, head: str, before: str, wanted: str, options: Options = PLAIN) -> None:
    """The pass makes `wanted` of `before`, both mean the same, and a second run changes nothing."""
    kernel = kernel_of(wrap(before, head))
    changed = after(run_pass, kernel, options)
    assert print_ir(changed) == print_ir(kernel_of(wrap(wanted, head)))
    for seed in range(6):
        agree(kernel, changed, seed)
        if options.debug:
            agree(kernel, changed, seed, debug=True)
    assert print_ir(after(run_pass, changed, options)) == print_ir(changed)


def outcome(root: Kernel | Program, params: list[Any], buffers: dict[str, Any], debug: bool) -> Any:
    """What running gives: returned values, memory and printed text; or the class of the error."""
    printed: list[str] = []
    try:
        returned = run(root, buffers, params, options=RunOptions(debug=debug, stdout=printed.append))
    except AdstackRuntimeError as error:
        return type(error)
    return returned, buffers, "".join(printed)


def agree(kernel: Kernel, changed: Kernel | Program, seed: int, debug: bool = False) -> None:
    """Both give the same bits, the same text and the same error for the inputs of `seed`."""
    params = random_params(kernel, seed)
    first = outcome(kernel, params, random_buffers(kernel, seed), debug)
    second = outcome(changed, params, random_buffers(kernel, seed), debug)
    if isinstance(first, type) or isinstance(second, type):
        assert first is second
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))
        differing = [name for name in first[1] if not same_bits(first[1][name], second[1][name])]
        values = zip(first[0], second[0], kernel.returns, strict=True)
        returns = [same_bits(to.numpy.type(a), to.numpy.type(b)) for a, b, to in values]
    assert (differing, all(returns), first[2] == second[2]) == ([], True, True)


def fuzz(run_pass: Pass, seeds: range, size: int = 80) -> None:
    """On random kernels: nothing changes with checks on or off, and a second run of the pass does nothing."""
    for seed in seeds:
        kernel = random_kernel(seed, size, transcendentals=False)
        for options in (PLAIN, DEBUG):
            changed = after(run_pass, kernel, options)
            assert print_ir(after(run_pass, changed, options)) == print_ir(changed), f"not idempotent: seed {seed}"
            agree(kernel, changed, seed, options.debug)
