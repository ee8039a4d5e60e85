"""Measures the math library and writes what it finds: `python -m adstack.tools.accuracy --all`.

A function and format whose result is on file, of the same algorithm and at least as many points, is not measured again:
a run that was stopped goes on where it was.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click

from adstack.ir.types import DType, by_name, f16, f32, f64
from adstack.transforms.math.algorithms import ALGORITHMS

from . import cost, points, results, table
from .measure import judge, measure
from .points import Batches
from .truth import TRUTH

PAIRS = 10**9
DOUBLES = 10**8
HALF_PAIRS = 10**7


def plan(name: str, dtype: DType, scale: float = 1.0) -> tuple[Batches, int, bool, str]:
    """Arguments to test at, how many, whether they are all there are, and the words for it."""
    if ALGORITHMS[name].arity == 1 and dtype is not f64:
        return points.all_numbers(dtype), 1 << dtype.bits, True, f"every {dtype}"
    if ALGORITHMS[name].arity == 1:
        count = int(DOUBLES * scale)
        return points.hard(name, count), count, False, "a quarter or less random bits, the rest in the hard regions"
    count = int({f16: HALF_PAIRS, f32: PAIRS, f64: DOUBLES}[dtype] * scale)
    batches = itertools.chain(points.edge_pairs(dtype), points.pairs(name, dtype, count))
    return batches, count, False, "a grid of edges, random bits, and pairs in the hard regions"


def run(name: str, dtype: DType, scale: float, folder: Path) -> results.Result:
    """Measure, judge, time and save one function in one format."""
    batches, total, exhaustive, tested = plan(name, dtype, scale)
    worst = measure(name, dtype, batches, total)
    _, _, judged = verdict = judge(name, dtype, worst)
    ulp, at = (worst.ulp, worst.at) if worst.ulp > verdict[0] + 1e-3 else verdict[:2]
    float_ops, ops = cost.operations(name, dtype)
    ns, numpy_ns = cost.nanoseconds(name, dtype)
    yardstick = "long double" if dtype is f64 else "f64"
    result = results.Result(
        function=name,
        format=dtype.name,
        max_ulp=round(ulp, 6),
        at=tuple(a.hex() for a in at),
        points=worst.count,
        exhaustive=exhaustive,
        tested=f"{tested}; against {yardstick}, the worst and a sample by mpmath",
        judged=judged,
        float_ops=float_ops,
        ops=ops,
        ns=ns,
        numpy_ns=numpy_ns,
        machine=cost.machine(),
        date=results.today(),
        commit=results.commit(),
        fingerprint=results.fingerprint(name, dtype),
    )
    results.save(result, dtype, folder)
    return result


def missing(
    names: tuple[str, ...], formats: tuple[str, ...], scale: float, folder: Path
) -> Iterator[tuple[str, DType]]:
    """What is not on file yet, or not of this algorithm, or with fewer points."""
    for fmt, name in itertools.product(formats, names):
        dtype = by_name(fmt)
        old = results.load(name, dtype, folder)
        fresh = old is not None and old.fingerprint == results.fingerprint(name, dtype)
        if not (fresh and old is not None and old.points >= plan(name, dtype, scale)[1]):
            yield name, dtype


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(sorted(TRUTH)))
@click.option("--all", "everything", is_flag=True, help="Every function.")
@click.option("--format", "formats", multiple=True, type=click.Choice(["f16", "f32", "f64"]), help="Default: all.")
@click.option("--jobs", default=2, show_default=True, help="Processes at a time.")
@click.option("--scale", default=1.0, show_default=True, help="A part of the points, where they are a sample.")
@click.option("--into", type=click.Path(path_type=Path), default=results.FOLDER, show_default=True, help="The folder.")
@click.option("--again", is_flag=True, help="Measure what is on file as well.")
@click.option("--table", "only_table", is_flag=True, help="Only write the table of the documentation.")
def main(
    names: tuple[str, ...],
    everything: bool,
    formats: tuple[str, ...],
    jobs: int,
    scale: float,
    into: Path,
    again: bool,
    only_table: bool,
) -> None:
    """The largest error of each function of the math library, and what it costs."""
    if not only_table:
        chosen = tuple(TRUTH) if everything or not names else names
        kinds = formats or (f16.name, f32.name, f64.name)
        work = list(missing(chosen, kinds, scale, into))
        if again:
            work = [(name, by_name(fmt)) for fmt, name in itertools.product(kinds, chosen)]
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(run, name, dtype, scale, into) for name, dtype in work]
            for done, future in enumerate(futures, 1):
                r = future.result()
                click.echo(f"[{done}/{len(work)}] {r.function} {r.format}: {r.max_ulp:.4f} ulp at {', '.join(r.at)}")
                _write_table(into)
    _write_table(into)


def _write_table(folder: Path) -> None:
    """Keep the documentation what is on file, also if the run is stopped."""
    if folder == results.FOLDER:
        table.write()


if __name__ == "__main__":
    main()
