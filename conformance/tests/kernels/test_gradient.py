"""`kernel.grad`: which arguments it takes, what counts as constant, what it refuses."""

import dataclasses
import sys
import types
from typing import Any

import numpy as np
import pytest

import adstack as qd

ARCHES = ("reference", "cpu")


@pytest.fixture(params=ARCHES, autouse=True)
def arch(request: Any) -> str:
    qd.init(arch=request.param, default_fp=qd.f64)
    name: str = request.param
    return name


def scalar(**options: Any) -> Any:
    return qd.field(qd.f64, shape=(), **options)


def test_gradients_accumulate_over_calls() -> None:
    x, y = qd.field(qd.f64, shape=3, needs_grad=True), scalar(needs_grad=True)

    @qd.kernel
    def total(a: qd.f64):
        for i in x:
            y[None] += a * x[i] * x[i]

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    total(2.0)
    y.grad[None] = 1.0
    total.grad(2.0)
    total.grad(a=2.0)
    assert x.grad.to_numpy().tolist() == [8.0, 16.0, 24.0]
    assert y.grad[None] == 1.0


def test_a_store_consumes_the_gradient_of_what_it_overwrites() -> None:
    x, y = scalar(needs_grad=True), scalar(needs_grad=True)

    @qd.kernel
    def copy():
        y[None] = 3.0 * x[None]

    y.grad[None] = 2.0
    copy.grad()
    assert (x.grad[None], y.grad[None]) == (6.0, 0.0)


def test_memory_without_a_gradient_is_constant() -> None:
    x, c, y = scalar(needs_grad=True), scalar(), scalar(needs_grad=True)

    @qd.kernel
    def product():
        y[None] += x[None] * c[None]

    c[None] = 5.0
    y.grad[None] = 1.0
    product.grad()
    assert x.grad[None] == 5.0


def test_a_kernel_that_reads_nothing_with_a_gradient_is_refused() -> None:
    c, y = qd.field(qd.f64, shape=(), name="c"), scalar(needs_grad=True)

    @qd.kernel
    def double():
        y[None] += 2.0 * c[None]

    with pytest.raises(qd.AdstackRuntimeError, match=r"nothing that the kernel reads has a gradient \(c\)"):
        double.grad()


def test_gradients_may_be_placed_after_the_first_call() -> None:
    x, y = qd.field(qd.f64), qd.field(qd.f64)
    qd.root.dense(qd.i, 2).place(x)
    qd.root.place(y)

    @qd.kernel
    def total():
        for i in x:
            y[None] += 3.0 * x[i]

    total()
    with pytest.raises(qd.AdstackRuntimeError, match="has a gradient"):
        total.grad()
    qd.root.lazy_grad()
    y.grad[None] = 1.0
    total.grad()
    assert x.grad.to_numpy().tolist() == [3.0, 3.0]


def test_ndarrays_and_numpy_arrays(arch: str) -> None:
    x = qd.ndarray(qd.f64, shape=3, needs_grad=True)
    y = qd.ndarray(qd.f64, shape=1, needs_grad=True)
    weights = np.array([1.0, 2.0, 3.0])

    @qd.kernel
    def dot(a: qd.types.NDArray[qd.f64, 1], w: qd.types.NDArray[qd.f64, 1], out: qd.types.NDArray[qd.f64, 1]):
        for i in range(a.shape[0]):
            out[0] += a[i] * w[i]

    y.grad[0] = 2.0
    dot.grad(x, weights, y)
    assert x.grad.to_numpy().tolist() == [2.0, 4.0, 6.0]
    assert weights.tolist() == [1.0, 2.0, 3.0]


def test_needs_grad_false_cuts_the_gradient_of_an_argument() -> None:
    x, w = qd.ndarray(qd.f64, shape=1, needs_grad=True), qd.ndarray(qd.f64, shape=1, needs_grad=True)
    y = scalar(needs_grad=True)

    @qd.kernel
    def product(a: qd.types.ndarray(), b: qd.types.ndarray(needs_grad=False)):
        y[None] += a[0] * b[0]

    x[0], w[0], y.grad[None] = 2.0, 3.0, 1.0
    product.grad(x, w)
    assert (x.grad[0], w.grad[0]) == (3.0, 0.0)


class FakeTensor:
    """What adstack uses of a torch tensor."""

    __module__ = "torch"

    def __init__(self, array: Any, requires_grad: bool = False) -> None:
        self.array, self.requires_grad, self.grad = np.asarray(array), requires_grad, None
        self.device = types.SimpleNamespace(type="cpu")

    def detach(self) -> "FakeTensor":
        return FakeTensor(self.array)

    def numpy(self) -> Any:
        return self.array


def test_tensors_that_require_grad_get_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = types.SimpleNamespace(zeros_like=lambda t: FakeTensor(np.zeros_like(t.array)))
    monkeypatch.setitem(sys.modules, "torch", torch)
    x, y = FakeTensor(np.array([1.0, 2.0]), requires_grad=True), scalar(needs_grad=True)

    @qd.kernel
    def squares(a: qd.types.ndarray()):
        for i in range(2):
            y[None] += a[i] * a[i]

    y.grad[None] = 1.0
    squares.grad(x)
    assert x.grad.array.tolist() == [2.0, 4.0]


