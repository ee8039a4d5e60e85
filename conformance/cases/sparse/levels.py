"""Sparse levels: what is active, and what a loop over it sees."""

from adstack.conformance.case import Raises, Run, case

KINDS = ["pointer", "bitmasked", "hash"]


@case(rules=["sparse.levels", "sparse.write", "sparse.loop"], params={"kind": KINDS})
def a_loop_is_over_what_was_written(qd, kind):
    x, seen = qd.field(qd.i32), qd.field(qd.i32, shape=8)
    block = getattr(qd.root, kind)(qd.i, 4)
    block.dense(qd.i, 2).place(x)
    blocks = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for n in range(8):
            if n == 5:
                x[n] = 7
            if n == 0:
                qd.atomic_add(x[n], 2)
        for i in x:
            seen[i] = 1 + x[i] + x[6]
        for b in block:
            blocks[b] = 1

    return Run(k, expect={x: [2, 0, 0, 0, 0, 7, 0, 0], seen: [3, 1, 0, 0, 1, 8, 0, 0], blocks: [1, 0, 1, 0]})


@case(rules=["sparse.cells"])
def cells_of_two_levels_are_activated_and_deactivated(qd):
    x, v = qd.field(qd.i32), qd.Vector.field(2, qd.f32)
    block = qd.root.pointer(qd.ij, (2, 2))
    pixel = block.bitmasked(qd.ij, 2)
    pixel.place(x, v, offset=(-1, 0))
    out = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i, j in qd.ndrange((-1, 3), 4):
            x[i, j] = 10 * i + j
            v[i, j] = [1.0, i]
        qd.deactivate(block, [0, 1])
        qd.deactivate(pixel, [3, 0])
        qd.activate(pixel, qd.rescale_index(x, pixel, [0, 3]))
        for i in qd.static(range(2)):
            for j in qd.static(range(2)):
                out[2 * i + j] = qd.is_active(block, [i, j])
        out[4] = qd.is_active(pixel, [0, 2]) + qd.rescale_index(x, block, qd.Vector([3, 2])).sum() - 2
        out[5] = 10 * qd.is_active(pixel, [0, 3]) + qd.is_active(x.parent(), [3, 0])

    rows = [[-10, -9, 0, 0], [0, 1, 0, 0], [10, 11, 12, 13], [0, 21, 22, 23]]
    pairs = [[[1, i] if rows[i + 1][j] or (i, j) == (0, 0) else [0, 0] for j in range(4)] for i in range(-1, 3)]
    return Run(k, expect={x: rows, v: pairs, out: [1, 1, 1, 1, 0, 10]})


@case(rules=["sparse.loop"], params={"serial": [False, True]})
def what_a_loop_activates_is_for_the_next_one(qd, serial):
    """A parallel loop is over what was active when it began; a serial one looks when it comes there."""
    x = qd.field(qd.i32)
    qd.root.bitmasked(qd.i, 500).place(x)

    @qd.kernel
    def k():
        qd.loop_config(serialize=serial)
        for i in x:
            if i < 499:
                x[i + 1] += 1

    before = [5 if i % 16 == 15 else 0 for i in range(500)]
    after = [before[i] + (i > 15 if serial else i > 0 and before[i - 1] > 0) for i in range(500)]
    return Run(k, given={x: before}, expect={x: after})


@case(rules=["sparse.write"], options={"debug": True})
def iterations_in_one_block_do_not_race(qd):
    x = qd.field(qd.f32)
    qd.root.pointer(qd.i, 2).dense(qd.i, 2).place(x)

    @qd.kernel
    def k():
        for i in range(4):
            x[i] = 2.0 * x[i] + 1.0

    return Run(k, given={x: [0, 0, 3.0, 0]}, expect={x: [1.0, 1.0, 7.0, 1.0]})


@case(rules=["sparse.host"])
def the_host_activates_by_writing(qd):
    x = qd.field(qd.f32)
    level = qd.root.pointer(qd.i, 2).bitmasked(qd.i, 3)
    level.place(x)
    count = qd.field(qd.i32, shape=())

    @qd.kernel
    def active():
        for i in x:
            count[None] += 1

    def twice():
        assert x[4] == 0.0
        x[1] = 0.0
        x.fill(3.0)
        active()

    def nothing():
        level.deactivate_all()
        active()

    return [
        Run(active, given={x: [0, 0, 0, 2.0, 0, 5.0]}, expect={count: 2}),
        Run(twice, given={count: 0}, expect={count: 3, x: [0, 3.0, 0, 3.0, 0, 3.0]}),
        Run(nothing, given={count: 0}, expect={count: 0, x: 0.0}),
    ]


@case(rules=["sparse.cells"])
def a_cell_of_a_dense_level_can_not_be_activated(qd):
    x = qd.field(qd.f32)
    level = qd.root.pointer(qd.i, 2).dense(qd.i, 2)
    level.place(x)

    @qd.kernel
    def k():
        qd.activate(level, [1])

    return Run(k, raises=Raises("TypeError", "the cells of a dense level are always there"))


@case(rules=["sparse.cells", "sparse.loop"])
def a_field_is_a_level_below_the_one_where_it_was_placed(qd):
    x, out = qd.field(qd.i32), qd.field(qd.i32, shape=5)
    block = qd.root.pointer(qd.i, 4)
    inner = block.dense(qd.i, 4)
    inner.place(x)

    @qd.kernel
    def fill():
        x[5] = 1

    @qd.kernel
    def count():
        for _ in x.snode:
            out[0] += 1
        for _ in x.snode.parent():
            out[1] += 1
        for _ in x.snode.parent(2):
            out[2] += 1
        out[3] = qd.is_active(x.snode.parent(2), [1]) + 10 * qd.is_active(x.parent(2), [1])

    @qd.kernel
    def clear():
        qd.deactivate(x.snode.parent(2), [1])

    @qd.kernel
    def look():
        out[4] = x[5] + 1

    return [
        Run(fill, expect={}),
        Run(count, expect={out: [4, 4, 1, 11, 0]}),
        Run(clear, expect={}),
        Run(look, expect={out: [4, 4, 1, 11, 1]}),
    ]
