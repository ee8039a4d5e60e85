"""What a case may ask for, and what it gets when that does not come."""

from __future__ import annotations

import pytest
from suites import run_suite

from adstack.conformance.harness.cells import Status


def outcome(folder, body: str, decoration: str = ""):
    indented = "\n".join("    " + line for line in body.splitlines())
    text = f'@case(rules=["t.x"]{decoration})\ndef asked(qd):\n{indented}\n'
    (result,) = run_suite(folder, {"a/b.py": text}).values()
    return result


PASSING = {
    "returned integers": "return Run(lambda: 3, returns=3)",
    "returned tuples": "return Run(lambda: (3, 0.5), returns=(3, 0.5))",
    "returned vectors": "return Run(lambda: [1.0, 2.0], returns=[1, 2])",
    "floats returned in their own type": "return Run(lambda: float(np.float32(0.1)), returns=0.1, returns_dtype='f32')",
    "prints": "return Run(lambda: print('a', 1), prints='a 1\\n')",
    "prints of code below Python": "return Run(lambda: os.write(1, b'deep') and None, prints='deep')",
    "numpy arrays": "a = np.zeros(2)\nreturn Run(lambda: None, given=[(a, [1, 2])], expect=[(a, [1, 2])])",
    "one number for all": "x = qd.field(qd.i32, (2, 2))\nreturn Run(lambda: None, given={x: 7}, expect={x: 7})",
    "a named error": "return Run(lambda: [][1], raises=Raises('IndexError', 'out of range'))",
    "a base class of the error": "return Run(lambda: [][1], raises=Raises('LookupError'))",
    "minus zero": "x = qd.field(qd.f32, 1)\nreturn Run(lambda: None, given={x: '-0'}, expect={x: -0.0})",
    "NaN": "x = qd.field(qd.f32, 1)\nreturn Run(lambda: None, given={x: 'nan'}, expect={x: float('nan')})",
    "sums within their bound": "x = qd.field(qd.f32, ())\nv = sum(np.full(99, 0.1, np.float32))\n"
    "return Run(lambda: x.from_numpy(v), expect={x: Total([0.1] * 99)})",
    "a distance within the budget": "x = qd.field(qd.f32, ())\nv = np.nextafter(np.float32(0.1), np.float32(1))\n"
    "return Run(lambda: x.from_numpy(v), expect={x: 0.1}, budget='sin')",
}


@pytest.mark.parametrize("name", PASSING)
def test_a_case_may_ask_for(name, tmp_path):
    result = outcome(tmp_path, PASSING[name])
    assert result.status is Status.PASS, result.message


