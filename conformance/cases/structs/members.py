"""Structs in kernels and in memory: members, nesting, copies."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["struct.members"], modes=("forward", "reverse"))
def a_kernel_changes_its_own_copy_of_a_struct_that_it_is_passed(qd):
    inner = qd.types.struct(v=qd.types.vector(2, qd.f32))
    outer = qd.types.struct(n=qd.i32, scale=qd.f32, at=inner)
    x, y = (qd.field(qd.f32, shape=3, needs_grad=True) for _ in range(2))
    passed = outer(n=2, scale=3.0, at=inner(v=[1.0, 2.0]))

    @qd.kernel
    def k(s: outer):
        s.scale += 1.0
        s.at.v[1] = s.scale * s.at.v[1]
        for _ in range(2):
            s.n += 1
        for i in x:
            y[i] = x[i] * s.at.v[1] + s.n

    def twice():
        k(passed)
        k(passed)
        assert (passed.n, passed.scale, passed.at.v[1]) == (2, 3.0, 2.0)

    k_grad = k.grad

    def both():
        twice()
        k_grad(passed)

    given = {x: [1, 2, 3], x.grad: 0, y.grad: 1}
    return Run(both, given=given, expect={y: [12, 20, 28], x.grad: 8})


@case(rules=["struct.members"])
def structs_nest_and_hold_vectors(qd):
    point = qd.types.struct(at=qd.types.vector(2, qd.f32), mass=qd.f32)
    pair = qd.types.struct(a=point, b=point, tag=qd.i32)
    pairs, out = pair.field(shape=2), qd.field(qd.f32, shape=(2, 3))

    @qd.kernel
    def k():
        for i in pairs:
            pairs[i].a.at = [i, i + 1]
            pairs[i].b.at[1] = 0.5
            pairs[i].b.mass = pairs[i].a.at.sum()
            pairs[i].tag += 7
        for i in pairs:
            out[i, 0] = pairs[i].a.at[1]
            out[i, 1] = pairs[i].b.at[1] + pairs[i].b.mass
            out[i, 2] = pairs[i].tag

    return Run(k, expect={out: [[1, 1.5, 7], [2, 3.5, 7]]})


@case(rules=["struct.members"])
def a_whole_struct_is_stored_and_loaded(qd):
    item = qd.types.struct(key=qd.i32, value=qd.f32)
    x, y = item.field(shape=3), item.field(shape=3)
    keys, values = qd.field(qd.i32, shape=3), qd.field(qd.f32, shape=3)

    @qd.kernel
    def k():
        for i in x:
            x[i] = item(key=i, value=i * 0.25)
        for i in y:
            y[i] = x[2 - i]
        for i in y:
            keys[i] = y[i].key
            values[i] = y[i].value

    return Run(k, expect={keys: [2, 1, 0], values: [0.5, 0.25, 0]})


@case(rules=["struct.members"])
def a_copy_of_a_struct_is_apart_with_its_vectors(qd):
    body = qd.types.struct(at=qd.types.vector(2, qd.i32), n=qd.i32)
    out = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for _ in range(1):
            a = body(at=[1, 2], n=3)
            b = a
            b.at[0] = 10
            b.n += 20
            out[0], out[1], out[2] = a.at[0], a.at[1], a.n
            out[3], out[4], out[5] = b.at[0], b.at[1], b.n

    return Run(k, expect={out: [1, 2, 3, 10, 2, 23]})


@case(rules=["struct.members", "types.local"])
def members_convert_what_is_assigned(qd):
    item = qd.types.struct(whole=qd.i32, byte=qd.u8)
    out = qd.field(qd.i32, shape=2)

    @qd.kernel
    def k():
        for _ in range(1):
            x = item(whole=1, byte=1)
            x.whole = 2.75
            x.byte = x.whole + 298
            out[0], out[1] = x.whole, x.byte

    return Run(k, expect={out: [2, 44]})


@case(rules=["struct.members"])
def a_struct_is_changed_by_a_function_it_is_a_template_of(qd):
    item = qd.types.struct(n=qd.i32)
    out = qd.field(qd.i32, shape=2)

    @qd.func
    def by_reference(s: qd.template()):
        s.n += 1

    @qd.kernel
    def k():
        for _ in range(1):
            a = item(n=5)
            by_reference(a)
            out[0] = a.n
            by_reference(a)
            out[1] = a.n

    return Run(k, expect={out: [6, 7]})


@case(rules=["struct.members", "memory.atomic"])
def members_are_updated_atomically(qd):
    item = qd.types.struct(count=qd.i32, total=qd.i64)
    x = item.field(shape=2)

    @qd.kernel
    def k():
        for i in range(1000):
            x[i % 2].count += 1
            x[i % 2].total += i

    def numbers():
        k()
        return x[0].count, x[1].count, x[0].total, x[1].total

    return Run(numbers, returns=(500, 500, 249500, 250000))


@case(rules=["struct.members"])
def a_struct_field_is_given_by_its_members(qd):
    x = qd.Struct.field({"a": qd.i32, "b": qd.types.vector(2, qd.f32)}, shape=(2, 2))

    @qd.kernel
    def k() -> qd.f32:
        total = 0.0
        for i, j in x:
            x[i, j].a = 10 * i + j
            x[i, j].b = [i, j]
        for i, j in x:
            total += x[i, j].a + x[i, j].b.sum()
        return total

    return Run(k, returns=0 + 1 + 10 + 11 + 4)


@case(rules=["struct.members"])
def the_host_reads_and_writes_members(qd):
    item = qd.types.struct(key=qd.i32, at=qd.types.vector(2, qd.f32))
    x = item.field(shape=2)

    def use():
        x[1] = item(key=5, at=[0.5, 1.5])
        x[0].key = 7
        x.at[0] = [1, 2]
        return x[1].key, x[1].at[1], x[0].key, x[0].at[1], x.key[1]

    return Run(use, returns=(5, 1.5, 7, 2, 5))


@case(rules=["struct.members"], params={"how": ["read", "write", "make"]})
def a_member_that_is_not_there_is_an_error(qd, how):
    item, out = qd.types.struct(n=qd.i32), qd.field(qd.i32, shape=())

    @qd.kernel
    def read():
        x = item(n=1)
        out[None] = x.m

    @qd.kernel
    def write():
        x = item(n=1)
        x.m = 2
        out[None] = x.n

    @qd.kernel
    def make():
        x = item(m=1)
        out[None] = x.n

    return Run({"read": read, "write": write, "make": make}[how], raises=Raises("CompilationError"))
