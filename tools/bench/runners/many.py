"""The text of a kernel that carries many variables round a loop."""

MANY = """
def make(qd, options):
    x, y = qd.field(qd.f32, shape={threads}, **options), qd.field(qd.f32, shape={threads}, **options)
    n = qd.field(qd.i32, shape=())
    n[None] = 3

    @qd.kernel
    def forward():
        for i in x:
{start}
            for _ in range(n[None]):
{steps}
            y[i] = {total}

    return forward, y
"""


def source(count: int, threads: int) -> str:
    """A module whose `make` gives the kernel, of so many variables and threads, and the field of its results."""
    start = "\n".join(f"            v{k} = x[i] + {k}.0" for k in range(count))
    steps = "\n".join(f"                v{k} = qd.sin(v{k}) * 0.9 + v{(k + 1) % count} * 0.1" for k in range(count))
    total = " + ".join(f"v{k}" for k in range(min(count, 64)))
    return MANY.format(threads=threads, start=start, steps=steps, total=total)
