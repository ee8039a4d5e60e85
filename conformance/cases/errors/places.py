"""A compile error shows the file, the line, the source line with a caret, and what to do."""

from adstack.conformance.case import Raises, Run, case

UNKNOWN = {"file": "places.py", "line": "out[i] = x[i] + unknwon", "caret": "^^^^^^^", "remedy": "do: "}
CALLED = {"file": "places.py", "line": "return v + ", "caret": "^", "caller": "called from"}
RUNNING = {"file": "places.py", "line": "x[i + 1] = i"}


def wrong(qd):
    x, out = qd.field(qd.f32, shape=3), qd.field(qd.f32, shape=3)

    @qd.func
    def inner(v):
        return v + qd.Vector([1.0, 2.0]).dot(qd.Vector([1.0, 2.0, 3.0]))

    @qd.kernel
    def unknown():
        for i in out:
            out[i] = x[i] + unknwon  # noqa: F821

    @qd.kernel
    def called():
        for i in out:
            out[i] = inner(x[i])

    return {"unknown": unknown, "called": called}


@case(rules=["errors.location"], params={"part": list(UNKNOWN)})
def an_unknown_name_is_shown_where_it_stands(qd, part):
    return Run(wrong(qd)["unknown"], raises=Raises("CompilationError", UNKNOWN[part]))


@case(rules=["errors.location"], params={"part": list(CALLED)})
def an_error_in_a_function_is_shown_there_and_where_it_is_called(qd, part):
    return Run(wrong(qd)["called"], raises=Raises("CompilationError", CALLED[part]))


@case(rules=["errors.location"])
def the_line_is_counted_in_the_file(qd):
    import inspect

    kernel = wrong(qd)["unknown"]
    source, start = inspect.getsourcelines(wrong)
    line = start + next(n for n, text in enumerate(source) if "unknwon" in text)
    return Run(kernel, raises=Raises("CompilationError", f"places.py:{line}:"))


@case(rules=["errors.location", "memory.bounds"], options={"debug": True}, params={"part": list(RUNNING)})
def an_error_while_running_shows_its_line_too(qd, part):
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in range(3):
            x[i + 1] = i

    return Run(k, raises=Raises("AssertionError", RUNNING[part]))
