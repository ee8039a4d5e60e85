"""The short names of vector types: elements are of the default types of `init`."""

from adstack.conformance.case import Run, case


def unsigned_products(qd):
    """The run of kernels with `uvec2` as argument, return value, function result and constructor."""
    wide = qd.field(qd.u64, shape=6)
    captured = qd.math.uvec2(-1)

    @qd.func
    def twice(v: qd.math.uvec2) -> qd.math.uvec2:
        return 2 * v

    @qd.kernel
    def k(v: qd.math.uvec2) -> qd.math.uvec2:
        largest = qd.math.uvec2(-1)
        for i in qd.static(range(2)):
            wide[i] = largest[i]
            wide[2 + i] = twice(v)[i] * 100
        wide[4] = qd.math.uvec3(1, -2, 3)[1]
        wide[5] = captured[0]
        return largest - v

    return k, wide


@case(rules=["vector.named"], options={"default_ip": "i64"})
def unsigned_vectors_are_as_wide_as_the_default_integer(qd):
    k, wide = unsigned_products(qd)
    given, most = 2**62, 2**64 - 1
    expect = [most, most, given * 200 % 2**64, 600, most - 1, most]
    return Run(k, args=([given, 3],), expect={wide: expect}, returns=[most - given, most - 3])


@case(rules=["vector.named"])
def unsigned_vectors_have_32_bits_by_default(qd):
    k, wide = unsigned_products(qd)
    given, most = 2**30, 2**32 - 1
    return Run(
        k, args=([given, 3],), expect={wide: [most, most, given * 200 % 2**32, 600, most - 1, most]},
        returns=[most - given, most - 3],
    )  # fmt: skip


@case(rules=["vector.named"], options={"default_ip": "i64", "default_fp": "f64"})
def fields_of_named_types_hold_elements_of_the_default_types(qd):
    """The values need more than 32 bits."""
    integers = qd.field(qd.math.ivec2, shape=1)
    unsigned, reals = qd.field(qd.math.uvec2, shape=1), qd.field(qd.math.vec2, shape=1)

    @qd.kernel
    def k():
        integers[0] = integers[0] + 1
        unsigned[0] = unsigned[0] + 1
        reals[0] = reals[0] + 1

    given = {integers: [[-(2**40), 5]], unsigned: [[2**63, 5]], reals: [[2.0**40, 0.5]]}
    return Run(
        k, given=given, expect={integers: [[1 - 2**40, 6]], unsigned: [[2**63 + 1, 6]], reals: [[2.0**40 + 1, 1.5]]}
    )
