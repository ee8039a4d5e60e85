"""Prints and asserts."""

from adstack.conformance.case import Raises, Run, case


@case(rules=["control.print"])
def separators_and_ends(qd):
    @qd.kernel
    def k(n: qd.i32):
        print(n, n + 1, n + 2, sep=", ", end=".\n")
        print(n, end="")
        print("|", n, sep="")

    return Run(k, args=(3,), prints="3, 4, 5.\n3|3\n")


@case(rules=["control.print"])
def formatted_strings(qd):
    @qd.kernel
    def k(n: qd.i32):
        print(f"{n} squared is {n * n}")
        print(f"[{n}]", f"<{-n}>")

    return Run(k, args=(12,), prints="12 squared is 144\n[12] <-12>\n")


@case(
    rules=["control.print"],
    params={"spec": ["d", "5d", "<5", "^7", "+", "05d", "x", "#b", ",", ".1f", "e", "%"], "n": [0, 12, -3]},
)
def integers_in_a_format(qd, spec, n):
    @qd.kernel
    def k(n: qd.i32):
        print(f"<{n:{spec}}>")

    return Run(k, args=(n,), prints=f"<{n:{spec}}>\n")


@case(rules=["control.print"], params={"spec": ["f", ".3f", "8.2f", "+.2e", "g", ".1%", "012.4f", "_>9.1f"]})
def floats_in_a_format_are_exact(qd, spec):
    @qd.kernel
    def k(x: qd.f32, y: qd.f64):
        print(f"{x:{spec}} {y:{spec}}")

    single = 13421773 / 2**27  # the f32 beside 0.1
    return Run(k, args=(0.1, -2.675), prints=f"{single:{spec}} {-2.675:{spec}}\n")


@case(rules=["control.print"], params={"spec": ["8", "<12", "^9", "+", "_>8"]})
def a_format_without_digits_places_as_few_as_tell_floats_apart(qd, spec):
    @qd.kernel
    def k(x: qd.f32):
        print(f"|{x:{spec}}|{x:}")

    return Run(k, args=(0.1,), prints=f"|{0.1:{spec}}|0.1\n")


@case(rules=["control.print"])
def every_component_is_in_the_format(qd):
    @qd.kernel
    def k(x: qd.f64, n: qd.i32):
        v = qd.Vector([x, -x])
        print(f"{v:.2f} {qd.Matrix([[n, 1], [2, n]]):02d} {n > 1:d}", f"{{}} {3:>2} {qd.Vector([1, 2]):02d}")

    return Run(k, args=(1.125, 7), prints="[1.12, -1.12] [[07, 01], [02, 07]] 1 {}  3 [01, 02]\n")


@case(rules=["control.print"])
def constants_and_nothing(qd):
    @qd.kernel
    def k():
        print()
        print("text", 5)

    return Run(k, prints="\ntext 5\n")


@case(rules=["control.print"], params={"name": ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]})
def integers_of_every_type_are_printed_in_full(qd, name):
    bits = int(name[1:])
    value = 2**bits - 1 if name[0] == "u" else -(2 ** (bits - 1))

    @qd.kernel
    def k(x: getattr(qd, name)):
        print(x)

    return Run(k, args=(value,), prints=f"{value}\n")


@case(rules=["control.print"], params={"name": ["f16", "f32", "f64"]})
def floats_are_printed_with_as_few_digits_as_tell_them_apart(qd, name):
    values = [0.5, 0.1, -0.0, 1e-7, 2048.0, float("inf"), float("-inf"), float("nan"), 1 / 3]
    shown = ["0.5", "0.1", "-0.0", "1e-07", "2048.0", "inf", "-inf", "nan"]
    third = {"f16": "0.3333", "f32": "0.33333334", "f64": "0.3333333333333333"}[name]

    @qd.kernel
    def k(x: getattr(qd, name)):
        print(x)

    return [Run(k, args=(v,), prints=f"{text}\n") for v, text in zip(values, [*shown, third], strict=True)]


@case(rules=["control.print"])
def vectors_and_matrices_are_printed_as_lists(qd):
    @qd.kernel
    def k(n: qd.i32):
        print(qd.Vector([n, n + 1]), qd.Matrix([[n, 0], [0, n]]))

    return Run(k, args=(3,), prints="[3, 4] [[3, 0], [0, 3]]\n")


@case(rules=["control.print"])
def a_branch_that_is_not_taken_prints_nothing(qd):
    @qd.kernel
    def k(n: qd.i32):
        for i in range(4):
            if i == n:
                print("found", i)

    return Run(k, args=(2,), prints="found 2\n")


@case(rules=["control.print"])
def serial_statements_print_in_order(qd):
    @qd.kernel
    def k():
        for _ in range(1):
            for i in range(3):
                print(i)
            print("end")

    return Run(k, prints="0\n1\n2\nend\n")


@case(rules=["control.assert"])
def outside_debug_mode_an_assert_is_silent(qd):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in x:
            assert i < 1, "too large"
            x[i] = 1

    return Run(k, expect={x: 1})


