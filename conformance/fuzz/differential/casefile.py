"""A random program as a file: of one case, which every subject runs, and as a script that a peer runs by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from .expressions import EXTENT
from .grammar import INPUTS, OUTPUTS, Program

__all__ = ["HELD", "SEEDS", "case_text", "script_text"]

HELD: Final[Mapping[str, list[float] | list[int]]] = {
    "x": [0.625, -1.125, 0.375, 1.25],
    "c": [-0.875, 0.5, 1.375, -0.25],
    "w": [0.75, -0.5, 1.125, -1.375],
    "idx": [2, 0, 1, 2],
    "n": [2, 0, 3, 1],
}
"""What places hold before the first launch."""
SEEDS: Final = {"y": [1.0, -0.5, 2.0, 0.75], "z": [0.5, 1.5, -1.0, 0.25], "s": [-1.5, 1.0, 0.5, 2.0], "total": 0.5}
"""The adjoints of what is written."""
_SNAPSHOT: Final = '"ad_snapshot": True, '
_HEAD: Final = '''\
"""{title}"""

from adstack.conformance.case import ORACLE, Gradient, Run, case
'''
_CASE: Final = """

@case(
    rules=["grad.meaning"],
    modes=[{modes}],
    dtypes=["{dtype}"],
    options={{{options}"default_fp": "dtype"}},
    bounded=True,
)
"""
_FUNCTION: Final = '''\
def {name}(qd, dtype):
    """{title}"""
{fields}

{functions}

{launched}    given = {given}
    gradient = {gradient}
    return Run({kernel}, given=given, expect={expect}, gradient=gradient)
'''
_BATCH: Final = '''\
def {name}(qd, dtype):
    """{title}"""
    return [{parts}]
'''
_GRADIENT: Final = """Gradient(
        seed={seed},
        expect={expect},
        forward_seed={forward_seed},
        forward_expect={forward_expect},{by}
    )"""
_SCRIPT: Final = '''\
"""{title}

The gradient beside central differences of what the same kernels compute, in {dtype}.
"""

import {module} as qd

qd.init(arch=qd.{arch}, default_fp=qd.{dtype}{options})
dtype = qd.{dtype}
{fields}


{functions}


INPUTS = {inputs}
INTEGERS = {integers}
SEEDS = {seeds}


def fill(place, values):
    for at, value in enumerate(values if isinstance(values, list) else [values]):
        place[at if isinstance(values, list) else None] = value


def forward():
    for place in SEEDS:
        fill(place, [0.0] * {extent} if isinstance(SEEDS[place], list) else 0.0)
    for place, values in [*INPUTS.items(), *INTEGERS.items()]:
        fill(place, values)
{calls}


def weighted():
    forward()
    pairs = [(place[at], seed) for place, seeds in SEEDS.items() if isinstance(seeds, list)
             for at, seed in enumerate(seeds)]
    pairs += [(place[None], seed) for place, seed in SEEDS.items() if not isinstance(seed, list)]
    return sum(value * seed for value, seed in pairs)


forward()
for place, seeds in SEEDS.items():
    fill(place.grad, seeds)
{backward}
gradients = [[place.grad[at] for at in range({extent})] for place in INPUTS]
for (place, values), gradient in zip(INPUTS.items(), gradients):
    differences = []
    for at in range({extent}):
        value, sides = values[at], []
        for step in (1e-5, -1e-5):
            values[at] = value + step
            sides.append(weighted())
        values[at] = value
        differences.append((sides[0] - sides[1]) / 2e-5)
    print("gradient   ", *(f"{{one:12.6f}}" for one in gradient))
    print("differences", *(f"{{one:12.6f}}" for one in differences))
'''


def case_text(programs: Sequence[Program], name: str, title: str, dtype: str, modes: Sequence[str]) -> str:
    """A file with a case of this name: of one program, or of several, each a run."""
    snapshot = any(program.names("w") for program in programs)
    head = _CASE.format(modes=", ".join(f'"{m}"' for m in modes), dtype=dtype, options=_SNAPSHOT if snapshot else "")
    start = _HEAD.format(title=title)
    if len(programs) == 1:
        return start + head + _function(programs[0], name, title)
    names = [f"_run_{number}" for number in range(len(programs))]
    several = [_function(program, each, title) for program, each in zip(programs, names, strict=True)]
    parts = ", ".join(f"{each}(qd, dtype)" for each in names)
    return "\n\n".join([start, *several]) + head + _BATCH.format(name=name, title=title, parts=parts)


def _function(program: Program, name: str, title: str) -> str:
    """A function that makes the places and kernels of a program, and returns its run."""
    inputs = [place for place in INPUTS if program.names(place)]
    single = program.launches == ("k()",)
    wanted = _dict(dict.fromkeys(program.outputs, "ORACLE"))
    return _FUNCTION.format(
        name=name,
        title=title,
        fields=_indented(_fields(program, dual=True)),
        functions=_indented("\n".join(program.functions)),
        launched="" if single else _indented(_launched(program)) + "\n\n",
        kernel="k" if single else "launches",
        given=_dict({place: str(HELD[place]) for place in HELD if program.names(place)}),
        expect=wanted,
        gradient=_GRADIENT.format(
            seed=_dict(_seeds(program)),
            expect=_dict(dict.fromkeys(inputs, "ORACLE")),
            forward_seed=_dict({inputs[0]: str(SEEDS["z"])}),
            forward_expect=wanted,
            by="" if single else "\n        by=gradients,",
        ),
    )


def script_text(program: Program, title: str, module: str, arch: str, options: Mapping[str, object], dtype: str) -> str:
    """A script for a peer alone, which prints its gradients and its differences."""
    inputs = [place for place in INPUTS if program.names(place)]
    integers = [place for place in ("idx", "n") if program.names(place)]
    return _SCRIPT.format(
        title=title,
        module=module,
        arch=arch,
        dtype=dtype,
        options="".join(f", {name}={value!r}" for name, value in options.items()),
        fields=_fields(program),
        functions="\n".join(program.functions),
        inputs=_dict({place: str(HELD[place]) for place in inputs}),
        integers=_dict({place: str(HELD[place]) for place in integers}),
        seeds=_dict(_seeds(program)),
        extent=EXTENT,
        calls="\n".join(f"    {launch}" for launch in program.launches),
        backward="\n".join(_backward(program)),
    )


def _seeds(program: Program) -> dict[str, str]:
    return {place: str(SEEDS.get(place, HELD["c"])) for place in program.outputs}


def _fields(program: Program, *, dual: bool = False) -> str:
    """Makes the places that the kernels access."""
    both = "needs_grad=True" + ", needs_dual=True" * dual
    shapes = {place: "()" if place == "total" else EXTENT for place in (*INPUTS, *OUTPUTS) if program.names(place)}
    lines = [f"{place} = qd.field(dtype, shape={shape}, {both})" for place, shape in shapes.items()]
    lines += [f"{place} = qd.field(qd.i32, shape={EXTENT})" for place in ("idx", "n") if program.names(place)]
    return "\n".join(lines)


def _launched(program: Program) -> str:
    """Two functions: one launches everything, the other also propagates adjoints back through that."""
    forward, backward = ["def launches():", *_under(program.launches)], _backward(program)
    return "\n".join([*forward, "", "def gradients():", *_under(["launches()", *backward])])


def _backward(program: Program) -> list[str]:
    return [launch.replace("(", ".grad(") for launch in reversed(program.launches)]


def _under(lines: tuple[str, ...] | list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _indented(text: str) -> str:
    return "\n".join("    " + line if line else "" for line in text.splitlines())


def _dict(items: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in items.items()) + "}"
