"""Kernels as kernels of Warp: what is translated computes the same, and what is not says why.

In the place of Warp stands `kits/plain_warp.py`.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import plain_warp
from suites import no_budgets, write_suite

from adstack.conformance.harness.cells import Result, Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of, select
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.station import Settings

CASES = """
    @case(rules=["t.right"])
    def whole_numbers(qd):
        a, out, n = qd.field(qd.i32, 4), qd.field(qd.i32, 4), qd.field(qd.i32, ())

        @qd.func
        def sign(x):
            if x < 0:
                return -1
            return 1

        @qd.kernel
        def k(by: qd.i32) -> qd.i32:
            for i in a:
                out[i] = a[i] // by + 100 * (a[i] % by)
                if -3 < a[i] <= 2 and not a[i] == 0:
                    n[None] += sign(a[i])
            total = 0
            while total < 500:
                total += out[0] + out[1] + out[2] + out[3]
            return total

        return Run(k, (3,), given={a: [7, -7, 2, -2]}, expect={out: [102, 197, 200, 99], n: 0}, returns=598)

    @case(rules=["t.right"])
    def loops(qd):
        x, y = qd.field(qd.f32, (2, 3)), qd.field(qd.f32, (2, 3))

        @qd.kernel
        def k():
            for at in qd.grouped(x):
                x[at] = at[0] + 0.5 * at[1]
            for i, j in qd.ndrange((1, 2), 3):
                s, t = x[i, j], 1
                while True:
                    s, t = s * 2, t + 1
                    if t > 3:
                        break
                y[i, j] = s if j > 0 else s / (x[i, j] - 1.0 + t)
            for i in qd.static(range(3)):
                if qd.static(i != 1):
                    y[0, i] = i

        return Run(k, expect={x: [[0, 0.5, 1], [1, 1.5, 2]], y: [[0, 0, 2], [2, 12, 16]]})

    @case(rules=["t.right"])
    def types(qd):
        x, n, old = qd.field(qd.f64, 2), qd.field(qd.i64, ()), qd.field(qd.f32, 3)

        @qd.func
        def either(a):
            if a > 1.0:
                return 0
            return a + 0.25

        @qd.kernel
        def k():
            for i in range(2):
                if i > 0:
                    s = 3
                    n[None] = s
                else:
                    s = 2.5
                    x[0] = s
            x[1] = qd.max(either(0.5), qd.cast(n[None], qd.f32))
            old[0] = qd.atomic_add(old[1], either(2.0) + 1.5)

        return Run(k, given={old: [0, 4, 0]}, expect={x: [2.5, 3], n: 3, old: [4, 5.5, 0]})

    @case(rules=["t.not"], params={"what": ["print", "vector", "local", "tree", "option"]})
    def not_translated(qd, what):
        x = qd.field(qd.f32, 2)

        def prints():
            for i in x:
                print(i)

        def vectors():
            x[0] = qd.Vector([1.0, 2.0])[0]

        def locals_():
            s = 0.5
            for i in x:
                x[i] = s

        if what == "tree":
            qd.root.dense(qd.i, 2)
        if what == "option":
            qd.init(arch=qd.cpu, ad_stack_size=3)
        kernels = {"print": prints, "vector": vectors, "local": locals_}
        return Run(qd.kernel(kernels.get(what, prints)), expect={x: 0})
"""
REASONS = {
    "print": "print is not translated",
    "vector": "no counterpart of Vector",
    "local": "s has no value here",
    "tree": "no counterpart of root",
    "option": "no option ad_stack_size",
}


def results(folder: Path, root: Path, *patterns: str) -> dict[str, Result]:
    """What becomes of cases with the plain Warp, by their ids."""
    shutil.copy(plain_warp.__file__, folder / "warp.py")
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); "
        "from adstack.conformance.harness.worker import main; main(*sys.argv[1:])"
    )
    subject = Subject("warp", "adstack.conformance.subjects.warp_language", "cpu", (sys.executable, "-c", code))
    cells = cells_of(select(collect(root), patterns), [subject])
    return {one.cell.entry.id: one for one in run_cells(cells, Settings(no_budgets, 60.0, root))}


def test_what_is_translated_computes_the_same_and_what_is_not_says_why(tmp_path):
    for name, result in results(tmp_path, write_suite(tmp_path, {"t/cases.py": CASES})).items():
        what = name.partition(":")[2]
        assert result.status is (Status.MISSING if what else Status.PASS), (name, result.message)
        assert REASONS.get(what, "") in result.message
