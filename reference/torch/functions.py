"""Kernels as functions that torch differentiates: `adstack.torch.wrap`. torch is imported when a kernel is wrapped."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..data.device_arrays import is_torch
from ..errors import AdstackArgumentError, AdstackRuntimeError, AdstackRuntimeTypeError
from ..interop.bridge import Bridge, Outputs, WithGradient

__all__ = ["wrap"]

OfTorch: TypeAlias = Any
"""A tensor, a context or a module of torch, whose types are known only where it is installed."""


def wrap(kernel: object, outputs: Outputs | None = None) -> Callable[..., OfTorch]:
    """A kernel as a function of torch tensors that torch differentiates.

        step = adstack.torch.wrap(kernel, outputs={"y": torch.zeros_like})
        step(x).sum().backward()

    The function takes what the kernel takes. Tensors that it writes are written in place, and torch knows it: their
    version rises, and the function returns them in order; one as it is, several as a tuple, behind what the kernel
    itself returns. Tensors are in the memory of the host, or of the device of `qd.cuda`; those that are not contiguous
    are copied. Numbers are constants. `torch.compile` leaves it as it is.

    Args:
        kernel: a kernel, or one of an object. It may write nothing but tensors that are arguments. What else it reads,
            as fields and attributes, must be the same in `backward()`, which adds to the gradients of fields.
        outputs: parameters that calls leave out, each with a function of the passed arguments that makes the tensor.

    Raises:
        AdstackRuntimeError: without torch; if the kernel writes what is no argument, or its derivative needs random
            numbers again; for second derivatives.
        AdstackArgumentError: for a sparse tensor, and one that is written and shares memory with another one.
    """
    torch = _torch()
    bridge = Bridge(kernel, outputs)
    function = _function(torch, bridge)

    def call(*args: object, **kwargs: object) -> OfTorch:
        arranged = [_number(bridge, k, value) for k, value in enumerate(bridge.arranged(args, kwargs))]
        _refuse_sparse(torch, bridge, arranged)
        written = _written(torch, bridge, arranged)
        views = {k: arranged[k] for k in written if is_torch(arranged[k]) and _is_view(arranged[k])}
        for k, view in views.items():  # torch knows of writes to views only where they are the first argument
            arranged[k] = view.clone(memory_format=torch.contiguous_format)
        results = function.apply(written, *arranged)
        if views:
            places = dict(enumerate(written, len(results) - len(written)))
            results = [views[p].copy_(r) if (p := places.get(n)) in views else r for n, r in enumerate(results)]
        return results[0] if len(results) == 1 else tuple(results) or None

    call.__name__ = call.__qualname__ = bridge.name
    return torch.compiler.disable(call) if hasattr(torch, "compiler") else call


def _torch() -> OfTorch:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise AdstackRuntimeError(f"torch can't be imported: {error}", do="python -m pip install torch") from error


def _number(bridge: Bridge, position: int, value: OfTorch) -> OfTorch:
    """What is passed to a parameter: a tensor of one element where it takes a number is that number."""
    if not is_torch(value) or bridge.takes_array(position):
        return value
    if value.requires_grad:
        raise AdstackRuntimeTypeError(
            f"argument {bridge.names[position]} of {bridge.name} is a number, which is a constant to the derivative, "
            "and the tensor requires grad",
            do="annotate the parameter with qd.types.ndarray() and pass a tensor of one element, or value.detach()",
        )
    return value.item()


def _refuse_sparse(torch: OfTorch, bridge: Bridge, arranged: Sequence[OfTorch]) -> None:
    """AdstackArgumentError for a tensor whose elements do not stand in memory one by one."""
    for name, value in zip(bridge.names, arranged, strict=True):
        if is_torch(value) and value.layout is not torch.strided:
            raise AdstackArgumentError(
                f"{name} of {bridge.name} is a tensor of the layout {value.layout}, and kernels take strided ones",
                do=f"pass {name}.to_dense(), through which torch differentiates",
            )


def _written(torch: OfTorch, bridge: Bridge, arranged: Sequence[OfTorch]) -> tuple[int, ...]:
    """The positions of the tensors that the kernel writes; an error where torch could not follow what it does."""
    plain = tuple(map(_plain, arranged))
    written = bridge.written(plain)
    for k in written:
        if not is_torch(arranged[k]):
            raise AdstackRuntimeTypeError(
                f"{bridge.name} writes {bridge.names[k]}, which is a {type(arranged[k]).__name__} and no tensor: torch "
                "would not know",
                do="pass a tensor, such as torch.from_numpy(array)",
            )
        shared = next((n for n, other in enumerate(arranged) if n != k and _overlap(arranged[k], other)), None)
        if shared is not None:
            raise AdstackArgumentError(
                f"{bridge.names[k]} and {bridge.names[shared]} of {bridge.name} share memory, and the kernel writes "
                f"{bridge.names[k]}: derivatives could not follow",
                do=f"pass a copy, such as {bridge.names[shared]}.clone()",
            )
    if torch.is_grad_enabled() and not all(is_torch(value) or isinstance(value, (int, float)) for value in arranged):
        bridge.refuse_hidden(plain)
    return written


def _overlap(tensor: OfTorch, other: OfTorch) -> bool:
    """Whether elements of both have the same memory, which may be that of a device: only addresses are compared."""
    if not is_torch(other) or tensor.device != other.device or not (tensor.numel() and other.numel()):
        return False
    (first, last), (low, high) = _span(tensor), _span(other)
    return first <= high and low <= last and np.shares_memory(_places(tensor), _places(other))


def _span(tensor: OfTorch) -> tuple[int, int]:
    """The addresses of its first and its last byte; torch's strides are not negative."""
    elements = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride(), strict=True))
    first: int = tensor.data_ptr()
    return first, first + (elements + 1) * tensor.element_size() - 1


