"""The form of a conformance case.

A case is a function in `cases/<topic>/<file>.py`. It takes `qd`, the module of the subject under test (adstack,
quadrants or taichi), makes its data and kernels, and returns what to launch and what must come out:

    @case(rules=["arith.floordiv"])
    def floor_division_of_negatives(qd):
        a, out = qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)

        @qd.kernel
        def k():
            for i in a:
                out[i] = a[i] // 3

        return Run(k, given={a: [7, -7, 6, -6]}, expect={out: [2, -3, 2, -2]})

Its id is `arith/floor-division-of-negatives`. Expected values are written by hand or by an exact formula, never taken
from an implementation; they are rounded once, correctly, to the type of what they are compared with. Write a float with
more digits than a Python float holds as a string (decimal, or a fraction "1/3"), and hexadecimal floats as
float.fromhex(...). The case must run wherever only its subject is installed: import nothing but this module, what
it says of gradients (`gradients.py`, `plain.py`), numpy and the standard library.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = [
    "IR",
    "ORACLE",
    "Case",
    "CaseError",
    "Data",
    "Gradient",
    "Oracle",
    "Raises",
    "Run",
    "Total",
    "Variant",
    "case",
]


class CaseError(Exception):
    """The case itself is wrong: it says something that the harness can't make sense of."""


Data: TypeAlias = Any
"""A field or an array of any implementation, what it holds, or a kernel: cases run on implementations without types."""


@dataclass(frozen=True)
class Total:
    """An expected element that is a sum in any order: `{s: Total([0.1, 0.2, 0.3])}`.

    The exact sum of the terms, each rounded to the element's type first, must be met within the forward error bound of
    recursive summation, gamma(n - 1) * sum(|term|) with gamma(k) = k*u / (1 - k*u) and u the type's unit roundoff.
    """

    terms: Sequence[Data]


@dataclass(frozen=True)
class Oracle:
    """In place of what is expected, in a bounded case: what the tape oracle says of the same launches.

    It interprets them and walks their record back, apart from every compiler. Two runs, each within a bound of the
    exact value, are within twice that of each other.
    """


ORACLE = Oracle()


@dataclass(frozen=True)
class IR:
    """A kernel in adstack's intermediate representation: `Run(IR(text, {"out": out}), expect=[(out, [1, 2])])`.

    It is launched like any kernel, with the run's `args` as scalar arguments; what it returns is a tuple.
    A subject that takes no such text is "unavailable" for the case.

    Attributes:
        text: of one kernel or program.
        arrays: a numpy array for each of its field and ndarray places, by the place's name.
    """

    text: str
    arrays: Mapping[str, Data] = field(default_factory=dict)


@dataclass(frozen=True)
class Raises:
    """An error that must come: `Raises("AssertionError", "Accessing field")`.

    `name` is a class name without a project's prefix: "CompilationError" stands for AdstackCompilationError and
    QuadrantsCompilationError; the error's class or one of its bases must be called so. `phrase` must be in the message.
    """

    name: str
    phrase: str = ""


@dataclass(frozen=True)
class Gradient:
    """What is differentiated: `Gradient(seed={out: 1.0}, expect={x: [6.0]})`.

    In reverse mode `seed` fills the gradients of outputs and `expect` is compared with those of inputs; `forward_seed`
    and `forward_expect` are the duals of inputs and outputs in forward mode. With a `loss`, what is called may be any
    function that launches kernels: in reverse mode they are recorded on a tape with that loss, or `by` is called,
    which computes the loss's gradient by itself.

    In the mode "dot-product" the two are held against each other, along random directions x' of the input of
    `forward_seed` and for random adjoints y of the outputs: <y, J x'> = <J^T y, x'> within the error bounds of both.
    """

    seed: Data = ()
    expect: Data = ()
    forward_seed: Data = ()
    forward_expect: Data = ()
    loss: Data = None
    by: Callable[[], Data] | None = None


