"""Large stencil kernels written out from counts: `stencil(qd, floats, integers, flags)`.

Each thread goes through the 27 cells around its own, and changes so many variables at each of them. Of every variable
reverse mode needs what it was before each cell:

    v   an f32, multiplied by another one
    n   an i32 that walks along the links of cells: it says to whose gradient the adjoint goes
    s   an f32 that is only added to, so that nothing but a flag is needed: which branch it chose
"""

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

CELLS = 27

SOURCE = """
def make(qd, shape, options):
    x = qd.field(qd.f32, shape=shape, **options)
    y = qd.field(qd.f32, shape=(), **options)
    link = qd.field(qd.i32, shape={table})
    w = qd.field(qd.f32, shape={table}, **options)

    @qd.kernel
    def stencil():
        for i, j, k in x:
{start}
            for cell in range({cells}):
                near = x[
                    (i + cell % 3) % {shape[0]},
                    (j + cell // 3 % 3) % {shape[1]},
                    (k + cell // 9) % {shape[2]},
                ]
{steps}
            y[None] += {total}

    return stencil, x, y, link, w
"""

TABLE = 64


def source(floats, integers, flags, shape):
    """The text of a module whose `make` gives the kernel and its fields."""
    start = [f"v{n} = x[i, j, k] * {0.5 + n / 4096}" for n in range(floats)]
    start += [f"n{n} = (i + {n}) % {TABLE}" for n in range(integers)]
    start += [f"s{n} = x[i, j, k] - {(n % 16) / 16}" for n in range(flags)]
    steps = []
    for n in range(max(floats, integers, flags)):
        if n < floats:
            steps.append(f"v{n} = v{n} * v{min(n + 1, floats - 1)} * 0.5 + near * {0.25 + n / 4096}")
        if n < integers:
            steps += [f"n{n} = link[n{n}]", f"v{n} += w[n{n}] * near"]
        if n < flags:
            steps += [f"if s{n} > 0.0:", f"    v{n} = v{n} * near", f"s{n} = s{n} + near - 0.5"]
    return SOURCE.format(
        table=TABLE,
        cells=CELLS,
        shape=shape,
        start=_lines(start, 3),
        steps=_lines(steps, 4),
        total=" + ".join(f"v{n}" for n in range(floats)),
    )


def _lines(lines, level):
    return "\n".join("    " * level + line for line in lines)


def stencil(qd, floats, integers, flags, shape, **options):
    """The kernel, filled with values; the source is written to a file, where compilers look for it."""
    path = Path(tempfile.mkdtemp(prefix="stencil"), f"stencil{floats}.py")
    path.write_text(source(floats, integers, flags, shape))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel, x, y, link, w = module.make(qd, shape, options)
    draw = np.random.default_rng(0)
    x.from_numpy(draw.random(shape, dtype=np.float32))
    w.from_numpy(draw.random(TABLE, dtype=np.float32))
    link.from_numpy(draw.permutation(TABLE).astype(np.int32))
    if options.get("needs_grad"):
        y.grad[None] = 1.0
    return kernel, ()
