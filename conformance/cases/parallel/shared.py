"""Races in every kind of memory and of loop: whoever touches an element, by whatever name, is seen."""

from adstack.conformance.case import Raises, Run, case

DEBUG = {"debug": True}


@case(rules=["parallel.race"], options=DEBUG)
def the_message_names_both_iterations(qd):
    x = qd.field(qd.f32, shape=8)

    @qd.kernel
    def k():
        for i in range(7):
            x[i] = x[i + 1] * 2.0

    return Run(k, raises=Raises("AdstackRaceError", "at (1): iteration (1) writes it here, iteration (0) reads it at "))


@case(rules=["parallel.race"], options=DEBUG)
def race_of_two_arguments_that_are_one_array(qd):
    a = qd.ndarray(qd.f32, shape=8)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in range(7):
            y[i] = x[i + 1]

    return Run(k, args=(a, a), raises=Raises("AdstackRaceError", "iteration (0) reads it"))


@case(rules=["parallel.race"], options=DEBUG)
def two_arguments_that_are_one_array_and_keep_to_their_elements(qd):
    a = qd.ndarray(qd.f32, shape=8)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in x:
            y[i] = x[i] + 1.0

    return Run(k, args=(a, a), given={a: range(8)}, expect={a: range(1, 9)})


@case(rules=["parallel.race"], options=DEBUG)
def two_arrays_are_not_one(qd):
    a, b = qd.ndarray(qd.f32, shape=8), qd.ndarray(qd.f32, shape=8)

    @qd.kernel
    def k(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in range(7):
            y[i] = x[i + 1]

    return Run(k, args=(a, b), given={a: range(8)}, expect={b: [1, 2, 3, 4, 5, 6, 7, 0]})


@case(rules=["parallel.race"], options=DEBUG, params={"where": ["column", "row"]})
def race_of_a_loop_over_two_axes(qd, where):
    x, y = qd.field(qd.i32, shape=(3, 4)), qd.field(qd.i32, shape=4)
    di, dj = (1, 0) if where == "column" else (0, 1)

    @qd.kernel
    def k():
        for i, j in qd.ndrange((0, 2), (0, 3)):
            y[j] += 1
            x[i, j] = x[i + di, j + dj]

    element = "(1, 0)" if where == "column" else "(0, 1)"
    phrase = f"at {element}: iteration {element} writes it here, iteration (0, 0) reads it"
    return Run(k, raises=Raises("AdstackRaceError", phrase))


@case(rules=["parallel.race"], options=DEBUG)
def race_of_an_iteration_of_a_field_with_one_far_away(qd):
    x, y = qd.field(qd.i32, shape=(50, 40)), qd.field(qd.i32, shape=(50, 40))

    @qd.kernel
    def k():
        for i, j in x:
            y[i, j] = x[i, j]
            if i == 49 and j == 39:
                x[0, 0] = 1

    return Run(k, raises=Raises("AdstackRaceError", "iteration (49, 39) writes it here, iteration (0, 0) reads it"))


@case(rules=["parallel.race"], options=DEBUG)
def race_in_a_later_loop(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            x[i] = i
        for i in range(n):
            x[i] = x[i + 1]
        for i in x:
            x[i] += 1

    return Run(k, args=(5,), raises=Raises("AdstackRaceError", "at (1): iteration (1) writes it here, iteration (0)"))


@case(rules=["parallel.race"], options=DEBUG)
def race_in_loops_inside_the_iteration(qd):
    x, y = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            for j in range(8):
                y[j] = i
            j = 0
            while x[j] < 0:
                j += 1

    return Run(k, raises=Raises("AdstackRaceError", "at (0): iteration "))


@case(rules=["parallel.race"], options=DEBUG)
def race_of_components_of_vectors(qd):
    v = qd.Vector.field(3, qd.f32, shape=4)

    @qd.kernel
    def k():
        for i in range(3):
            v[i][1] = v[i + 1][2]
            v[i][0] = v[i + 1][1]

    return Run(k, raises=Raises("AdstackRaceError", "at (1, 1): iteration "))


@case(rules=["parallel.race"], options=DEBUG)
def one_iteration_alone_has_no_race(qd):
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k(n: qd.i32):
        for i in range(n):
            x[0] = x[i + 1] + 1
            x[1] = x[0]

    return Run(k, args=(1,), expect={x: [1, 1, 0, 0, 0, 0, 0, 0]})
