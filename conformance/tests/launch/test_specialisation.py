"""Which calls share a compiled kernel, and what is said about it."""

from __future__ import annotations

import numpy as np
import pytest
from specialisation_kit import specialisations

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_reference")


@qd.kernel
def add(a: qd.i32, b: qd.f32) -> qd.f32:
    return a + b


@qd.kernel
def raised(x: qd.types.ndarray(dtype=qd.f32, ndim=1), by: qd.f32):
    for i in x:
        x[i] += by


@qd.kernel
def accumulate(f: qd.template(), by: qd.template()):
    for i in f:
        f[i] += by


@qd.kernel
def increment(t: qd.Tensor):
    for i in t:
        t[i] += 1


@qd.data_oriented
class Machine:
    def __init__(self, n: int) -> None:
        self.n = n
        self.unused = 0
        self.x = qd.field(qd.f32, (2,))
        self.log = qd.ndarray(qd.f32, (1,))

    @qd.kernel
    def step(self, v: qd.f32) -> qd.f32:
        self.x[0] += v * self.n
        self.log[0] += 1
        return self.x[0]

    @staticmethod
    @qd.kernel
    def plus_one(v: qd.i32) -> qd.i32:
        return v + 1


def test_templates_are_specialised_by_value() -> None:
    f, g = qd.field(qd.f32, (2,)), qd.field(qd.f32, (3,))
    accumulate(f, 2)
    accumulate(f, 0.5)
    accumulate(g, 1)
    accumulate(g, True)
    assert (f.to_numpy().tolist(), g.to_numpy().tolist()) == ([2.5, 2.5], [2, 2, 2])


def test_a_tensor_parameter_takes_fields_and_arrays() -> None:
    data = [qd.field(qd.f32, (2,)), qd.ndarray(qd.i32, (3,)), np.zeros(2, np.float64)]
    for each in data:
        increment(each)
    assert [np.asarray(d).tolist() for d in data] == [[1, 1], [1, 1, 1], [1, 1]]
    with pytest.raises(TypeError, match="expected a tensor, a field, an ndarray or None"):
        increment(3)


def test_a_tensor_parameter_takes_none() -> None:
    @qd.kernel
    def known(t: qd.Tensor) -> qd.i32:
        r = 0
        if qd.static(t is not None):
            r = 1
        return r

    assert (known(None), known(qd.field(qd.f32, ()))) == (0, 1)


def test_equal_arguments_are_served_by_one_specialisation(monkeypatch: pytest.MonkeyPatch) -> None:
    import adstack.kernels.kernel as module

    count = []
    monkeypatch.setattr(module, "specialise", lambda *a, real=module.specialise: count.append(a) or real(*a))

    @qd.kernel
    def scaled(x: qd.types.NDArray, by: qd.f32):
        for i in x:
            x[i] *= by

    for array in (np.ones(3, np.float32), np.ones(5, np.float32), qd.ndarray(qd.f32, (2,)), np.ones(3, np.float64)):
        scaled(array, 2.0)
    assert len(count) == 2


def test_a_kernel_compiles_again_after_reset() -> None:
    assert add(1, 2.0) == 3
    qd.init(arch=qd.reference, default_fp=qd.f64)
    assert add(1, 2.0) == 3


def test_methods_are_kernels() -> None:
    one, two = Machine(2), Machine(3)
    assert (one.step(1.0), one.step(v=1.0), two.step(1.0)) == (2, 4, 3)
    assert (one.log[0], two.log[0]) == (2, 1)
    assert one.plus_one(1) == 2


def test_a_changed_number_attribute_specialises_again() -> None:
    machine = Machine(2)
    machine.step(1.0)
    machine.n = 10
    assert machine.step(1.0) == 12
    machine.n = 2
    assert machine.step(1.0) == 14


def test_attributes_that_a_kernel_does_not_use_do_not_matter() -> None:
    machine = Machine(2)
    for machine.unused in range(4):
        machine.step(1.0)
    compiled = specialisations(Machine.step)
    assert len(compiled) == 1


def test_stages_are_shown_without_launching() -> None:
    array = np.zeros(2, np.float32)
    texts = raised.stages(array, 1.0)
    assert next(iter(texts)) == "frontend"
    assert "tasks" in texts
    assert all("parallel_for" in text for text in texts.values())
    assert array.tolist() == [0, 0]
    assert "load" in Machine(1).step.stages(1.0)["frontend"]


def test_explain_names_tasks_places_and_parameters() -> None:
    text = raised.explain(np.zeros(2, np.float32), by=1.0)
    assert "kernel raised on reference (native" in text
    assert "parameter by: f32" in text
    assert "returns: nothing" in text
    assert "f32[?], " in text
    assert "written" in text
    assert "returns: f32" in Machine(1).step.explain(1.0)


def test_print_ir_prints_every_stage_once(capsys: pytest.CaptureFixture[str]) -> None:
    qd.init(arch=qd.reference, print_ir=True)
    add(1, 2.0)
    add(2, 3.0)
    printed = capsys.readouterr().out
    assert [printed.count(f"==== add: {stage}\n") for stage in ("frontend", "tasks")] == [1, 1]


def test_ndarrays_with_and_without_a_gradient_are_told_apart() -> None:
    @qd.kernel
    def has_gradient(x: qd.types.ndarray()) -> qd.i32:
        r = 0
        if qd.static(x.grad is not None):
            r = 1
        return r

    with_gradient, without = qd.ndarray(qd.f32, (2,), needs_grad=True), qd.ndarray(qd.f32, (2,))
    assert [has_gradient(a) for a in (with_gradient, without, with_gradient, without)] == [1, 0, 1, 0]


def test_a_replaced_data_attribute_specialises_again() -> None:
    machine = Machine(2)
    machine.step(1.0)
    machine.x = qd.field(qd.f32, (2,))
    machine.log = qd.ndarray(qd.f32, (1,))
    assert (machine.step(1.0), machine.log[0]) == (2, 1)


def test_specialisations_by_attributes_do_not_pile_up() -> None:
    from adstack.kernels.kernel import MOST

    machine = Machine(0)
    for machine.n in range(7):
        machine.step(1.0)
    machine.n = 7
    with pytest.warns(UserWarning, match="step has been compiled 8 times, as .* changes between calls: n"):
        machine.step(1.0)
    for machine.n in range(8, MOST + 5):
        machine.step(1.0)
    compiled = specialisations(Machine.step)
    assert len(compiled) == MOST


def test_an_attribute_that_is_gone_is_a_clear_error() -> None:
    machine = Machine(2)
    machine.step(1.0)
    del machine.n
    with pytest.raises(qd.AdstackCompilationError, match="no attribute 'n'"):
        machine.step(1.0)


def test_reset_frees_what_kernels_hold() -> None:
    f = qd.field(qd.f32, (2,))
    accumulate(f, 1)
    assert specialisations(accumulate)
    qd.reset()
    assert not specialisations(accumulate)
