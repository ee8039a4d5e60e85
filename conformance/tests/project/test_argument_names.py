"""Arguments are called as in existing programs, and come in the same order; others are told what is taken."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.ir.types import DType

pytestmark = pytest.mark.usefixtures("on_reference")

NAMES: dict[Callable[..., object], str] = {
    qd.atan2: "x1 x2",
    qd.select: "cond x1 x2",
    qd.cast: "obj dtype",
    qd.bit_cast: "obj dtype",
    qd.bit_shr: "x1 x2",
    qd.raw_div: "x1 x2",
    qd.raw_mod: "x1 x2",
    qd.randn: "dt",
    qd.solve: "A b dt",
    qd.svd: "A dt",
    qd.eig: "A dt",
    qd.sym_eig: "A dt",
    qd.polar_decompose: "A dt",
    qd.math.cross: "x y",
    qd.math.determinant: "m",
    qd.math.inverse: "mat",
    qd.static_assert: "cond msg",
    qd.assume_in_range: "val base low high",
    qd.grouped: "x",
    qd.ref: "tp",
    qd.pyfunc: "fn",
    qd.func: "fn is_real_function",
    qd.append: "node indices val",
    qd.is_active: "node indices",
    qd.activate: "node indices",
    qd.deactivate: "node indices",
    qd.length: "node indices",
    qd.rescale_index: "a b I",
    qd.field: "dtype shape order name offset needs_grad needs_dual layout",
    qd.Struct.field: "members methods shape name offset needs_grad needs_dual layout",
    qd.types.ndarray: "dtype ndim element_dim element_shape field_dim needs_grad boundary",
    qd.root.dense: "indices dimensions",
    qd.root.pointer: "indices dimensions",
    qd.root.bitmasked: "indices dimensions",
    qd.root.dynamic: "axis dimension chunk_size",
    qd.FieldsBuilder.finalize: "self raise_warning",
    qd.MatrixField.to_numpy: "self keep_dims dtype",
    qd.MatrixField.to_torch: "self device keep_dims",
    qd.ScalarField.to_numpy: "self dtype",
    qd.ScalarField.fill: "self val",
    qd.Matrix.fill: "self val",
    qd.ScalarField.from_numpy: "self arr",
    qd.ScalarField.from_torch: "self arr",
    qd.StructField.from_numpy: "self array_dict",
    qd.StructField.get_member_field: "self key",
    qd.Struct.to_dict: "self include_methods include_ndim",
    qd.ad.clear_all_gradients: "gradient_type",
    qd.ad.no_grad: "func",
    qd.ad.grad_replaced: "func",
    qd.is_extension_enabled: "ext",
}


@pytest.mark.parametrize("function", NAMES, ids=lambda f: f.__qualname__)
def test_arguments_have_the_names_and_the_order_of_existing_programs(function: Callable[..., object]) -> None:
    names = [name for name in inspect.signature(function).parameters if name != "self" or "self" in NAMES[function]]
    assert names[: len(NAMES[function].split())] == NAMES[function].split()


def test_kernels_take_arguments_by_name() -> None:
    x = qd.field(qd.i32)
    lists = qd.root.dynamic(axis=qd.i, dimension=8)
    lists.place(x)

    @qd.kernel
    def run() -> qd.f32:
        qd.loop_config(serialize=True, name="appending")
        for i in range(3):
            qd.append(node=lists, indices=[], val=i)
        x.append(val=5)
        qd.static_assert(cond=True, msg="it is")
        active = qd.is_active(node=lists, indices=[3])
        solved = qd.solve(A=qd.Matrix([[2, 0], [0, 4]]), b=qd.Vector([1, 2]), dt=qd.f64)
        return qd.select(cond=active, x1=qd.cast(obj=x[3], dtype=qd.f32), x2=0.0) + qd.cast(solved[1], qd.f32)

    assert run() == 5.5
    assert qd.length(node=lists, indices=None) == 4


def test_options_by_position_are_those_of_existing_programs() -> None:
    f = qd.field(qd.f32, (2, 3), "ji", "heat", (1, 1), True)
    v = qd.Vector.field(2, qd.f32, (2, 3), "ji", "wind", (0, 0), True, False, qd.Layout.SOA)
    m = qd.Matrix.field(2, 1, qd.f32, 3, None, "strain")
    assert (f.name, f.offset, f.has_grad(), v.name, v.has_grad(), m.name) == (
        "heat",
        (1, 1),
        True,
        "wind",
        True,
        "strain",
    )


def test_a_builder_takes_arguments_by_name() -> None:
    x, builder = qd.field(qd.f32), qd.FieldsBuilder()
    builder.dense(indices=qd.ij, dimensions=(2, 3)).place(x)
    builder.finalize(raise_warning=False)
    assert x.shape == (2, 3)
    level = qd.root.dense(indices=qd.i, dimensions=2)
    assert level.dense(axes=qd.j, dimensions=3).shape == level.pointer(axes=qd.j, dimensions=3).shape == (2, 3)
    assert qd.FieldsBuilder().dynamic(index=qd.i, dimension=4).shape == (4,)
    with pytest.raises(qd.AdstackTypeError, match=r"dense\(\) got an unexpected keyword argument 'axes'"):
        level.dense(indices=qd.j, axes=qd.j, dimensions=3)


def test_columns_may_have_an_axis_of_their_own() -> None:
    v, m, square = qd.Vector.field(2, qd.f32, 3), qd.Matrix.field(2, 1, qd.f32, 3), qd.Matrix.field(2, 2, qd.f32, 3)
    for field in (v, m):
        field.from_numpy(np.arange(6.0).reshape(3, 2, 1))
        assert field.to_numpy().tolist() == field.to_numpy(False).tolist() == [[0, 1], [2, 3], [4, 5]]
        assert field.to_numpy(keep_dims=True, dtype=np.float64).shape == (3, 2, 1)
        field.from_numpy(field.to_numpy())
        assert np.asarray(field, np.float64)[2].tolist() == [4, 5]
    assert square.to_numpy(keep_dims=True).shape == square.to_numpy().shape == (3, 2, 2)


def test_a_data_oriented_class_may_have_options() -> None:
    @qd.data_oriented(stable_members=True)
    class Solver:
        def __init__(self) -> None:
            self.n = 3

        @qd.kernel(pure=True)
        def run(self) -> qd.i32:
            return self.n

    @qd.data_oriented()
    class Other(Solver):
        pass

    assert Solver().run() == Other().run() == 3


def test_a_func_may_be_a_real_one_by_an_option() -> None:
    @qd.func(is_real_function=True)
    def factorial(n: qd.i32) -> qd.i32:
        result = 1
        if n > 1:
            result = n * factorial(n - 1)
        return result

    @qd.func()
    def twice(n):
        return 2 * n

    @qd.kernel
    def run(n: qd.i32) -> qd.i32:
        return twice(factorial(n))

    assert run(5) == 240


@pytest.mark.parametrize("annotation", [qd.template(qd.f32, 1), qd.template(dim=1), qd.Template(ndim=1)])
def test_a_template_may_say_what_it_stands_for(annotation: Any) -> None:
    x = qd.field(qd.i32, 3)
    x[0] = 4

    @qd.kernel
    def first(x: annotation) -> qd.i32:
        return x[0]

    assert first(x) == 4


def test_a_tensor_takes_an_order_of_its_axes() -> None:
    for backend in qd.Backend:
        assert qd.tensor(qd.f32, (2, 3), backend=backend, layout=(1, 0)).to_numpy().shape == (2, 3)
    with pytest.raises(qd.AdstackArgumentError, match="must have the number of each axis once"):
        qd.tensor(qd.f32, (2, 3), layout=(1, 1))


def test_gradients_have_one_type() -> None:
    qd.ad.clear_all_gradients(gradient_type=None)
    with pytest.raises(qd.AdstackArgumentError, match="has no gradient_type 'second'"):
        qd.ad.clear_all_gradients("second")


def _filled() -> None:
    qd.field(qd.f32, 3).fill(by=1)


@qd.kernel
def _selected() -> qd.f32:
    return qd.select(condition=True, x1=1.0, x2=2.0)


@qd.kernel
def _hinted():
    qd.loop_config(blocks=3)
    for _ in range(3):
        pass


@qd.kernel
def _asked() -> qd.i32:
    return qd.is_active(level=qd.root, indices=[])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: qd.field(qd.f32, 3, size=1),
            r"field\(\) got an unexpected keyword argument 'size'\n  do: it takes dtype",
        ),
        (qd.field, r"field\(\) missing a required argument: 'dtype'"),
        (
            lambda: qd.ndarray(qd.f32, 3, True, True, 1),
            r"ndarray\(\) got too many positional arguments\n  do: it takes",
        ),
        (lambda: qd.Vector.field(3, qd.f32, grad=True), r"field\(\) got an unexpected keyword argument 'grad'"),
        (lambda: qd.types.ndarray(rank=1), r"types.ndarray\(\) got .* 'rank'\n  do: it takes dtype, ndim, element_dim"),
        (_filled, r"fill\(\) got an unexpected keyword argument 'by'\n  do: it takes val"),
        (_selected, r"select\(\) got an unexpected keyword argument 'condition'\n.*\n.*\n  do: it takes cond, x1, x2"),
        (_hinted, r"loop_config\(\) got .* 'blocks'"),
        (lambda: qd.ndrange(2, step=1), r"ndrange\(\) got .* 'step'\n  do: it takes \*extents, axes"),
        (lambda: qd.ad.Tape(fn=None), r"ad.Tape\(\) got .* 'fn'\n  do: it takes loss, clear_gradients"),
        (lambda: qd.root.place(of=3), r"place\(\) got .* 'of'\n  do: it takes \*things, offset"),
        (lambda: qd.types.vector(3, qd.f32, packed=True), r"types.vector\(\) got .* 'packed'"),
        (lambda: qd.Matrix.field(2), r"Matrix.field\(\) missing a required argument: 'm'"),
        (_asked, r"is_active\(\) got an unexpected keyword argument 'level'"),
    ],
)
def test_other_arguments_are_told_what_is_taken(call: Callable[[], object], message: str) -> None:
    """Rules: errors.arguments"""
    with pytest.raises(qd.AdstackTypeError, match=message):
        call()


TAKING_ANY = ("Struct",)
"""What any keyword is a part of."""
MADE_BY_OTHERS = {"DType", "Field", "Graph", "Kernel", "MatrixField", "Ndarray", "SNode", "ScalarField", "StructField"}
"""Classes that programs name, but don't call."""


