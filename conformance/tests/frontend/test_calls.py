"""Funcs, methods, Python callables and builtins called in kernels."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest

import adstack as qd
from adstack.errors import AdstackCompilationError, AdstackNameError, AdstackSyntaxError, AdstackTypeError

pytestmark = pytest.mark.usefixtures("on_reference")


@qd.func
def _poly(a, b=2, *, c=0.5):
    a = a * b
    return a + c


@qd.func
def _swap(a: qd.template(), b: qd.template()):
    a, b = b, a


@qd.func
def _by_value(v, a):
    v[0] = 100
    a += 100
    return v[0] + a


@qd.func
def _converted(a: qd.i32, v: qd.math.vec2) -> qd.f32:
    v += a
    return v.sum()


@qd.func
def _pair(a) -> (qd.i32, qd.f32):
    return a, a


@qd.kernel
def _defaults(out: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    out[0] = _poly(3)
    out[1] = _poly(3, 4)
    out[2] = _poly(b=5, a=1, c=0)
    out[3] = _poly(*(1, 2), c=7)


def test_funcs_take_defaults_keywords_and_spread_arguments() -> None:
    out = np.zeros(4, np.float32)
    _defaults(out)
    assert out.tolist() == [6.5, 12.5, 5, 9]


@qd.kernel
def _passing(x: qd.types.ndarray(dtype=qd.i32, ndim=1)) -> qd.i32:
    a, b = 1, 2
    _swap(a, b)
    _swap(x[0], x[1])
    v = qd.Vector([7, 8])
    _swap(v[0], v[1])
    _swap(v.x, a)
    r = _by_value(v, a)
    return a * 1000 + b * 100 + v[0] * 10 + v[1] + r * 10000


def test_template_parameters_are_by_reference_others_by_value() -> None:
    x = np.array([5, 6], np.int32)
    assert _passing(x) == 8 * 1000 + 100 + 20 + 7 + (100 + 108) * 10000
    assert x.tolist() == [6, 5]


@qd.kernel
def _casting() -> qd.f32:
    a, b = _pair(2.75)
    return _converted(2.9, [1, 2.5]) + a * 100 + b


def test_annotated_arguments_and_results_are_cast() -> None:
    assert _casting() == 7.5 + 200 + 2.75


@qd.func
def _spread(*values, **named):
    total = 0
    for value in qd.static(values):
        total += value
    return total * named["scale"]


@qd.kernel
def _variadic(a: qd.i32) -> qd.i32:
    return _spread(a, 2, 3, scale=10)


def test_funcs_may_be_variadic() -> None:
    assert _variadic(1) == 60


@qd.func
def _inner(a):
    return a & 1


@qd.func
def _outer(a):
    return _inner(a) + 1


def test_an_error_names_the_chain_of_calls() -> None:
    @qd.kernel
    def run(a: qd.f32) -> qd.i32:
        return _outer(a)

    with pytest.raises(AdstackTypeError) as caught:
        run(1.0)
    loc = caught.value.loc
    assert loc is not None
    text = str(caught.value)
    assert text.count("called from") == 2
    assert loc.caller.caller.line == run.function.__code__.co_firstlineno + 2


@qd.data_oriented
class _Solver:
    def __init__(self, n: int, scale: float) -> None:
        self.n = n
        self.scale = scale
        self.x = qd.field(qd.f32, shape=n)

    @qd.kernel
    def fill(self, base: qd.f32):
        for i in self.x:
            self.x[i] = self.scaled(base) + self.offset(i)

    @qd.func
    def scaled(self, a):
        return a * self.scale

    @staticmethod
    @qd.func
    def offset(i):
        return i * 10

    @qd.kernel
    def total(self) -> qd.f32:
        s = 0.0
        for i in range(self.n):
            s += self.x[i]
        return s


def test_methods_are_kernels_and_funcs_and_their_numbers_respecialise() -> None:
    solver = _Solver(3, 2.0)
    solver.fill(1.5)
    assert solver.x.to_numpy().tolist() == [3, 13, 23]
    assert solver.total() == 39
    solver.scale = 4.0
    solver.fill(1.5)
    assert solver.x.to_numpy().tolist() == [6, 16, 26]
    other = _Solver(2, 1.0)
    other.fill(0.0)
    assert other.total() == 10


def _twice(f, a):
    return f(f(a))


_square = lambda a: a * a  # noqa: E731 - lambdas are what is tested


@qd.kernel
def _plain_python(a: qd.f32) -> qd.f32:
    return _twice(_square, a) + functools.partial(_twice, _square)(1.0) + math.sqrt(16.0) + np.float32(0.5)


def test_plain_callables_are_called_on_expressions() -> None:
    assert _plain_python(2.0) == 16 + 1 + 4 + 0.5


@qd.kernel
def _builtins(a: qd.i32, b: qd.f32, out: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    out[0] = min(a, b) + max(a, b, 7) + max([1, 2]) + min(5)
    out[1] = abs(-b) + abs(-2)
    out[2] = round(b) + round(2.5) + round(2.567, 1)
    out[3] = pow(a, 2) + pow(b, 0.5)
    out[4] = len((1, 2)) + len(qd.Vector([1, 2, 3]))
    out[5] = int(b) + float(a) / 2 + bool(a) + 0 + int("3")
    out[6] = any([False, True]) + all([True]) + qd.Vector([a, 0]).any() + all(qd.Vector([a, 0]))
    out[7] = sum([a, a, 1]) + sum([i for i in range(4) if i % 2])
    out[8] = qd.static(isinstance(a, int)) + max(1, 2, key=lambda_free)
    out[9] = sum([i * j for i, j in zip((1, 2), (a, 4), strict=False)]) + [k for k, _ in enumerate([5, 6], 1)][1]


def lambda_free(a):
    return -a


def test_builtins_work_on_runtime_values() -> None:
    out = np.zeros(10, np.float32)
    _builtins(3, 2.25, out)
    assert out.tolist() == [
        *(2.25 + 7 + 2 + 5, 4.25, np.float32(2 + 3 + 2.6), 10.5, 5),
        *(2 + 1.5 + 1 + 3, 3, 7 + 4, 1, 3 + 8 + 2),
    ]


@qd.kernel
def _conversions(a: qd.f32, out: qd.types.ndarray(dtype=qd.f64, ndim=1)):
    out[0] = qd.i32(a) + qd.i64(2)
    out[1] = qd.Vector([a, 1.5]).cast(qd.i32).sum() + qd.i32(qd.Vector([a, 1.5])).sum()
    out[2] = qd.static(qd.f32(0.1)) + qd.static(qd.i8(300))
    out[3] = qd.f64(0.1)
    out[4] = qd.static(2**-1) + qd.static(float(1)) + qd.static(qd.sqrt(4.0))


def test_types_are_called_to_cast_and_to_type_literals() -> None:
    out = np.zeros(5)
    _conversions(2.75, out)
    assert out.tolist()[:2] == [4, 6]
    assert out[2] == float(np.float32(0.1)) + 44
    assert out[3] == 0.1
    assert out[4] == 3.5


@dataclasses.dataclass(frozen=True)
class _State:
    x: qd.types.ndarray(dtype=qd.f32, ndim=1)
    scale: qd.f32

    def scaled(self, i):
        return self.x[i] * self.scale


@qd.kernel
def _dataclass_argument(s: _State) -> qd.f32:
    total = 0.0
    for i in s.x:
        s.x[i] += 1
        total += s.scale
    return total


def test_dataclasses_are_passed_member_by_member() -> None:
    x = np.ones(3, np.float32)
    assert _dataclass_argument(_State(x, 2.0)) == 6
    assert x.tolist() == [2, 2, 2]


def test_annotations_that_can_not_be_evaluated_are_refused() -> None:
    @qd.func
    def broken(a: missing_type):  # noqa: F821
        return a

    @qd.kernel
    def run() -> qd.i32:
        return broken(1)

    with pytest.raises(AdstackSyntaxError, match="missing_type"):
        run()


def test_a_closure_without_a_value_is_an_unknown_name() -> None:
    @qd.kernel
    def run() -> qd.i32:
        return later

    with pytest.raises(AdstackNameError, match="later"):
        run()
    later = 4
    assert run() == later


async def _coroutine(a):
    return a


class _Raising:
    def __call__(self, a):
        raise StopIteration("enough")


_raising = _Raising()


def test_callables_that_can_not_be_called_are_refused() -> None:
    @qd.kernel
    def waits() -> qd.i32:
        return _coroutine(1)

    @qd.kernel
    def raises() -> qd.i32:
        return _raising(1)

    with pytest.raises(AdstackSyntaxError, match="coroutine"):
        waits()
    with pytest.raises(AdstackCompilationError, match="StopIteration while compiling: enough"):
        raises()


@qd.kernel
def _method_of_struct() -> qd.f32:
    p = _Particle(1.0, qd.math.vec2(3, 4))
    p.push(2.0)
    return p.energy() + p.v.x


@qd.dataclass
class _Particle:
    m: qd.f32
    v: qd.math.vec2

    @qd.func
    def push(self, a):
        self.v += a
        self.m *= 2

    def energy(self):
        return self.m * self.v.norm_sqr()


def test_functions_of_structs_see_the_struct_itself() -> None:
    assert _method_of_struct() == 2 * (25 + 36) + 5


def test_a_func_says_what_it_is() -> None:
    solver = _Solver(1, 1.0)
    assert repr(_poly) == "<func _poly>"
    assert repr(solver.scaled) == "<bound <func _Solver.scaled>>"
    with pytest.raises(AdstackSyntaxError, match="in kernels and funcs only"):
        solver.scaled(1)
    with pytest.raises(AdstackSyntaxError, match="below @staticmethod"):
        qd.func(staticmethod(_twice))


def _third_of(v, i):
    v[i] = 5
    return v[i] + v[2]


@qd.dataclass
class _Table:
    v: qd.types.vector(3, qd.i32)

    def bump(self, i):
        self.v[i] += 10
        self.v[0] = 7
        return self.v[i]


@qd.kernel
def _python_on_vectors(i: qd.i32) -> qd.i32:
    qd.block_local(i)
    options = {"c": 3, "b": 1}
    v = qd.Vector([1, 2, 3])
    t = _Table(v)
    r = _third_of(v, i)
    return r * 1000 + v[1] * 100 + t.bump(i) + t.v[0] * 10000 + int(_poly(2, **options)) * 100000


def test_python_code_reads_and_writes_vectors() -> None:
    assert _python_on_vectors(1) == 8 * 1000 + 2 * 100 + 12 + 70000 + 500000


def _helper(x, y=1):
    """A plain function: it may run on runtime values, and call funcs."""
    return _poly(x, c=y) + _Owner(3).scaled(x)


class _Owner:
    def __init__(self, factor):
        self.factor = factor

    @qd.func
    def scaled(self, x):
        return x * self.factor


@qd.kernel
def _by_helper(a: qd.f32) -> qd.f32:
    s = 0.0
    for i in range(2):
        s += _helper(a, i)
    return s + _helper(2)


def test_a_plain_function_may_call_funcs():
    assert _by_helper(5.0) == (10 + 0 + 15) + (10 + 1 + 15) + (4 + 1 + 6)


def test_a_func_is_not_called_on_the_host_even_after_a_kernel_called_it():
    _by_helper(1.0)
    for call in (lambda: _helper(1.0), lambda: _Owner(2).scaled(1)):
        with pytest.raises(AdstackSyntaxError, match="is a func and can be called in kernels and funcs only"):
            call()