FAILING = {
    "a wrong return": ("return Run(lambda: 4, returns=3)", "got 4, expected 3"),
    "one value of a tuple": ("return Run(lambda: (3, 1.0), returns=(3, 0.5))", "returns[1]: got 1.0"),
    "too few values": ("return Run(lambda: (3,), returns=(3, 0.5))", "got 1 values, expected 2"),
    "other prints": ("return Run(lambda: print('a  1'), prints='a 1\\n')", "got 'a  1\\n', expected 'a 1\\n'"),
    "no error": ("return Run(lambda: 1, raises=Raises('IndexError'))", "nothing was raised; expected IndexError"),
    "another error": ("return Run(lambda: {}[1], raises=Raises('IndexError'))", "raised KeyError: 1"),
    "other words": ("return Run(lambda: [][1], raises=Raises('IndexError', 'too far'))", "with 'too far'"),
    "the wrong zero": ("x = qd.field(qd.f32, 1)\nreturn Run(lambda: None, expect={x: '-0'})", "got 0.0"),
    "a number for NaN": ("x = qd.field(qd.f32, 1)\nreturn Run(lambda: None, expect={x: 'nan'})", "expected nan"),
    "the next float": (
        (
            "x = qd.field(qd.f32, ())\nv = np.nextafter(np.float32(0.1), np.float32(1))\n"
            "return Run(lambda: x.from_numpy(v), expect={x: 0.1})"
        ),
        "1 ulp apart",
    ),
    "a distance past the budget": (
        (
            "x = qd.field(qd.f32, ())\nv = np.float32(0.1) + np.float32(2 ** -25)\n"
            "return Run(lambda: x.from_numpy(v), expect={x: 0.1}, budget='sin')"
        ),
        "4 ulp apart",
    ),
    "a sum past its bound": (
        "x = qd.field(qd.f32, ())\nreturn Run(lambda: x.from_numpy(np.float32(9.8)), expect={x: Total([0.1] * 99)})",
        "got 9.8",
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_case_is_told_of(name, tmp_path):
    body, phrase = FAILING[name]
    result = outcome(tmp_path, body)
    assert result.status is Status.WRONG_VALUE
    assert phrase in result.message


BROKEN = {
    "ragged values": ("return Run(lambda: None, expect={qd.field(qd.f32, 2): [[1], 2]})", "ragged"),
    "the wrong shape": ("return Run(lambda: None, given={qd.field(qd.f32, 2): [1, 2, 3]})", "shape (3,)"),
    "an integer out of range": ("return Run(lambda: None, given={qd.field(qd.i32, 1): 2**31})", "out of range"),
    "no run": ("return None", "a case returns a Run"),
    "an unknown budget": ("return Run(lambda: 0.5, returns=0.5, budget='sine')", "no such operation"),
    "what is no number": ("return Run(lambda: None, given={qd.field(qd.i32, 1): 'three'})", "'three' is not a number"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_case_is_at_fault_for(name, tmp_path):
    body, phrase = BROKEN[name]
    result = outcome(tmp_path, body)
    assert result.status is Status.BROKEN
    assert phrase in result.message


def test_several_runs_share_their_data_and_are_told_apart(tmp_path):
    body = """
x = qd.field(qd.i32, ())
def step():
    x.array += 1
return [Run(step, expect={x: 1}), Run(step, expect={x: 3})]"""
    assert outcome(tmp_path, body).message.startswith("run 2: expect[0]: got 2, expected 3")


def test_options_reach_the_subject_with_types_by_name(tmp_path):
    body = "return Run(lambda: (qd.told['debug'], qd.told['default_fp'] is qd.f64), returns=(True, True))"
    result = outcome(tmp_path, body, ', options={"debug": True, "default_fp": "f64"}')
    assert result.status is Status.PASS, result.message


SQUARES = """
x, y = qd.field(qd.f32, 3), qd.field(qd.f32, 3)
for place in (x, y):
    place.grad, place.dual = qd.field(qd.f32, 3), qd.field(qd.f32, 3)

def k():
    y.array[...] = x.array ** 2
    y.dual.array[...] = 2 * x.array * x.dual.array

def back():
    x.grad.array[...] += 2 * x.array * y.grad.array
    assert y.array[0] == 1, "the forward launch comes first"

k.grad = back
asked = Gradient(seed={y: 1}, expect={x: GRADIENT}, forward_seed={x: [1, 0, 2]}, forward_expect={y: DUAL})
return Run(k, given={x: [1, 2, 3]}, expect={y: [1, 4, 9]}, gradient=asked)
"""


@pytest.mark.parametrize("mode", ["forward", "reverse", "forward-mode"])
def test_gradients_are_compared_in_their_modes(mode, tmp_path):
    body = SQUARES.replace("GRADIENT", "[2, 4, 6]").replace("DUAL", "[2, 0, 12]")
    result = outcome(tmp_path, body, f", modes=[{mode!r}]")
    assert result.status is Status.PASS, result.message


@pytest.mark.parametrize(("mode", "part"), [("reverse", "gradient[0]: [2]"), ("forward-mode", "dual[0]: [2]")])
def test_a_wrong_gradient_is_not_a_wrong_value(mode, part, tmp_path):
    body = SQUARES.replace("GRADIENT", "[2, 4, 5]").replace("DUAL", "[2, 0, 11]")
    result = outcome(tmp_path, body, f", modes=[{mode!r}]")
    assert result.status is Status.WRONG_GRADIENT
    assert part in result.message


DOT = """
import sys, types
enclosure = types.SimpleNamespace(value=np.zeros(3), bound=np.full(3, BOUND))
bounds = types.SimpleNamespace(enclosures=lambda run, of, places, loss: [enclosure] * len(places))
sys.modules["plainlanguage.inspection"] = bounds
x, y = qd.field(qd.f32, 3), qd.field(qd.f32, 3)
for place in (x, y):
    place.grad, place.dual = qd.field(qd.f32, 3), qd.field(qd.f32, 3)

def k():
    y.array[...] = x.array * 1.1
    y.dual.array[...] = np.float32(FORWARD) * x.dual.array

def back():
    x.grad.array[...] += np.float32(REVERSE) * y.grad.array

k.grad = back
asked = Gradient(forward_seed={x: 1}, forward_expect={y: 1.1})
return Run(k, given={x: [1, 2, 3]}, gradient=asked)
"""


@pytest.mark.parametrize(("factors", "status"), [((1.1, 1.1), Status.PASS), ((1.1, 1.2), Status.WRONG_GRADIENT)])
def test_reverse_and_forward_mode_are_held_against_each_other(factors, status, tmp_path):
    body = DOT.replace("FORWARD", str(factors[0])).replace("REVERSE", str(factors[1])).replace("BOUND", "2e-6")
    result = outcome(tmp_path, body, ", modes=['dot-product'], bounded=True")
    assert result.status is status, result.message
    assert ("<y, J x'> is" in result.message) == (status is Status.WRONG_GRADIENT)


@pytest.mark.parametrize(("bounded", "phrase"), [(True, "says nothing"), (False, "has to be bounded")])
def test_a_dot_product_that_says_nothing_is_the_fault_of_the_case(bounded, phrase, tmp_path):
    body = DOT.replace("FORWARD", "1.1").replace("REVERSE", "1.1").replace("BOUND", "100.0")
    result = outcome(tmp_path, body, f", modes=['dot-product'], bounded={bounded}")
    assert result.status is Status.BROKEN
    assert phrase in result.message


def test_the_class_and_the_measured_distance_are_recorded(tmp_path):
    exact, near = (outcome(tmp_path, PASSING[name]) for name in ("minus zero", "a distance within the budget"))
    assert (exact.exactness, exact.ulp) == ("exact", 0.0)
    assert (near.exactness, near.ulp) == ("ulp(2)", 1.0)
    summed = outcome(tmp_path, PASSING["sums within their bound"])
    assert summed.exactness == "bound"
    assert summed.ulp is not None
    assert summed.ulp > 0


def test_a_subject_without_ir_is_unavailable_for_a_case_that_is_written_in_it(tmp_path):
    result = outcome(tmp_path, "return Run(IR('kernel @k() {}'))")
    assert result.status is Status.UNAVAILABLE
    assert result.message == "plainlanguage takes no IR"
    assert not result.is_failure
