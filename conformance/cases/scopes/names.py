"""Names: where they are known, what type they have, which may not be assigned."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["control.scope"], params={"block": ["for", "while"]})
def a_name_ends_with_its_loop(qd, block):
    out = qd.field(qd.i32, shape=())

    @qd.kernel
    def in_for(n: qd.i32):
        for _ in range(n):
            inner = 1
        out[None] = inner

    @qd.kernel
    def in_while(n: qd.i32):
        while out[None] < n:
            inner = 1
            out[None] += inner
        out[None] = inner

    return Run({"for": in_for, "while": in_while}[block], args=(1,), raises=Raises("CompilationError", "inner"))


@case(rules=["control.scope"])
def a_name_of_an_else_branch_ends_with_it(qd):
    out = qd.field(qd.i32, shape=())

    @qd.kernel
    def k(n: qd.i32):
        if n > 0:
            out[None] = n
        else:
            inner = 1
            out[None] = inner
        out[None] = inner

    return Run(k, args=(1,), raises=Raises("CompilationError", "inner"))


@case(rules=["control.scope"], params={"block": ["for", "if"]})
def static_blocks_are_scopes_too(qd, block):
    out = qd.field(qd.i32, shape=())

    @qd.kernel
    def in_for():
        for _ in qd.static(range(2)):
            inner = 1
        out[None] = inner

    @qd.kernel
    def in_if():
        if qd.static(True):
            inner = 1
        out[None] = inner

    return Run({"for": in_for, "if": in_if}[block], raises=Raises("CompilationError", "inner"))


@case(rules=["control.scope"])
def an_outer_name_is_assigned_inside(qd):
    out = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in out:
            v = 1
            if i > 0:
                v = 10
                if i > 1:
                    v += i
            for _ in range(i):
                v += 100
            out[i] = v

    return Run(k, expect={out: [1, 110, 212, 313]})


@case(rules=["control.scope"])
def sibling_blocks_may_use_one_name_for_different_types(qd):
    a, b = qd.field(qd.i32, shape=4), qd.field(qd.f32, shape=4)

    @qd.kernel
    def k():
        for i in a:
            if i % 2 == 0:
                v = i + 1
                a[i] = v
            else:
                v = i + 0.5
                b[i] = v

    return Run(k, expect={a: [1, 0, 3, 0], b: [0, 1.5, 0, 3.5]})


@case(rules=["control.scope"])
def a_name_starts_afresh_in_every_iteration(qd):
    out = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in out:
            total = 0
            for j in range(3):
                total += i
            out[i] = total

    return Run(k, expect={out: [0, 3, 6, 9]})


@case(rules=["control.scope"])
def a_loop_variable_with_the_name_of_a_local_is_an_error(qd):
    out = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for _ in range(1):
            i = 5
            for i in range(4):
                out[i] = 1

    return Run(k, raises=Raises("CompilationError"))


@case(rules=["control.scope"])
def a_loop_variable_may_be_assigned(qd):
    out = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in range(4):
            i = i + 1
            out[i - 1] = i

    return Run(k, expect={out: [1, 2, 3, 4]})


@case(rules=["control.scope"])
def loops_one_after_the_other_may_share_a_variable(qd):
    out = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in range(3):
            out[i] = i
        for i in range(2):
            out[i] += 10
        for i in out:
            out[i] *= 2

    return Run(k, expect={out: [20, 22, 4]})


@case(rules=["types.local"])
def the_first_assignment_fixes_the_type(qd):
    out = qd.field(qd.f64, shape=4)

    @qd.kernel
    def k(x: qd.f64):
        for _ in range(1):
            whole = 1
            whole = x
            single = qd.cast(1, qd.f32)
            single = x
            wide = qd.cast(1, qd.f64)
            wide = x
            small = qd.cast(1, qd.u8)
            small = 300 + qd.cast(x, qd.i32)
            out[0] = whole
            out[1] = single
            out[2] = wide
            out[3] = small

    return Run(k, args=(2.1,), expect={out: [2, 8808038 / 2**22, 2.1, 302 % 256]})


@case(rules=["types.local"])
def tuples_swap(qd):
    out = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            a, b, c = 1, 2, 3
            a, b, c = c, a, b
            out[0], out[1], out[2] = a, b, c

    return Run(k, expect={out: [3, 1, 2]})


@case(rules=["types.local"])
def one_value_is_assigned_to_several_names(qd):
    out = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for _ in range(1):
            a = b = out[2] = 5
            a += 1
            out[0] = a
            out[1] = b

    return Run(k, expect={out: [6, 5, 5]})


@case(rules=["types.local"])
def an_assignment_inside_an_expression(qd):
    out = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in out:
            if (square := i * i) > 5:
                out[i] = square
            else:
                out[i] = -square

    return Run(k, expect={out: [0, -1, -4, 9, 16]})


@case(rules=["types.local"])
def an_annotation_gives_a_local_its_type(qd):
    out = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(1):
            v: qd.i8 = 100
            v += 100
            out[None] = v

    return Run(k, expect={out: -56})


@case(rules=["control.scope"])
def an_underscore_that_nobody_reads_takes_any_value(qd):
    @qd.func
    def parts(a):
        return a, a + 1, qd.Vector([a, 2 * a])

    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        total = 0
        _, second, _ = parts(a)
        for _ in range(2):
            first, _, vector = parts(second)
            _, _, _ = parts(0.5)
            total += first + vector[1]
        return total

    return Run(k, args=(3,), returns=24)


@case(rules=["control.scope"])
def an_underscore_that_is_read_is_a_local_like_others(qd):
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        _ = a
        _ = qd.Vector([a, a])
        return _

    return Run(k, args=(3.0,), raises=Raises("CompilationError", "can't become a 2-vector"))
