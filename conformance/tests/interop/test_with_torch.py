"""`adstack.torch` with torch itself, whose `gradcheck` compares derivatives with differences."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import pytest
from follow_kit import served
from libraries_kit import cubes, picked, square, swing

import adstack as qd
from adstack.torch import wrap

pytestmark = [
    pytest.mark.library("torch"),
    pytest.mark.usefixtures("on_cpu"),
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture
def torch():
    return import_module("torch")


@pytest.fixture
def x(torch):
    return torch.linspace(0.5, 2.0, 6, dtype=torch.float64, requires_grad=True)


def test_derivatives_are_those_of_differences(torch, x):
    f = wrap(square, outputs={"y": lambda x, scale: torch.zeros_like(x)})
    total, pick = wrap(cubes), wrap(picked, outputs={"y": lambda index, x: torch.zeros_like(x[:3])})
    index = torch.tensor([1, 1, 4], dtype=torch.int32)
    for function in (lambda x: f(x, 3.0), lambda x: f(x[::2], 2.0), total, lambda x: pick(index, x)):
        assert torch.autograd.gradcheck(function, (x,))


def test_steps_in_place_follow_each_other(torch, x):
    step = wrap(swing)

    def simulate(x, v):
        x, v = x.clone(), v.clone()
        for _ in range(3):
            before = x._version
            x, v = step(x, v)
            assert x._version > before
        return x, v

    assert torch.autograd.gradcheck(simulate, (x, x.detach().clone().requires_grad_()))


def test_views_are_written_through_torch(torch, x):
    base = torch.zeros(12, dtype=torch.float64)
    wrap(square)(x, base[::2], 2.0)
    base.sum().backward()
    assert torch.equal(x.grad, 4 * x.detach())


def test_a_version_rises_without_gradients_too(torch):
    x, v = torch.ones(2), torch.ones(2)
    wrap(swing)(x, v)
    assert (x._version, v._version) == (1, 1)


def test_torch_notices_what_is_changed_before_backward(torch, x):
    total = wrap(cubes)(x)
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_gradients_are_returned_once(torch, x):
    total = wrap(cubes)(x)
    total.backward(retain_graph=True)
    total.backward()
    assert torch.equal(x.grad, 6 * x.detach() ** 2)


def test_compile_leaves_it_alone(torch, x):
    total = wrap(cubes)
    compiled = torch.compile(lambda x: total(2 * x), backend="eager")
    compiled(x).backward()
    assert torch.equal(x.grad, 24 * x.detach() ** 2)


def test_a_gradient_is_differentiated_again_or_refused(torch, x):
    f = wrap(square, outputs={"y": lambda x, scale: torch.zeros_like(x)})
    (gradient,) = torch.autograd.grad(f(x, 3.0).sum(), x, create_graph=True)
    assert torch.equal(gradient.detach(), 6 * x.detach())
    with pytest.raises(qd.AdstackRuntimeError, match="square has no second derivatives through torch"):
        (gradient**2).sum().backward()


@pytest.mark.parametrize(
    "loss",
    [
        lambda f, x: f(x).sum() + (x**3).sum(),
        lambda f, x: (f(x) * x).sum(),
        lambda f, x: (f(x) ** 2).sum(),
    ],
    ids=["beside torch", "times its argument", "squared"],
)
def test_second_derivatives_of_what_torch_adds_to_a_kernel_are_refused(torch, x, loss):
    f = wrap(square, outputs={"y": lambda x, scale: torch.zeros_like(x)})
    (gradient,) = torch.autograd.grad(loss(lambda x: f(x, 1.0), x), x, create_graph=True)
    with pytest.raises(qd.AdstackRuntimeError, match="square has no second derivatives through torch"):
        torch.autograd.grad(gradient.sum(), x)


def test_tensors_inside_of_arguments_have_no_derivative_without_a_word(torch, x):
    @dataclass
    class Weights:
        w: qd.types.ndarray()

    @qd.kernel
    def weigh(x: qd.types.ndarray(), y: qd.types.ndarray(), weights: Weights):
        for i in x:
            y[i] = x[i] * weights.w[i]

    f = wrap(weigh, outputs={"y": lambda x, weights: torch.zeros_like(x)})
    with pytest.raises(qd.AdstackRuntimeTypeError, match=r"weights.w of weigh requires grad, and is inside of"):
        f(x, Weights(x))
    f(x, Weights(x.detach())).sum().backward()
    assert torch.equal(x.grad, x.detach())
    with torch.no_grad():
        assert torch.equal(f(x, Weights(x)), x**2)


def test_tensors_that_numpy_can_not_have_are_refused(torch):
    negative = torch._neg_view(torch.ones(2))
    for tensor in (torch.ones(2, dtype=torch.bfloat16), negative):
        with pytest.raises(qd.AdstackArgumentError, match="argument x - torch does not give its memory"):
            cubes(tensor)
    with pytest.raises(qd.AdstackArgumentError, match=r"outside of torch\.func"):
        torch.func.grad(wrap(cubes))(torch.ones(2))


def test_a_tape_that_is_followed_notes_what_tensors_held_when_they_were_passed(torch):
    x, loss = qd.field(qd.f64, (7, 5), needs_grad=True), qd.field(qd.f64, (), needs_grad=True)
    x.fill(1.0)

    @qd.kernel
    def step(t: qd.i32, w: qd.types.ndarray()):
        for i in range(5):
            x[t + 1, i] = w[i] * x[t, i]

    @qd.kernel
    def total():
        for i in range(5):
            loss[None] += x[6, i]

    weights = torch.ones(5, dtype=torch.float64)
    for first in (1.0, 0.5, 2.0):
        weights.fill_(first)
        with qd.ad.Tape(loss) as tape:
            for t in range(6):
                step(t, weights)
                weights.mul_(2.0)
            total()
        assert x.grad.to_numpy()[0].tolist() == [first**6 * 2.0**15] * 5
    assert served(tape) == 7
    assert all(args[1] is weights for _, args in tape.calls[:6])


def test_a_sparse_tensor_is_refused_with_what_to_do(torch):
    sparse = torch.eye(2).to_sparse().requires_grad_()
    with pytest.raises(qd.AdstackArgumentError, match=r"x of cubes is a tensor of the layout torch\.sparse_coo"):
        wrap(cubes)(sparse)
    wrap(cubes)(sparse.to_dense()[0]).backward()


def test_what_passes_through_memory_that_is_only_added_to_has_its_gradient(torch):
    index, y = torch.tensor([1, 1], dtype=torch.int32), torch.ones(2, requires_grad=True)
    wrap(picked)(index, torch.ones(2), y.clone()).sum().backward()
    assert y.grad.tolist() == [1.0, 1.0]


TENSORS = {
    "bfloat16": lambda torch: torch.zeros(2, dtype=torch.bfloat16),
    "sparse": lambda torch: torch.eye(2).to_sparse()[0],
    "meta": lambda torch: torch.zeros(2, device="meta"),
    "requires grad": lambda torch: torch.zeros(2, requires_grad=True),
}


@pytest.mark.parametrize("kind", TENSORS)
def test_elements_can_not_come_from_tensors_that_numpy_can_not_have(torch, kind):
    x, v = qd.ndarray(qd.f32, shape=2), qd.Vector.field(2, qd.f32, shape=2)
    for store in (x.from_numpy, v.fill, lambda tensor: v.__setitem__(0, tensor)):
        with pytest.raises(qd.AdstackArgumentError, match="numpy can't have this Tensor"):
            store(TENSORS[kind](torch))
    assert not x.to_numpy().any()
    assert not v.to_numpy().any()


def test_a_tensor_is_taken_without_its_gradient_and_a_bfloat16_one_refused(torch):
    x = qd.field(qd.f32, shape=2)
    x.from_torch(torch.ones(2, requires_grad=True))
    assert x.to_numpy().tolist() == [1, 1]
    with pytest.raises(qd.AdstackArgumentError, match=r"\.float\(\)"):
        x.from_torch(torch.zeros(2, dtype=torch.bfloat16))