@case(rules=["control.assert"], options={"debug": True})
def asserts_that_hold_let_the_launch_pass(qd):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in x:
            assert 0 <= i < 3
            x[i] = 1

    return Run(k, expect={x: 1})


@case(rules=["control.assert"], options={"debug": True})
def an_assert_with_values_in_its_message(qd):
    @qd.kernel
    def k(n: qd.i32):
        for i in range(n):
            assert i * i < 10, f"{i} is too large"

    return Run(k, args=(5,), raises=Raises("AssertionError", "4 is too large"))


@case(rules=["control.assert"], options={"debug": True})
def an_assert_with_formatted_values_in_its_message(qd):
    @qd.kernel
    def k(n: qd.i32, x: qd.f32):
        assert x < n, f"{x:.2f} is not below {n:03d}"

    return Run(k, args=(5, 7.5), raises=Raises("AssertionError", "7.50 is not below 005"))


@case(rules=["control.assert", "control.print"], options={"debug": True})
def what_was_printed_before_an_assert_fails_is_seen_once(qd):
    @qd.kernel
    def k(n: qd.i32):
        print("n is", n)
        assert n > 0, "not positive"

    return [
        Run(k, args=(0,), prints="n is 0\n", raises=Raises("AssertionError", "not positive")),
        Run(k, args=(1,), prints="n is 1\n"),
    ]


@case(rules=["control.assert"], options={"debug": True})
def an_assert_after_which_the_kernel_runs_again(qd):
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k(n: qd.i32):
        assert n > 0, "not positive"
        x[None] = n

    return [
        Run(k, args=(1,), expect={x: 1}),
        Run(k, args=(0,), raises=Raises("AssertionError", "not positive")),
        Run(k, args=(2,), expect={x: 2}),
    ]


@case(
    rules=["arith.mod", "arith.floordiv", "arith.raw-division"],
    options={"debug": True},
    params={"op": ["mod", "floordiv", "raw"]},
)
def a_remainder_by_zero_is_an_error_in_debug_mode(qd, op):
    @qd.kernel
    def mod(n: qd.i32) -> qd.i32:
        return 7 % n

    @qd.kernel
    def floordiv(n: qd.i32) -> qd.i32:
        return 7 // n

    @qd.kernel
    def raw(n: qd.i32) -> qd.i32:
        return qd.raw_mod(7, n)

    return Run({"mod": mod, "floordiv": floordiv, "raw": raw}[op], args=(0,), raises=Raises("AssertionError", "zero"))


@case(rules=["arith.shift"], options={"debug": True}, params={"by": [-1, 32, 100]})
def a_shift_out_of_range_is_an_error_in_debug_mode(qd, by):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return 1 >> n

    return [Run(k, args=(31,), returns=0), Run(k, args=(by,), raises=Raises("AssertionError"))]


@case(rules=["arith.int-power"], options={"debug": True})
def a_negative_exponent_is_an_error_in_debug_mode(qd):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return 3**n

    return [Run(k, args=(4,), returns=81), Run(k, args=(-1,), raises=Raises("AssertionError", "Negative exponent"))]


@case(rules=["control.print"])
def text_made_of_str_and_plus(qd):
    @qd.kernel
    def k(n: qd.i32, x: qd.f32):
        print("n=" + str(n) + ", v=" + str(qd.Vector([n, 2 * n])) + ", x=" + str(x) + str(3))

    return Run(k, args=(2, 0.5), prints="n=2, v=[2, 4], x=0.53\n")


@case(rules=["control.print"])
def text_made_by_format(qd):
    @qd.kernel
    def k(n: qd.i32, x: qd.f32):
        print("{} + {:.3f} = {}{{}}".format(n, x, "sum"))
        print("{1}|{0:>4}|{name}".format(n, 7, name=x))  # noqa: UP032

    return Run(k, args=(2, 0.5), prints="2 + 0.500 = sum{}\n7|   2|0.5\n")


@case(rules=["control.assert"], options={"debug": True})
def the_message_of_an_assert_made_of_str_and_plus(qd):
    @qd.kernel
    def k(n: qd.i32):
        assert n < 3, "n is " + str(n)

    return Run(k, args=(7,), raises=Raises("AssertionError", "n is 7"))


@case(rules=["control.print"])
def text_made_by_percent(qd):
    @qd.kernel
    def k(n: qd.i32, x: qd.f64):
        print("n=%d|%-4d|%04d|%+d|%x, %5.1f%%" % (n, n, n, n, n, x))  # noqa: UP031
        print("%(x).2e %(v)s %(name)6s" % {"x": x, "v": qd.Vector([n, -n]), "name": "end"})  # noqa: UP031

    return Run(k, args=(12, 2.25), prints="n=12|12  |0012|+12|c,   2.2%\n2.25e+00 [12, -12]    end\n")


@case(rules=["control.assert"], options={"debug": True})
def the_message_of_an_assert_made_by_percent(qd):
    @qd.kernel
    def k(n: qd.i32):
        assert n < 3, "n is %3d" % n  # noqa: UP031

    return Run(k, args=(7,), raises=Raises("AssertionError", "n is   7"))
