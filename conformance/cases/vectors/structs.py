"""Structs: members by name."""

from adstack.conformance.case import Run, case


@case(rules=["struct.members"])
def members_are_read_and_written_by_name(qd):
    particle = qd.types.struct(mass=qd.f32, hits=qd.i32)
    p, mass, hits = particle.field(shape=3), qd.field(qd.f32, shape=3), qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in p:
            p[i].mass = 0.5 * i
            p[i].hits += i + 1
        for i in p:
            mass[i] = p[i].mass
            hits[i] = p[i].hits

    return Run(k, expect={mass: [0, 0.5, 1], hits: [1, 2, 3]})


@case(rules=["struct.members"])
def assigning_a_struct_copies_it(qd):
    pair = qd.types.struct(a=qd.i32, b=qd.i32)
    out = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for _ in range(1):
            x = pair(a=1, b=2)
            y = x
            y.a = 10
            out[0] = x.a
            out[1] = x.b
            out[2] = y.a
            out[3] = y.b

    return Run(k, expect={out: [1, 2, 10, 2]})
