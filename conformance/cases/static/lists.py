"""Lists that a kernel makes, and to whose elements it stores."""

from adstack.conformance.case import Gradient, Raises, Run, case


@case(rules=["control.list"])
def elements_of_a_list_are_variables(qd):
    out = qd.field(qd.f32, shape=6)

    @qd.kernel
    def k(n: qd.i32):
        a = [0.0] * 3
        whole = [1, 2, 3]
        for i in qd.static(range(3)):
            a[i] = i * 2.0
        for i in range(n):
            if i % 2 == 0:
                a[1] += 1.0
                whole[2] -= i
        whole[1] = 5
        for i in qd.static(range(3)):
            out[i] = a[i]
            out[3 + i] = whole[i]

    return Run(k, args=(5,), expect={out: [0, 5, 4, 1, 5, -3]})


@case(rules=["control.list", "vector.index"])
def vectors_in_a_list_are_variables(qd):
    out = qd.Vector.field(2, qd.f32, shape=2)

    @qd.kernel
    def k(a: qd.f32):
        w = [qd.Vector([0.0, 0.0]), qd.Vector([1.0, 1.0])]
        w[0] = qd.Vector([3.0, 4.0])
        w[0][1] += a
        w[1] += 2
        if a > 0.5:
            w[1].x = 9
        for i in qd.static(range(2)):
            out[i] = w[i]

    return Run(k, args=(1.0,), expect={out: [[3, 5], [9, 3]]})


@case(rules=["control.list"])
def lists_in_a_list(qd):
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        m = [[0.0] * 2 for _ in range(2)]
        m[0][1] = a
        m[1][0] += m[0][1] * 2
        for row in qd.static(m):
            row[1] += 1.0
        return m[0][0] + 10 * m[0][1] + 100 * m[1][0] + 1000 * m[1][1]

    return Run(k, args=(3.0,), returns=1640.0)


@case(rules=["control.list"])
def a_static_loop_reads_elements_when_their_turn_comes(qd):
    @qd.kernel
    def k() -> qd.f32:
        a = [1.0, 2.0]
        w = [qd.Vector([1.0, 2.0]), qd.Vector([3.0, 4.0])]
        s = 0.0
        for i, v in qd.static(enumerate(a)):
            a[1] = 7.0
            s += v * (i + 1)
        for v in qd.static(w):
            v[0] += 10.0
        return s + w[0][0] + w[1][0]

    return Run(k, returns=15.0 + 11.0 + 13.0)


@case(rules=["control.list", "control.func"])
def funcs_fill_lists(qd):
    @qd.func
    def filled(n):
        made = [0.0, 0.0]
        made[0] = n
        if n > 2.0:
            made[1] = n * 2
        return made

    @qd.func
    def fill(to: qd.template(), n):
        to[0] = n

    @qd.func
    def by_value(given):
        given[0] = 100.0
        return given[0] + given[1]

    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        first = filled(a)
        first[1] += 1.0
        second = [0.0, 1.0]
        fill(second, a)
        return first[0] + 10 * first[1] + 100 * second[0] + 0.25 * by_value([*second])

    return Run(k, args=(3.0,), returns=3.0 + 70 + 300 + 25.25)


@case(rules=["control.list", "control.return"])
def a_func_returns_its_list_early(qd):
    @qd.func
    def chosen(n):
        made = [0.0, 0.0]
        if n > 2.0:
            made[0] = n
            return made
        made[1] = 1.0
        return made

    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        first, second = chosen(a), chosen(1.0)
        return first[0] + 10 * first[1] + 100 * second[0] + 1000 * second[1]

    return Run(k, args=(5.0,), returns=1005.0)


@case(rules=["control.list"])
def whole_lists_are_read_as_they_are_now(qd):
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        w = [1.0, 2.0]
        w[0] = a
        other = [0.0]
        joined, twice, v, doubled = w + other, w * 2, qd.Vector(w), [e * 2 for e in w]
        first, second = w
        w[0] = 100.0
        return joined[0] + twice[2] + v[0] + doubled[0] + first + second + sum(w) + len(w)

    return Run(k, args=(5.0,), returns=5 + 5 + 5 + 10 + 5 + 2 + 102 + 2)


@case(rules=["control.list", "memory.atomic"])
def atomics_update_elements_of_a_list(qd):
    @qd.kernel
    def k() -> qd.f32:
        w = [0.0, 1.0]
        old = qd.atomic_add(w[0], 3.0)
        qd.atomic_max(w[1], 5.0)
        return w[0] + 10 * w[1] + old

    return Run(k, returns=53.0)


@case(rules=["control.list"])
def an_element_keeps_its_type(qd):
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        numbers = [1, 0.5]
        numbers[0] = qd.cast(a, qd.i32)
        numbers[1] = 2
        return numbers[0] / 2 + numbers[1]

    return Run(k, args=(7.9,), returns=5.5)


