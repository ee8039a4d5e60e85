"""Lists: `dynamic` levels, which grow by what is appended."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["sparse.lists", "sparse.levels"])
def lists_grow_and_are_looped_over(qd):
    x, total, long = qd.field(qd.i32), qd.field(qd.i32, shape=4), qd.field(qd.i32, shape=4)
    block = qd.root.pointer(qd.i, 2)
    lists = block.dense(qd.i, 2).dynamic(qd.j, 5, chunk_size=2)
    lists.place(x)

    @qd.kernel
    def fill():
        for i in range(4):
            for k in range(i):
                at = x[i].append(10 * i + k)
                total[i] += at
        x[0, 2] = 7
        x[2].deactivate()
        qd.append(lists, [2], 5)

    @qd.kernel
    def look():
        for i in total:
            long[i] = qd.length(lists, i) * 10 + x[i].length()
        for i, j in x:
            total[i] += x[i, j]

    @qd.kernel
    def drop():
        qd.deactivate(block, [1])
        for i in total:
            long[i] = x[i].length()

    rows = [[0, 0, 7, 0, 0], [10, 0, 0, 0, 0], [5, 0, 0, 0, 0], [30, 31, 32, 0, 0]]
    return [
        Run(fill, expect={x: rows, total: [0, 0, 1, 3]}),
        Run(look, expect={long: [33, 11, 11, 33], total: [7, 10, 6, 96]}),
        Run(drop, expect={long: [3, 1, 0, 0], x: [*rows[:2], [0] * 5, [0] * 5]}),
    ]


@case(rules=["sparse.lists"])
def structs_are_appended_to_one_list(qd):
    point = qd.types.struct(p=qd.types.vector(2, qd.f32), n=qd.i32)
    x, out = point.field(), qd.field(qd.f32, shape=3)
    one = qd.root.dynamic(qd.i, 4)
    one.place(x)

    @qd.kernel
    def k():
        for i in range(1):
            qd.append(one, [], point(p=[1.0, 2.0], n=3))
            x.append(point(p=[4.0, 5.0], n=6))
            out[0] = x.length()
        for i in x:
            out[1] += x[i].p[1] + x[i].n
            out[2] += qd.is_active(one, [i + 1])

    return Run(k, expect={out: [2.0, 16.0, 1.0]})


@case(rules=["sparse.lists"])
def a_full_list_stays_as_it_is(qd):
    x = qd.field(qd.i32)
    lists = qd.root.dense(qd.i, 2).dynamic(qd.i, 3)
    lists.place(x)
    long = qd.field(qd.i32, shape=())

    def k():
        @qd.kernel
        def append():
            for i in range(1):
                for n in range(4):
                    qd.append(lists, [0], n + 1)

        append()
        qd.sync()

    @qd.kernel
    def look():
        long[None] = qd.length(lists, [0]) * 10 + qd.length(lists, [1])

    full = Raises("IndexError", "outside its extents (6)")
    return [Run(k, raises=full), Run(look, expect={long: 30, x: [1, 2, 3, 0, 0, 0]})]
