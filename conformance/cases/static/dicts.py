"""Dicts that a function has made: their entries are variables where it stores to them."""

from adstack.conformance.case import Gradient, Raises, Run, case


@case(rules=["control.list"])
def entries_are_stored_to_and_read(qd):
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        d = {"a": a, "b": 2.0, 7: 3.0}
        d["a"] = a + 1.0
        d[7] *= d["a"]
        d["a"], d["b"] = d["b"], d["a"]
        return d["a"] + 10 * d["b"] + 100 * d[7]

    return Run(k, args=(4.0,), returns=2 + 50 + 1500)


@case(rules=["control.list"])
def entries_change_under_run_time_control_flow(qd):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        count = {"even": 0, "odd": 0}
        for i in range(n):
            if i % 2 == 0:
                count["even"] += i
            else:
                count["odd"] += i
        return 100 * count["even"] + count["odd"]

    return Run(k, args=(6,), returns=609)


@case(rules=["control.list"])
def vectors_lists_and_dicts_in_a_dict_are_stored_to(qd):
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        d = {"v": qd.Vector([a, 1.0]), "l": [a, 2.0], "d": {"x": 3.0}}
        d["v"][1] = 5.0
        d["l"][0] += 1.0
        d["d"]["x"] *= a
        rows = [{"m": a}, {"m": 1.0}]
        rows[1]["m"] = d["v"].sum()
        return rows[1]["m"] + 10 * d["l"][0] + 100 * d["d"]["x"] + 10000 * rows[0]["m"]

    return Run(k, args=(2.0,), returns=7 + 30 + 600 + 20000)


@case(rules=["control.list"])
def a_dict_gets_entries_in_a_static_loop(qd):
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        powers = {}
        for j in qd.static(range(4)):
            powers[j] = a**j
        powers[3] += 1
        total = 0
        for key, value in qd.static(powers.items()):
            total += (key + 1) * value
        return total

    return Run(k, args=(3,), returns=1 + 6 + 27 + 112)


@case(rules=["control.list"])
def a_static_loop_reads_entries_when_their_turn_comes(qd):
    @qd.kernel
    def k() -> qd.f32:
        d = {"a": 1.0, "b": 2.0}
        w = {"v": qd.Vector([1.0, 2.0])}
        s = 0.0
        for _, value in qd.static(d.items()):
            d["b"] = 7.0
            s += value
        for value in qd.static(d.values()):
            s += value
        for key in qd.static(d):
            d[key] += 1.0
        for _, v in qd.static(w.items()):
            v[0] += 10.0
        return s + 100 * d["a"] + 1000 * d["b"] + 10000 * w["v"][0]

    return Run(k, returns=16 + 200 + 8000 + 110000)


@case(rules=["control.list", "control.func"])
def funcs_fill_dicts(qd):
    @qd.func
    def filled(n):
        made = {"n": n, "square": 0.0}
        made["square"] = n * n
        return made

    @qd.func
    def double(to: qd.template(), key: qd.template()):
        to[key] *= 2.0

    @qd.func
    def by_value(one):
        one["n"] = 100.0
        return one["n"] + one["square"]

    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        d = filled(a)
        d["n"] += 1.0
        double(d, "square")
        return d["n"] + 10 * d["square"] + 1000 * by_value({**d}) + by_value({"n": a, "square": a})

    return Run(k, args=(3.0,), returns=4 + 180 + 118000 + 103)


@case(rules=["control.list", "grad.local"], modes=("forward", "reverse", "forward-mode"))
def entries_that_are_carried_are_differentiated(qd):
    x, y = (qd.field(qd.f32, shape=2, needs_grad=True, needs_dual=True) for _ in range(2))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            d = {"base": x[i], "power": 1.0}
            for j in range(n):
                d["power"] *= d["base"]
                if j == 0:
                    d["base"] += 1.0
            y[i] = d["power"]  # x (x + 1)^2

    gradient = Gradient(
        seed={y: 1.0},
        expect={x: [9 + 12, 16 + 24]},
        forward_seed={x: 1.0},
        forward_expect={y: [9 + 12, 16 + 24]},
    )
    return Run(k, args=(3,), given={x: [2, 3]}, expect={y: [18, 48]}, gradient=gradient)


@case(rules=["control.list"])
def a_second_name_of_a_dict_that_changes_is_refused(qd):
    @qd.kernel
    def k() -> qd.i32:
        a = {"n": 1}
        b = a
        b["n"] = 3
        return a["n"]

    return Run(k, raises=Raises("CompilationError", "second name of a dict"))


@case(rules=["control.list"])
def a_dict_from_outside_is_a_constant(qd):
    outside = {"n": 1}

    @qd.kernel
    def k() -> qd.i32:
        outside["n"] = 3
        return outside["n"]

    return Run(k, raises=Raises("CompilationError", "this dict is a constant"))


@case(rules=["control.list", "control.once"])
def a_dict_gets_no_entry_at_times(qd):
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        d = {"a": 1}
        if n > 0:
            d["b"] = 2
        return d["a"]

    return Run(k, args=(1,), raises=Raises("CompilationError", "has no entry 'b'"))