def functions_of(module: Any) -> list[str]:
    """The functions, and classes that are called, of a module of the language."""
    names = [name for name in module.__all__ if name not in (*TAKING_ANY, *MADE_BY_OTHERS, "Tensor", "stats")]
    members = {name: getattr(module, name) for name in names}
    kinds = (BaseException, enum.Enum)
    return [n for n, f in members.items() if callable(f) and not (isinstance(f, type) and issubclass(f, kinds))]


@pytest.mark.parametrize("module", [qd, qd.math, qd.ad, qd.simt.subgroup], ids=lambda module: module.__name__)
def test_every_function_says_which_arguments_it_takes(module: Any) -> None:
    plain = []
    for name in functions_of(module):
        function = getattr(module, name)
        try:
            function(no_such=1) if not isinstance(function, DType) else None
        except qd.AdstackError:
            continue
        except TypeError as error:
            plain.append(f"{name}: {error}")
    assert plain == []


USED = {
    qd.Vector: "dot cross outer_product norm normalized sum max any cast fill to_list to_numpy transpose",
    qd.Matrix: "trace determinant inverse frobenius_inner norm_sqr min all assign cols rows diag identity zero unit",
    type(qd.root): "dense pointer bitmasked dynamic place parent lazy_grad lazy_dual deactivate_all give_back",
    qd.FieldsBuilder: "dense place finalize",
    qd.ScalarField: "fill to_numpy from_numpy to_torch from_torch copy_from parent",
    qd.MatrixField: "fill to_numpy get_scalar_field",
}