def _places(tensor: OfTorch) -> npt.NDArray[np.void]:
    """An array with the addresses of a tensor, whose elements are not to be looked at."""
    size = tensor.element_size()
    interface = {
        "data": (tensor.data_ptr(), True),
        "shape": tuple(tensor.shape),
        "strides": tuple(size * stride for stride in tensor.stride()),
        "typestr": f"|V{size}",
        "version": 3,
    }
    return np.asarray(SimpleNamespace(__array_interface__=interface))


def _plain(value: OfTorch) -> OfTorch:
    """A tensor without its history, in the order of C."""
    return value.detach().contiguous() if is_torch(value) else value


def _is_view(tensor: OfTorch) -> bool:
    """Whether torch has to be told of a write to a tensor by a copy.

    torch has no public name for whether a tensor is a view: comparing storages misses views of all elements.
    """
    return tensor._is_view() or not tensor.is_contiguous()


def _function(torch: OfTorch, bridge: Bridge) -> OfTorch:
    """The `torch.autograd.Function` of a kernel: it takes the positions of what is written, and the arguments."""

    def forward(ctx: OfTorch, written: tuple[int, ...], *args: OfTorch) -> OfTorch:
        plain = tuple(map(_plain, args))
        needed = ctx.needs_input_grad[1:]
        ctx.active = {k for k, value in enumerate(args) if is_torch(value) and needed[k]}
        if ctx.active:
            ctx.active |= {k for k in written if args[k].is_floating_point()}
            _keep(ctx, bridge, args, plain, written)
        value = bridge.launch(plain)
        ctx.mark_dirty(*(args[k] for k in written))
        ctx.written, ctx.args = written, [None if is_torch(a) else a for a in args]
        returned = () if value is None else (torch.from_numpy(np.array(value)),)
        return (*returned, *(args[k] for k in written))

    def backward(ctx: OfTorch, *adjoints: OfTorch) -> OfTorch:
        first = len(adjoints) - len(ctx.written)
        args, gradients = _restored(ctx, torch, dict(zip(ctx.written, adjoints[first:], strict=True)))
        bridge.pull(args, ctx.demand, adjoints[0].detach().cpu().numpy() if first else None)
        needed = ctx.needs_input_grad[1:]
        return (None, *(gradients[k] if needs else None for k, needs in enumerate(needed)))

    members = {
        "forward": staticmethod(forward),
        "backward": staticmethod(_once(torch, bridge, backward)),
    }
    return type(bridge.name, (torch.autograd.Function,), members)


