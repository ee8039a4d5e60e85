"""What debug mode finds, in words, and over lanes as in one."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cpu_kit import agree_on, compiled, tasks_of
from interpreter_kit import parallel, serial

from adstack import interpreter
from adstack.backends.codegen_llvm.tasks import emit_program
from adstack.errors import AdstackAssertionError, AdstackError, AdstackOutOfBoundsError
from adstack.ir.structure import Program
from adstack.transforms.memory.guard import guard

LANES = (1, 8, 64)


def message(run) -> str:
    with pytest.raises(AdstackError) as caught:
        run()
    return f"{type(caught.value).__name__}: {caught.value}"


def complains(source: str, buffers=None, scalars=(), lanes=LANES) -> str:
    """What the interpreter and the cpu say about a program, word for word, with any number of lanes."""
    program = tasks_of(source, debug=True)

    def given():
        return {name: array.copy() for name, array in (buffers or {}).items()}

    options = interpreter.RunOptions(debug=True)
    wanted = message(lambda: interpreter.run(program, given(), scalars, options=options))
    for each in lanes:
        launch = compiled(program, each, debug=True)
        assert message(lambda launch=launch: launch(given(), scalars)) == wanted
    return wanted


X = "place @x : i32[?] ndarray"
FIELD = 'place @x : i32[2, 3] field label "self.x"'


@pytest.mark.parametrize("bad", [-1, 10, 2**31 - 1])
def test_an_index_outside_an_array(bad):
    body = "%j = load @y[%i] : i32\n%v = load @x[%j] : i32\nstore @y[%i], %v"
    y = np.zeros(100, np.int32)
    y[67] = bad
    said = complains(parallel(body, 100, X + "\nplace @y : i32[?] ndarray"), {"x": np.zeros(10, np.int32), "y": y})
    assert "AdstackOutOfBoundsError" in said
    assert f"ndarray x at ({bad}), outside its extents (10), in iteration (67)" in said


@pytest.mark.parametrize(
    "access", ["%v = load @x[%i, %i] : i32", "store @x[%i, %i], %i", "%v = atomic add @x[%i, %i], %i : i32"]
)
def test_every_access_is_checked(access):
    said = complains(parallel(access, 70, FIELD), {"x": np.zeros((2, 3), np.int32)})
    assert "field self.x at (2, 2), outside its extents (2, 3), in iteration (2)" in said


def test_serial_code_has_no_iteration():
    said = complains(
        serial("%n = const 3 : i32\n%v = load @x[%n, %n] : i32\nstore @x[%v, %v], %v\nreturn", places=FIELD),
        {"x": np.zeros((2, 3), np.int32)},
    )
    assert "iteration" not in said


def test_all_indices_of_an_iteration_are_told():
    text = """kernel @k() {
      place @x : i32[7] field
      %a = const -2 : i64
      %b = const 2 : i64
      %c = const 5 : i64
      parallel_for (%i = %a to %b, %j = %b to %c) {
        %k = mul %i, %j : i64
        %l = add %k, %j : i64
        %m = sub %l, %a : i64
        %n = add %m, %b : i64
        store @x[%n], %z
        yield
      }
      return
    }
    """.replace("%a = const", "%z = const 1 : i32\n%a = const", 1)
    said = complains(text, {"x": np.zeros(7, np.int32)})
    assert "in iteration (0, 3)" in said


def test_an_index_outside_a_local_array():
    body = "%a = array.alloc : array<i32, 3>\n%r = array.load %a, %i : i32\narray.store %a, %r, %i"
    said = complains(parallel(body, 70))
    assert "a local array (a) at (3), outside its extents (3), in iteration (3)" in said


TRAPS = [
    ("floordiv", 0, "integer division by zero"),
    ("mod", 0, "integer division by zero"),
    ("raw_div", 0, "integer division by zero"),
    ("raw_mod", 0, "integer division by zero"),
    ("shl", -1, "shift by a negative amount"),
    ("shl", 32, "shift by a negative amount"),
    ("shr", 32, "shift by a negative amount"),
    ("ipow", -1, "Negative exponent"),
]


@pytest.mark.parametrize(("op", "operand", "what"), TRAPS)
@pytest.mark.parametrize("guarded", [False, True], ids=["plain", "in an if"])
def test_operands_that_are_errors(op, operand, what, guarded):
    y = np.ones(100, np.int32)
    y[[41, 97]] = operand
    use = f"%v = {op} %i, %b : i32\nstore @y[%i], %v"
    if guarded:
        use = f"%c = eq %b, %one : u1\n%other = not %c : u1\nif %other {{\n{use}\nyield\n}} else {{\nyield\n}}"
    body = f"%b = load @y[%i] : i32\n%one = const 1 : i32\n{use}"
    assert f"{what}" in complains(parallel(body, 100, "place @y : i32[?] field"), {"y": y})


@pytest.mark.parametrize("op", ["floordiv", "mod", "shl", "ipow"])
def test_lanes_that_do_not_run_divide_by_nothing(op):
    body = f"""%b = load @y[%i] : i32
    %c = gt %b, %zero : u1
    %r = if %c -> (i32) {{
      %v = {op} %i, %b : i32
      yield %v
    }} else {{
      yield %zero
    }}
    store @y[%i], %r"""
    y = np.array([0, -5, 3, 2] * 20, np.int32)
    agree_on(parallel(body, 80, "place @y : i32[?] field"), [({"y": y}, ())], widths=LANES, debug=True)


def test_an_assert_tells_its_arguments():
    body = """%y = load @y[%i] : f32
    %small = lt %y, %p : u1
    %k = const true : u1
    assert %small, "y[{}] = {} is not below {}: {}", %i, %y, %p, %k"""
    y = np.array([0.5] * 90, np.float32)
    y[71] = 0.1 + 7
    text = parallel(body, 90, "place @y : f32[?] field", "%p: f32")
    said = complains(text, {"y": y}, [2.5])
    assert "y[71] = 7.1 is not below 2.5: True, in iteration (71)" in said
    agree_on(text, [({"y": y}, [8.0])], widths=LANES, debug=True)


def test_an_assert_of_many_arguments_tells_all():
    operands = ", ".join(["%i"] * 30)
    body = f'%f = lt %i, %zero : u1\nassert %f, "{" ".join(["{}"] * 30)}", {operands}'
    assert " ".join(["0"] * 30) in complains(parallel(body, 3))


def test_without_debug_mode_nothing_is_checked():
    body = '%z = const 0 : i32\n%v = floordiv %i, %z : i32\n%f = lt %i, %z : u1\nassert %f, "no"\nstore @y[%i], %v'
    (left,) = agree_on(
        parallel(body, 70, "place @y : i32[?] field"), [({"y": np.ones(70, np.int32)}, ())], widths=LANES
    )
    assert not left[1]["y"].any()


def test_tasks_after_one_that_failed_do_not_run_and_the_next_launch_is_clean():
    text = """kernel @k(%n: i32) {
      place @x : i32[4] field
      %zero = const 0 : i32
      %ten = const 10 : i32
      parallel_for (%i = %zero to %n) {
        store @x[%i], %ten
        yield
      }
      %four = const 4 : i32
      parallel_for (%j = %zero to %four) {
        %old = atomic add @x[%j], %ten : i32
        yield
      }
      return
    }
    """
    launch = compiled(text, 1, debug=True)
    memory = {"x": np.zeros(4, np.int32)}
    for _ in range(2):
        with pytest.raises(AdstackOutOfBoundsError):
            launch(memory, [5])
        assert set(memory["x"]) == {10}
    launch(memory, [2])
    assert memory["x"].tolist() == [20, 20, 20, 20]


def test_the_message_has_the_line_of_the_program():
    import adstack as qd

    qd.init(arch=qd.cpu, debug=True, offline_cache=False)
    x = qd.field(qd.i32, 4)

    @qd.kernel
    def fill(n: qd.i32):
        for i in range(n):
            x[i] = 1  # here

    fill(4)
    with pytest.raises(AdstackOutOfBoundsError) as caught:
        fill(5)
    assert "x[i] = 1  # here" in str(caught.value)
    assert "in iteration (4)" in str(caught.value)
    fill(3)


def test_an_assert_of_a_kernel_is_an_assertion_error():
    import adstack as qd

    qd.init(arch=qd.cpu, debug=True, offline_cache=False)

    @qd.kernel
    def check(n: qd.i32):
        for i in range(n):
            assert i < 3, f"{i} is too much"

    with pytest.raises(AssertionError, match="3 is too much") as caught:
        check(4)
    assert isinstance(caught.value, AdstackAssertionError)


LOOKED_UP = """%j = load @y[%i] : i32
%b = lt %i, %i2 : u1
if %b {
  %v = load @x[%j] : i32
  store @y[%i], %v
  yield
} else {
  yield
}
%w = load @x[%j] : i32
store @z[%i], %w"""


def guarded_tasks() -> Program:
    places = "\n".join([X, "place @y : i32[?] ndarray", "place @z : i32[?] ndarray"])
    program = tasks_of(parallel("%i2 = const 2 : i32\n" + LOOKED_UP, 300, places))
    for task in program.tasks:
        guard(task.body)
    return program


@pytest.mark.parametrize("lanes", [1, 2, 8, 128])
def test_a_launch_without_checks_goes_on_and_tells_of_the_first_access_outside(lanes):
    y = np.zeros(300, np.int32)
    y[[67, 68, 250]] = 11, -4, 10
    memory = {"x": np.full(10, 5, np.int32), "y": y, "z": np.zeros(300, np.int32)}
    launch = compiled(guarded_tasks(), lanes, threads=1)
    assert "ndarray x at (11), outside its extents (10), in iteration (67)" in message(lambda: launch(memory))
    assert np.flatnonzero(memory["z"] != 5).tolist() == [67, 68, 250]
    y[2:] = 0
    launch(memory)


@pytest.mark.parametrize("lanes", [1, 8])
def test_what_a_note_says_of_a_value_is_read_by_shifts_that_llvm_defines(lanes):
    """Those by 64 and more have no result, though a processor may give one."""
    text = emit_program(guarded_tasks(), [lanes]).text
    tables = [
        list(map(int, re.findall(r"i64 (-?\d+)", row))) for row in re.findall(r"constant \[\d+ x i64\] (.*)", text)
    ]
    unused = []
    for _, count, _, *rest in tables:
        for _ in range(count):
            _, values, *rest = rest
            unused += rest[2 : 7 * values : 7]
            rest = rest[7 * values :]
        assert rest == []
    assert {*unused} == {0, 32}


@pytest.mark.parametrize("lanes", [1, 2, 8, 128])
@pytest.mark.parametrize("index", ["i8", "i16", "i32", "i64"])
def test_an_iteration_below_zero_is_told_as_it_is(index, lanes):
    text = parallel("%c = cast %i : i32\nstore @x[%c], %c", 100, X, index=index)
    program = tasks_of(text.replace("%zero = const 0", "%zero = const -28"))
    for task in program.tasks:
        guard(task.body)
    memory = {"x": np.zeros(100, np.int32)}
    launch = compiled(program, lanes, threads=1)
    assert "ndarray x at (-28), outside its extents (100), in iteration (-28)" in message(lambda: launch(memory))
    assert memory["x"].tolist() == list(range(100))


SOME = """%j = load @y[%i] : i32
%r = mod %i, %i2 : i32
%even = eq %r, %i0 : u1
if %even {{
  {access}
  yield
}} else {{
  yield
}}"""


@pytest.mark.parametrize("lanes", [1, 2, 8, 128])
@pytest.mark.parametrize("access", ["store @x[%j], %i2", "%o = atomic add @x[%j], %i2 : i32", "store @x[%i], %i2"])
def test_beside_an_access_outside_lanes_that_do_not_run_touch_nothing(access, lanes):
    """Odd iterations are not in the branch, and their elements are inside."""
    places = "\n".join([X, "place @y : i32[?] ndarray"])
    program = tasks_of(parallel("%i0 = const 0 : i32\n%i2 = const 2 : i32\n" + SOME.format(access=access), 300, places))
    for task in program.tasks:
        guard(task.body)
    y = np.arange(300, dtype=np.int32)
    y[[66, 250]] = 1000, -4
    memory = {"x": np.zeros(290 if "%i]" in access else 300, np.int32), "y": y}
    launch = compiled(program, lanes, threads=1)
    assert "outside its extents" in message(lambda: launch(memory))
    expected = {*range(0, len(memory["x"]), 2)} - ({66, 250} if "%j" in access else set())
    assert {*np.flatnonzero(memory["x"]).tolist()} == expected
    assert {*memory["x"].tolist()} == {0, 2}


SEVERAL = """place @x : i32[?] ndarray
place @y : i32[14, {}] field
place @z : i32[?] ndarray"""
LOOKUPS = 12
MASKED, WHOLE = 40, 192
"""Iterations of which some lanes, or all, run in the last vector."""


def several(count: int = MASKED) -> Program:
    """Twelve loads that memory leads to, one of them of the first one's element; two of them in a branch, one before a
    loop, then two stores.
    """
    load = "%j{0} = load @y[%c{0}, %i] : i32\n%v{0} = load @x[%j{1}] : i32\n%s{2} = add %s{0}, %v{0}"
    lines = [*(f"%c{k} = const {k} : i32" for k in range(LOOKUPS + 2)), "%s0 = const 0 : i32"]
    lines += [load.format(k, k if k != 3 else 0, k + 1) for k in range(5)]
    lines += [
        "%j5 = load @y[%c5, %i] : i32",
        "%two = raw_mod %i, %c2",
        "%b = lt %two, %c1 : u1",
        "%s7 = if %b -> (i32) {",
    ]
    lines += ["%v5 = load @x[%j5] : i32\n%s6 = add %s5, %v5", load.format(6, 6, "x")]
    lines += ["yield %sx", "} else {", "yield %s5", "}"]
    lines += [load.format(7, 7, 8), "%s9 = for %k = %c0 to %c3 carry (%a = %s8) {", "%d = add %a, %c1", "yield %d", "}"]
    lines += [load.format(k, k, k + 1) for k in range(9, LOOKUPS)]
    lines += [f"%j{k} = load @y[%c{k}, %i] : i32\nstore @z[%j{k}], %s12" for k in (LOOKUPS, LOOKUPS + 1)]
    program = tasks_of(parallel("\n".join(lines), count, SEVERAL.format(count)))
    for task in program.tasks:
        guard(task.body)
    return program


def first_outside(y: np.ndarray, lanes: int) -> tuple[int, int] | None:
    """The first index outside and its iteration, in the order of chunks of iterations, accesses, iterations."""
    count = y.shape[1]
    whole = count - count % lanes
    rest = [range(i, i + 1) for i in range(whole, count)]
    for chunk in [*(range(i, i + lanes) for i in range(0, whole, lanes)), *rest]:
        for k in (0, 1, 2, *range(4, 8), *range(9, LOOKUPS + 2)):
            for i in chunk:
                if not 0 <= y[k, i] < (10 if k < LOOKUPS else count) and (k not in (5, 6) or i % 2 == 0):
                    return int(y[k, i]), i
    return None


@pytest.mark.parametrize("lanes", [1, 8, 16])
@pytest.mark.parametrize("count", [MASKED, WHOLE])
@pytest.mark.parametrize("seed", range(12))
def test_of_several_accesses_that_are_looked_at_together_the_first_outside_is_told(lanes, count, seed):
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 10, (LOOKUPS + 2, count)).astype(np.int32)
    for _ in range(draw.integers(0, 6)):
        y[draw.integers(LOOKUPS + 2), draw.integers(count)] = draw.choice([-1, 10, count, 2**31 - 1])
    if seed == 10:  # every lane, of all accesses
        y[:] = count + np.arange(LOOKUPS + 2)[:, None]
    if seed == 11:  # in the branch, lanes before the first one that runs
        y[5, [1, 3, 4]] = 77, 78, 79
    x = np.arange(1, 11, dtype=np.int32)
    memory = {"x": x, "y": y, "z": np.zeros(count, np.int32)}
    used = np.where(np.arange(count) % 2, [[k not in (5, 6)] for k in range(LOOKUPS)], True)
    used[8] = False
    where = np.where(np.arange(LOOKUPS)[:, None] == 3, y[0], y[:LOOKUPS])
    loaded = np.where((where >= 0) & (where < 10) & used, x[where.clip(0, 9)], 0)
    wanted = np.zeros(count, np.int32)
    for i in range(count):
        for j in (y[LOOKUPS, i], y[LOOKUPS + 1, i]):
            if 0 <= j < count:
                wanted[j] = -1
    launch, bad = compiled(several(count), lanes, threads=1), first_outside(y, lanes)
    if bad is None:
        launch(memory)
    else:
        assert f"at ({bad[0]}), outside its extents" in message(lambda: launch(memory))
        assert f"in iteration ({bad[1]})" in message(lambda: launch(memory))
    assert ((memory["z"] != 0) == (wanted != 0)).all()
    sums = loaded.sum(0) + 3
    assert set(memory["z"].tolist()) <= {0, *sums.tolist()}


@pytest.mark.parametrize("lanes", [1, 8, 64])
def test_a_sum_in_one_element_that_may_be_outside(lanes):
    """The element is updated once, after the iterations, if it is there."""
    update = "%v = load @y[%i] : i32\n%o = atomic add @x[%i9], %v : i32"
    program = tasks_of(parallel(f"%i9 = const 9 : i32\n{update}", 300, f"{X}\nplace @y : i32[?] ndarray"))
    for task in program.tasks:
        guard(task.body)
    launch = compiled(program, lanes, threads=1)
    y = np.arange(300, dtype=np.int32)
    there, missing = {"x": np.zeros(10, np.int32), "y": y}, {"x": np.zeros(9, np.int32), "y": y}
    launch(there)
    assert there["x"].tolist() == [0] * 9 + [y.sum()]
    assert "ndarray x at (9), outside its extents (9)" in message(lambda: launch(missing))
    assert not missing["x"].any()


@pytest.mark.parametrize("lanes", [1, 8])
def test_what_is_outside_is_told_when_the_task_ends_and_calls_nothing_before(lanes):
    """Around a call, in however unlikely a branch, all registers would be saved."""
    text = emit_program(guarded_tasks(), [lanes]).text
    loop, _, end = text[text.index("define void") :].partition("\nfinish:")
    assert "call void" not in loop.replace("call void @llvm.", "")
    assert len(re.findall(r"call void %\w+\(ptr %errors, ptr nocapture %outside.first\)", end)) == 1


def blocks_of(text: str, label: str) -> list[str]:
    """The lines of the blocks whose label begins so, each without its label."""
    return [block.partition(":\n")[2] for block in re.findall(rf"^{label}\d*:\n(?:  .*\n)*", text, re.MULTILINE)]


def test_what_many_accesses_would_tell_is_written_as_it_comes():
    """Of those in a branch of `several`, which are few, and of few in a kernel, it is in registers until then."""
    noting = blocks_of(emit_program(several(), [16]).text, "outside")
    assert [block.count("store <16 x i32>") for block in noting[:4]] == [0, 2, 0, 0]
    few = emit_program(guarded_tasks(), [16]).text
    assert any("store <16 x i32>" in block for block in blocks_of(few, "outside"))


def test_an_iteration_is_written_once_for_all_that_is_told_in_it():
    """Where an access of the rest is outside, which runs one by one, nothing but its index is left to be written."""
    noting = blocks_of(emit_program(several(), [16]).text, "outside")
    assert [block.count("store i32") for block in noting[4:]] == [1] * (LOOKUPS + 1)