def test_gradients_of_tensors_add_up_from_tape_to_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = types.SimpleNamespace(zeros_like=lambda t: FakeTensor(np.zeros_like(t.array)))
    monkeypatch.setitem(sys.modules, "torch", torch)
    x, y = FakeTensor(np.array([1.0, 2.0]), requires_grad=True), scalar(needs_grad=True)

    @qd.kernel
    def squares(a: qd.types.ndarray()):
        for i in range(2):
            y[None] += a[i] * a[i]

    for _ in range(2):
        with qd.ad.Tape(y):
            squares(x)
    assert x.grad.array.tolist() == [4.0, 8.0]


def test_members_of_structs_have_gradients() -> None:
    @dataclasses.dataclass
    class Pair:
        a: qd.types.ndarray()
        k: qd.f64

    x, y = qd.ndarray(qd.f64, shape=2, needs_grad=True), scalar(needs_grad=True)

    @qd.kernel
    def total(p: Pair):
        for i in range(2):
            y[None] += p.k * p.a[i]

    y.grad[None] = 1.0
    total.grad(Pair(x, 4.0))
    assert x.grad.to_numpy().tolist() == [4.0, 4.0]


def test_methods_have_gradients() -> None:
    @qd.data_oriented
    class Model:
        def __init__(self) -> None:
            self.x, self.y, self.k = scalar(needs_grad=True), scalar(needs_grad=True), 3

        @qd.kernel
        def run(self, a: qd.f64):
            self.y[None] += a * self.k * self.x[None]

    model = Model()
    model.y.grad[None] = 1.0
    model.run.grad(2.0)
    model.k = 4
    model.run.grad(a=2.0)
    assert model.x.grad[None] == 14.0


def test_prints_and_asserts_are_silent(capsys: pytest.CaptureFixture[str], arch: str) -> None:
    qd.init(arch=arch, default_fp=qd.f64, debug=True)
    x, y = scalar(needs_grad=True), scalar(needs_grad=True)

    @qd.kernel
    def loud() -> qd.f64:
        print("here", x[None])
        assert x[None] > 0.0, "positive"
        y[None] += 2.0 * x[None]
        return x[None]

    y.grad[None] = 1.0
    loud.grad(seed=0.0)
    qd.sync()
    assert capsys.readouterr().out == ""
    assert x.grad[None] == 2.0


def test_a_kernel_about_gradients_has_none() -> None:
    x, y = scalar(needs_grad=True), scalar(needs_grad=True)

    @qd.kernel
    def uses():
        y[None] += x.grad[None] * x[None]

    with pytest.raises(qd.AdstackRuntimeError, match="Cannot automatically differentiate through a grad tensor"):
        uses.grad()


def test_a_read_only_gradient_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = np.zeros(1)
    frozen.flags.writeable = False
    x, y = FakeTensor(np.ones(1), requires_grad=True), scalar(needs_grad=True)
    x.grad = FakeTensor(frozen)

    @qd.kernel
    def twice(a: qd.types.ndarray()):
        y[None] += 2.0 * a[0]

    with pytest.raises(qd.AdstackArgumentError, match="read-only"):
        twice.grad(x)


def test_wrong_arguments_are_refused_as_in_a_call() -> None:
    y = scalar(needs_grad=True)

    @qd.kernel
    def run(a: qd.f64):
        y[None] += a * y[None]

    with pytest.raises(qd.AdstackCallError, match="Missing argument 'a'"):
        run.grad()
    with pytest.raises(qd.AdstackCallError, match="Too many arguments"):
        run.grad(1.0, 2.0)


def test_the_stages_of_reverse_mode_can_be_seen() -> None:
    x, y = scalar(needs_grad=True), scalar(needs_grad=True)

    @qd.kernel
    def run():
        y[None] += 2.0 * x[None]

    stages = run.grad.stages()
    assert "grad" in stages["tasks"]
    titles = list(run.stages())
    assert list(stages) == ["tasks", *titles[titles.index("guard") + 1 :]]
    assert x.grad[None] == 0.0


def test_arguments_that_overlap_are_refused_where_one_is_written() -> None:
    x = qd.ndarray(qd.f64, shape=2, needs_grad=True)
    y = qd.ndarray(qd.f64, shape=2, needs_grad=True)

    @qd.kernel
    def run(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in range(2):
            b[i] = a[i] * a[i]

    run.grad(x, y)
    with pytest.raises(qd.AdstackDataAccessError, match="argument b and argument a of run share memory"):
        run.grad(x, x)


def test_a_gradient_has_no_gradient_of_its_own():
    @qd.kernel
    def nothing():
        pass

    with pytest.raises(qd.AdstackAttributeError, match=r"(?s)has no 'grad'.*do: call k\.grad\(.*FwdMode"):
        nothing.grad.grad()