def _once(torch: OfTorch, bridge: Bridge, backward: Callable[..., OfTorch]) -> Callable[..., OfTorch]:
    """`backward`, of whose gradients there are no derivatives: to ask for these is an error.

    torch's own `once_differentiable` sees to that where the adjoints have a history, and not where only the tensors
    that were kept have one: derivatives of what such gradients are used for would lack a term without a word.
    """

    def refuse(ctx: OfTorch, *_: OfTorch) -> OfTorch:
        raise AdstackRuntimeError(
            f"{bridge.name} has no second derivatives through torch, which differentiates a gradient of it here",
            do="compute them with a qd.ad.Tape inside of a qd.ad.FwdMode, or detach() the gradient if it is a constant",
        )

    members = {"forward": staticmethod(lambda ctx, gradient, *_: gradient.clone()), "backward": staticmethod(refuse)}
    gradient_of: OfTorch = type(f"gradient_of_{bridge.name}", (torch.autograd.Function,), members)

    def once(ctx: OfTorch, *adjoints: OfTorch) -> OfTorch:
        with torch.no_grad():
            gradients = backward(ctx, *adjoints)
        kept = [tensor for k, tensor in zip(ctx.kept, ctx.saved_tensors, strict=True) if k in ctx.active]
        sources = [tensor for tensor in (*adjoints, *kept) if tensor.requires_grad]
        if not torch.is_grad_enabled() or not (sources or kept):
            return gradients
        if any(not tensor.requires_grad for tensor in kept):
            refuse(ctx)  # what was written over was kept as a copy, whose history nobody would follow
        return tuple(None if one is None else gradient_of.apply(one, *sources) for one in gradients)

    return once


def _keep(
    ctx: OfTorch, bridge: Bridge, args: tuple[OfTorch, ...], plain: tuple[OfTorch, ...], written: tuple[int, ...]
) -> None:
    """Have torch keep what the derivative needs: it notices if that is written in place later."""
    pairs = tuple(WithGradient(value, value) if k in ctx.active else value for k, value in enumerate(plain))
    ctx.demand = bridge.demand(pairs, [k for k, value in enumerate(args) if is_torch(value)])
    ctx.kept = [k for k, value in enumerate(args) if is_torch(value) and k in ctx.demand.contents]
    before = set(written) if ctx.demand.again else set()
    ctx.save_for_backward(*(plain[k].clone() if k in before else args[k] for k in ctx.kept))
    ctx.like = [(value.shape, value.dtype, value.device) if is_torch(value) else None for value in args]


def _restored(
    ctx: OfTorch, torch: OfTorch, adjoints: dict[int, OfTorch]
) -> tuple[tuple[OfTorch, ...], dict[int, OfTorch]]:
    """The arguments of the launch again, with the memory of their gradients; these gradients."""
    args, gradients = list(ctx.args), {}
    contents = dict(zip(ctx.kept, ctx.saved_tensors, strict=True))
    for k, like in enumerate(ctx.like):
        if like is None:
            continue
        shape, dtype, device = like
        kept = contents.get(k)
        args[k] = torch.empty(shape, dtype=dtype, device=device) if kept is None else kept.detach().contiguous()
        if kept is not None and k in ctx.written:
            args[k] = args[k].clone()  # backward() may be called again
        if k in ctx.active:
            into = adjoints.get(k)
            gradients[k] = torch.zeros_like(args[k]) if into is None else into.detach().contiguous().clone()
            args[k] = WithGradient(args[k], gradients[k])
    return tuple(args), gradients