def test_every_method_says_which_arguments_it_takes() -> None:
    values = (qd.Vector([1.0]), qd.Matrix([[1.0]]), qd.root, qd.FieldsBuilder())
    for value in (*values, qd.field(qd.f32, 2), qd.Vector.field(2, qd.f32, 2)):
        for name in USED[type(value)].split():
            with pytest.raises(
                qd.AdstackTypeError, match=rf"{name}\(\) (got an unexpected keyword argument 'no_such'|miss)"
            ):
                getattr(value, name)(no_such=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: qd.sin(1.0, foo=2), "sin() got an unexpected keyword argument 'foo'\n  do: it takes x"),
        (lambda: qd.select(True, 1), "select() missing a required argument: 'x2'\n  do: it takes cond, x1, x2"),
        (lambda: qd.min(1, foo=2), "min() got an unexpected keyword argument 'foo'\n  do: it takes *args"),
        (lambda: qd.Matrix([1], foo=1), "Matrix() got an unexpected keyword argument 'foo'\n  do: it takes arr, dt"),
        (lambda: qd.Vector([1], foo=1), "Vector() got an unexpected keyword argument 'foo'\n  do: it takes arr, dt"),
        (lambda: qd.math.vec3(1, foo=1), "types.vector(3, float)() got an unexpected keyword argument 'foo'"),
        (lambda: qd.Vector([1.0]).norm(1, 2), "norm() got too many positional arguments\n  do: it takes eps"),
        (lambda: qd.Matrix.diag(3), "Matrix.diag() missing a required argument: 'val'\n  do: it takes dim, val"),
        (lambda: qd.sync(1), "sync() got too many positional arguments\n  do: call it without arguments"),
        (lambda: qd.types.struct(1), "the members of a struct are a dict by their names, got 1"),
    ],
)
def test_a_call_on_the_host_says_what_is_taken(call: Callable[[], object], message: str) -> None:
    with pytest.raises(qd.AdstackTypeError) as caught:
        call()
    assert message in str(caught.value)