@dataclass(frozen=True)
class Run:
    """One launch and what must come of it; a case may return a list of them, run in order on the same data.

    Attributes:
        kernel: what to call: a kernel, any function without arguments that uses several, or an `IR`.
        args: its arguments.
        given: what fields and ndarrays hold before: {field: nested list}. The rest holds zeros. One number alone
            fills all elements.
        expect: what they hold after. Numpy arrays are compared too: [(array, values), ...] instead of a dict.
        returns: what the call returns: a number, a nested list for vectors, a tuple for several; None: not compared.
        returns_dtype: the type in which a returned float is compared (needed with `budget`).
        raises: the error that must come, instead of the above.
        prints: what is printed to standard output meanwhile, to the character; None: not compared.
        budget: name of the operation of adstack's table whose budget, in units in the last place from the correctly
            rounded value, floats may differ by. Without it they must be the same to the bit.
        gradient: what is asked in all modes but "forward".
    """

    kernel: Callable[..., Data] | IR
    args: Sequence[Data] = ()
    given: Data = ()
    expect: Data = ()
    returns: Data = None
    returns_dtype: str = "f64"
    raises: Raises | None = None
    prints: str | None = None
    budget: str | None = None
    gradient: Gradient | None = None


@dataclass(frozen=True)
class Variant:
    """One way to run a case: the values of its parameters. `suffix` tells it apart in the id (":f32", ":f64,3")."""

    params: tuple[tuple[str, Data], ...] = ()
    dtypes: tuple[tuple[str, str], ...] = ()

    @property
    def suffix(self) -> str:
        """What the id of the variant has behind that of its case, like `:f32,17`; empty without parameters."""
        values = [str(value).replace(" ", "-") for _, value in (*self.dtypes, *self.params)]
        return ":" + ",".join(values) if values else ""

    def arguments(self, qd: Data) -> dict[str, Data]:
        """The keyword arguments for the case's function; dtype names become the subject's own types."""
        return {**dict(self.params), **{name: getattr(qd, dtype) for name, dtype in self.dtypes}}


@dataclass(frozen=True)
class Case:
    """A case function with what `@case` says of it.

    Attributes:
        function: takes the subject's module, and the parameters by name.
        rules: permanent names of the rules it is evidence for.
        modes: "forward", and "reverse", "forward-mode", "dot-product" for cases whose runs have a `gradient`; the last
            for bounded ones.
        options: for the subject's `init`; default_fp and default_ip by name, "dtype" being the variant's own type.
        bounded: whether floats are compared within the error bound of this very run (running error analysis) with what
            is expected, not rounded; otherwise they must be the same to the bit.
        timeout: seconds after which a cell counts as hung, if other than the run's.
        variants: at least one.
    """

    function: Callable[..., Data]
    rules: tuple[str, ...]
    modes: tuple[str, ...] = ("forward",)
    options: Mapping[str, Data] = field(default_factory=dict)
    timeout: float | None = None
    variants: tuple[Variant, ...] = (Variant(),)
    bounded: bool = False

    @property
    def slug(self) -> str:
        """The last part of the id: the function's name with dashes."""
        return self.function.__name__.strip("_").replace("_", "-")

    @property
    def title(self) -> str:
        """The function's docstring in one line, or its name in words."""
        doc = " ".join((self.function.__doc__ or "").split())
        return doc or self.slug.replace("-", " ")

    def __call__(self, *args: object, **kwargs: object) -> Data:
        return self.function(*args, **kwargs)


MODES = ("forward", "reverse", "forward-mode", "dot-product")


def case(
    rules: Sequence[str],
    *,
    modes: Sequence[str] = ("forward",),
    dtypes: Sequence[str] = (),
    params: Mapping[str, Sequence[object]] | None = None,
    options: Mapping[str, object] | None = None,
    timeout: float | None = None,
    bounded: bool = False,
) -> Callable[[Callable[..., Data]], Case]:
    """Make a function a case. See `Case`, and the module for an example.

    `dtypes=["f32", "f64"]` makes one variant per type and passes it as `dtype` (the subject's own: `qd.f32`);
    `params={"n": [1, 2]}` makes one per value, passed as `n`; both together make every combination.
    """
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown or not rules:
        raise CaseError(f"unknown modes {unknown}; known: {MODES}" if unknown else "a case names at least one rule")

    def decorate(function: Callable[..., object]) -> Case:
        variants = tuple(_variants(dtypes, params or {}))
        return Case(function, tuple(rules), tuple(modes), dict(options or {}), timeout, variants, bounded)

    return decorate


def _variants(dtypes: Sequence[str], params: Mapping[str, Sequence[object]]) -> Iterator[Variant]:
    types: list[tuple[tuple[str, str], ...]] = [(("dtype", name),) for name in dtypes] or [()]
    values = [[(name, value) for value in choices] for name, choices in params.items()]
    for chosen, combination in itertools.product(types, itertools.product(*values)):
        yield Variant(tuple(combination), tuple(chosen))