@case(rules=["control.list", "grad.local"], modes=("forward", "reverse", "forward-mode"))
def elements_that_are_carried_are_differentiated(qd):
    x, y = (qd.field(qd.f32, shape=2, needs_grad=True, needs_dual=True) for _ in range(2))

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            w = [x[i], 1.0]
            for j in range(n):
                w[1] *= w[0]
                if j == 0:
                    w[0] += 1.0
            y[i] = w[1]  # x (x + 1)^2

    gradient = Gradient(
        seed={y: 1.0},
        expect={x: [9 + 12, 16 + 24]},
        forward_seed={x: 1.0},
        forward_expect={y: [9 + 12, 16 + 24]},
    )
    return Run(k, args=(3,), given={x: [2, 3]}, expect={y: [18, 48]}, gradient=gradient)


@case(rules=["control.list"])
def iterations_in_parallel_share_a_list_of_the_kernel(qd):
    x = qd.field(qd.i32, shape=100)

    @qd.kernel
    def k() -> qd.i32:
        sums = [0, 0]
        for i in x:
            if x[i] > 50:
                sums[0] += 1
            else:
                sums[1] += x[i]
        return sums[0] * 10000 + sums[1]

    return Run(k, given={x: range(100)}, returns=490000 + 1275)


def second_names(qd):
    """Kernels in which a list has a second name."""

    @qd.kernel
    def of_a_name() -> qd.i32:
        a = [1, 2]
        b = a
        b[0] = 3
        return a[0]

    @qd.kernel
    def of_what_is_stored_to() -> qd.i32:
        a = [1, 2]
        b = a
        a[0] = 3
        return b[0]

    @qd.kernel
    def of_a_row() -> qd.i32:
        m = [[1, 2], [3, 4]]
        row = m[0]
        row[0] = 5
        return m[0][0]

    @qd.kernel
    def in_another_list() -> qd.i32:
        a = [1, 2]
        m = [a, [3, 4]]
        m[0][0] = 5
        return a[0]

    @qd.kernel
    def in_two_places() -> qd.i32:
        m = [[1, 2]] * 2
        m[0][0] = 5
        return m[1][0]

    kernels = (of_a_name, of_what_is_stored_to, of_a_row, in_another_list, in_two_places)
    return {kernel.__name__: kernel for kernel in kernels}


NAMES = ("of_a_name", "of_what_is_stored_to", "of_a_row", "in_another_list", "in_two_places")


@case(rules=["control.list"], params={"where": list(NAMES)})
def a_second_name_of_a_list_that_changes_is_refused(qd, where):
    phrase = "one list in two places" if where == "in_two_places" else "second name of a list"
    return Run(second_names(qd)[where], raises=Raises("CompilationError", phrase))


def lists_of_a_caller(qd):
    """Kernels whose func stores to a list that they have, too, or that is outside of them."""
    outside = [1, 2]

    @qd.func
    def first(numbers):
        numbers[0] = 100
        return numbers[0]

    @qd.func
    def first_of_first(rows):
        rows[0][0] = 100
        return rows[0][0]

    @qd.kernel
    def of_a_name() -> qd.i32:
        a = [1, 2]
        return first(a) + a[0]

    @qd.kernel
    def of_a_row() -> qd.i32:
        a = [[1, 2], [3, 4]]
        return first(a[1]) + a[1][0]

    @qd.kernel
    def of_a_list_in_another() -> qd.i32:
        a = [1, 2]
        return first_of_first([a]) + a[0]

    @qd.kernel
    def of_a_constant() -> qd.i32:
        return first(outside) + outside[0]

    return {kernel.__name__: kernel for kernel in (of_a_name, of_a_row, of_a_list_in_another, of_a_constant)}


CALLERS = ("of_a_name", "of_a_row", "of_a_list_in_another", "of_a_constant")


@case(rules=["control.list", "control.func"], params={"where": list(CALLERS)})
def a_func_that_stores_to_its_caller_s_list_says_which_it_means(qd, where):
    return Run(lists_of_a_caller(qd)[where], raises=Raises("CompilationError", "list that its caller has a name for"))


@case(rules=["control.list"])
def a_list_from_outside_is_a_constant(qd):
    outside = [1, 2]

    @qd.kernel
    def k() -> qd.i32:
        outside[0] = 3
        return outside[0]

    return Run(k, raises=Raises("CompilationError", "can't be assigned to"))


@case(rules=["control.list"])
def a_copy_of_a_list_from_outside_is_the_kernel_s_own(qd):
    outside = [1, 2]

    @qd.kernel
    def k() -> qd.i32:
        own = [*outside]
        own[0] = 30
        return own[0] + own[1] + outside[0]

    return Run(k, returns=33)


@case(rules=["control.list"])
def a_list_has_constant_indices(qd):
    @qd.kernel
    def k(n: qd.i32) -> qd.f32:
        a = [0.0, 1.0]
        a[n] = 2.0
        return a[n]

    return Run(k, args=(1,), raises=Raises("CompilationError", "Vector"))
