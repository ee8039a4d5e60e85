"""Lists whose elements are variables: what Python's lists can do, and where a second name is refused."""

from __future__ import annotations

import pytest

import adstack as qd
from adstack.errors import AdstackTypeError


@pytest.fixture(autouse=True)
def _reference() -> None:
    qd.init(arch=qd.reference)


def test_methods_of_lists() -> None:
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        w = [a, 2.0]
        w[0] += 1.0
        w.append(3.0)
        w.insert(0, 10.0)
        w.extend([20.0])
        w[4] += 1.0
        last = w.pop()
        w[3] *= 2.0
        return w[0] + 100 * w[1] + 1000 * w[3] + 10000 * last + 1e6 * len(w)

    assert k(5.0) == 10 + 600 + 6000 + 210000 + 4e6


def test_a_list_that_grows_where_control_may_not_come_is_refused() -> None:
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        w = [a, 2]
        w[0] = 1
        if a > 1:
            w.append(3)
        return w[0]

    with pytest.raises(AdstackTypeError, match="a list exists while compiling only"):
        k(2)


def test_a_sum_of_lists_is_a_list_of_its_own() -> None:
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        w = [a]
        w[0] += 1.0
        w += [2.0]
        w[1] *= 4.0
        half = [0.5]
        other = half + w
        other[1] = 7.0
        return w[0] + w[1] + 100 * other[0] + 1000 * other[2]

    assert k(2.0) == 3 + 8 + 50 + 8000


def test_tuples_hold_variables_where_parts_of_them_are_stored_to() -> None:
    pair = qd.types.struct(a=qd.f32, b=qd.i32)

    @qd.func
    def made(n: qd.f32):  # type: ignore[no-untyped-def]
        t = (qd.Vector([n, 1.0]), [n, n], 3.0, pair(n, 2))
        t[0][1] = 5.0
        t[1][0] = 6.0
        t[3].a += 1.0
        if n > 10.0:
            return t
        t[0][0] = 0.0
        return t

    @qd.kernel
    def k(n: qd.f32) -> qd.f32:
        v, w, c, s = made(n)
        w[1] += 1.0
        return v[0] + 10 * v[1] + 100 * w[0] + 1000 * w[1] + c + s.a + s.b

    assert k(2.0) == 0 + 50 + 600 + 3000 + 3 + 3 + 2
    assert k(20.0) == 20 + 50 + 600 + 21000 + 3 + 21 + 2


def test_methods_and_keywords_pass_lists_by_reference() -> None:
    @qd.data_oriented
    class Filler:
        @qd.func
        def fill(self, to: qd.template(), n):  # type: ignore[no-untyped-def, valid-type]
            to[0] = n

        @qd.kernel
        def k(self, a: qd.f32) -> qd.f32:
            first, second = [0.0, 1.0], 2.0
            other = [0.0]
            self.fill(other, a)
            self.fill(to=other, n=other[0] + 1.0)
            return first[1] + second + other[0]

    assert Filler().k(4.0) == 8.0


def _of_an_attribute() -> object:
    @qd.data_oriented
    class Holder:
        def __init__(self) -> None:
            self.held = [1.0, 2.0]

        @qd.kernel
        def k(self) -> qd.f32:
            a = self.held
            a[0] = 2.0
            return a[0]

    return Holder().k


def _of_an_argument() -> object:
    @qd.func
    def same(of: qd.template()):  # type: ignore[no-untyped-def, valid-type]
        of[0] = 3
        return of

    @qd.kernel
    def k() -> qd.i32:
        a = [1, 2]
        b = same(a)
        return b[0]

    return k


def _of_what_is_appended() -> object:
    @qd.kernel
    def k() -> qd.i32:
        a, b = [1, 2], [[3, 4]]
        a = [1, 2]
        b[0][0] = 5
        a[0] = 6
        b.append(a)
        return b[1][0]

    return k


@pytest.mark.parametrize("kernel", [_of_an_attribute, _of_an_argument, _of_what_is_appended])
def test_a_second_name_is_refused(kernel: object) -> None:
    with pytest.raises(AdstackTypeError, match="second name of a list"):
        kernel()()  # type: ignore[operator]


def test_a_list_changes_as_a_whole_where_control_always_comes() -> None:
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        w = [a, 2]
        w[0] = 1
        if a > 1:
            w = [3, 4]
        return w[0]

    with pytest.raises(AdstackTypeError, match=r"'w' is a list and can't change") as caught:
        k(2)
    assert "store to its elements, as in w[0] = ..." in str(caught.value)


def test_methods_of_dicts() -> None:
    @qd.kernel
    def k(a: qd.f32) -> qd.f32:
        d = {"a": a, "b": 2.0}
        d["a"] += 1.0
        d.update(b=4.0, c=5.0)
        d["c"] *= 2.0
        d["q"] = d.setdefault("q", 1.0) + d.setdefault("a", 100.0)
        wide, joined, same = {**d, "x": 0.5}, d | {"b": 0.25}, d.copy()
        last, (key, popped) = d.pop("b"), d.popitem()
        d["a"] = 1000.0
        if qd.static(key != "q" or "b" in d or len(d) != 2):
            d["a"] = 0.0
        kept = wide["a"] + wide["x"] + joined["b"] + same["c"]
        return kept + last + popped + d.get("a") + d.get("none", 10000.0) + sum(d.values())

    kept, last, popped = 6 + 0.5 + 0.25 + 10, 4, 1 + 6
    assert k(5.0) == kept + last + popped + 1000 + 10000 + 1010


def test_lists_and_dicts_of_run_time_values_are_printed_as_python_does(capfd: pytest.CaptureFixture[str]) -> None:
    struct = qd.types.struct(a=qd.f32)

    @qd.kernel
    def k(a: qd.f32):  # type: ignore[no-untyped-def]
        d = {"a": a, 2: [a], "v": qd.Vector([1.0, a])}
        d["a"] = 1.0
        print(d)
        print([[a], {"b": a}], {"s": struct(a)})
        print(str(d), f"{[[a]]}", "{}".format({"a": a}))

    k(2.0)
    qd.sync()
    first = "{'a': 1.0, 2: [2.0], 'v': [1.0, 2.0]}"
    lines = [first, "[[2.0], {'b': 2.0}] {'s': {'a': 2.0}}", first + " [[2.0]] {'a': 2.0}"]
    assert capfd.readouterr().out.splitlines() == lines


def test_a_key_that_is_not_there_is_an_error_of_the_line() -> None:
    @qd.kernel
    def k() -> qd.f32:
        d = {"a": 1.0}
        d["b"] += 1.0
        return d["a"]

    with pytest.raises(qd.AdstackIndexError, match=r"KeyError while compiling: 'b'\n +d\[.b.\] \+= 1.0"):
        k()
