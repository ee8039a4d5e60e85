"""Funcs: what the host may call, and what a kernel inlines."""

import pytest

import adstack as qd


@qd.pyfunc
def square(a):
    return a * a


class Scale:
    by = 3

    @qd.pyfunc
    def scaled(self, a):
        return self.by * a

    @staticmethod
    @qd.pyfunc
    def halved(a):
        return a // 2


def test_the_host_calls_a_pyfunc_as_plain_python():
    assert (square(3), Scale().scaled(4), Scale.halved(7)) == (9, 12, 3)


def test_a_kernel_inlines_the_same():
    qd.init(arch=qd.reference)
    scale = Scale()

    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return square(a) + scale.scaled(a) + scale.halved(a)

    assert k(5) == 25 + 15 + 2


def test_a_func_is_for_kernels_only():
    @qd.func
    def inside(a):
        return a

    with pytest.raises(qd.AdstackSyntaxError, match="inside is a func"):
        inside(1)


@pytest.mark.parametrize("decorator", [qd.func, qd.pyfunc])
def test_the_decorator_of_a_static_method_goes_above(decorator):
    with pytest.raises(qd.AdstackSyntaxError, match="goes below @staticmethod"):
        decorator(staticmethod(lambda a: a))
