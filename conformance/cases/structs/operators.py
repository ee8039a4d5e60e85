"""Operators that a struct's type declares as functions."""

from adstack.conformance.case import Gradient, Raises, Run, case


def _complex(qd):
    @qd.dataclass
    class Complex:  # noqa: PLW1641 - a type of structs, which have no hash in a kernel
        re: qd.f32
        im: qd.f32

        @qd.func
        def __mul__(self, other):
            return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

        @qd.func
        def __rmul__(self, factor):
            return Complex(factor * self.re, factor * self.im)

        @qd.func
        def __add__(self, other):
            return Complex(self.re + other.re, self.im + other.im)

        @qd.func
        def __neg__(self):
            return Complex(-self.re, -self.im)

        @qd.func
        def __eq__(self, other):
            return self.re == other.re and self.im == other.im

        @qd.func
        def __lt__(self, other):
            return self.re < other.re

    return Complex


@case(rules=["struct.operators"])
def operators_of_structs_are_functions_of_their_type(qd):
    number = _complex(qd)
    z, out = number.field(shape=4), qd.field(qd.f32, shape=(4, 2))

    @qd.kernel
    def k():
        for _ in range(1):
            a = number(1, 2)
            z[0] = a * a + a
            z[1] = 2.0 * a
            z[2] = -z[1]
            b = a
            b += a
            b *= a
            z[3] = b
        for i in z:
            out[i, 0], out[i, 1] = z[i].re, z[i].im

    return Run(k, expect={out: [[-2, 6], [2, 4], [-2, -4], [-6, 8]]})


@case(rules=["struct.operators"])
def comparisons_of_structs_are_functions_of_their_type(qd):
    number = _complex(qd)
    out = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for _ in range(1):
            a, b = number(1, 2), number(3, 2)
            out[0], out[1] = a == b, a == number(1, 2)
            out[2], out[3] = a != b, a != number(1, 2)
            out[4], out[5] = a < b, a > b

    return Run(k, expect={out: [0, 1, 1, 0, 1, 0]})


@case(rules=["struct.operators"])
def a_comparison_that_no_type_declares_is_an_error(qd):
    pair = qd.types.struct(a=qd.f32)

    @qd.kernel
    def k() -> qd.i32:
        return pair(1) == pair(1)

    return Run(k, raises=Raises("TypeError", "does not say what == does"))


@case(rules=["struct.operators"])
def a_struct_in_memory_is_not_updated_as_a_whole(qd):
    number = _complex(qd)
    z = number.field(shape=4)

    @qd.kernel
    def k():
        for i in z:
            z[0] += z[i]

    return Run(k, raises=Raises("TypeError", "can't be updated as a whole"))


@case(rules=["struct.operators"])
def operators_of_structs_have_gradients(qd):
    number = _complex(qd)
    z, out = number.field(shape=2, needs_grad=True), qd.field(qd.f32, shape=2, needs_grad=True)

    @qd.kernel
    def k():
        for i in z:
            w = z[i] * z[i]
            w += z[i]
            out[i] = w.re

    re, im = [1.0, 2.0], [0.5, -1.0]
    return Run(
        k,
        given={z.re: re, z.im: im},
        gradient=Gradient(seed={out: 1.0}, expect={z.re: [2 * a + 1 for a in re], z.im: [-2 * b for b in im]}),
    )
