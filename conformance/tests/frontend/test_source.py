"""Where the frontend finds a function's source, and the positions that it reports."""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import inspect
import linecache
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

import adstack as qd
from adstack.errors import AdstackSyntaxError
from adstack.frontend.syntax import source
from adstack.frontend.syntax.source import source_of
from adstack.values.written import written


def _decorator(*_: Any, **__: Any) -> Callable[[Any], Any]:
    return lambda function: function


@_decorator(
    1,
    two=2,
)
def _decorated(
    a: int,
) -> int:
    text = """
lines of a string may stand
    anywhere"""
    return a + len(text)


class _Holder:
    def method(self) -> str:
        return "é" + "ü"


def _return_of(function: Any) -> tuple[Any, ast.Return]:
    source = source_of(function)
    node = next(n for n in ast.walk(source.node) if isinstance(n, ast.Return))
    return source, node


def test_positions_are_those_of_the_file() -> None:
    lines = Path(__file__).read_text().splitlines()
    for function, text in ((_decorated, "return a + len(text)"), (_Holder.method, 'return "é" + "ü"')):
        source, node = _return_of(function)
        loc = source.loc(node)
        line = lines[loc.line - 1]
        assert line[loc.col - 1 : loc.end_col - 1] == text
        assert loc.file == __file__
        assert loc.end_line == loc.line


def test_columns_count_characters_after_multibyte_ones() -> None:
    source, node = _return_of(_Holder.method)
    assert isinstance(node.value, ast.BinOp)
    loc = source.loc(node.value.right)
    assert Path(__file__).read_text().splitlines()[loc.line - 1][loc.col - 1 : loc.end_col - 1] == '"ü"'


def test_a_nested_function_keeps_its_strings() -> None:
    def inner() -> str:
        return """a
b"""

    source, node = _return_of(inner)
    assert isinstance(node.value, ast.Constant)
    assert node.value.value == "a\nb"
    assert source.loc(node).end_line == source.loc(node).line + 1


def test_sources_in_the_line_cache_are_read() -> None:
    text = "def f(a):\n    return a\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(keepends=True), "<cell 1>")
    names: dict[str, Any] = {}
    exec(compile(text, "<cell 1>", "exec"), names)
    assert source_of(names["f"]).loc(source_of(names["f"]).node).file == "<cell 1>"
    assert source_of(names["f"]) is source_of(names["f"])


def test_code_without_source_is_refused_with_the_reason() -> None:
    names: dict[str, Any] = {}
    exec(compile("def f(a):\n    return a\n", "<nowhere>", "exec"), names)
    with pytest.raises(AdstackSyntaxError, match="the source of f can't be read") as caught:
        source_of(names["f"])
    assert "put the function in a file" in str(caught.value)


async def _asynchronous() -> None:
    pass


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: 1, "a lambda can't be a kernel"),
        (len, "is no Python function"),
        (functools.partial(_decorated, 1), "is no Python function"),
        (_asynchronous, "is an async function"),
    ],
)
def test_what_is_no_plain_function_is_refused(function: Any, message: str) -> None:
    with pytest.raises(AdstackSyntaxError, match=message):
        source_of(function)


def test_a_source_that_changed_on_disk_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "changing.py"
    file.write_text("def f(a):\n    return a\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    file.write_text("x = 1\n")
    linecache.checkcache(str(file))
    with pytest.raises(AdstackSyntaxError, match=r"can't be|no plain function"):
        source_of(names["f"])


_MODULE = """import adstack as qd

@qd.{decorator}
def a(x: qd.i32) -> qd.i32:
    return x + 1

@qd.{decorator}
def b(x: qd.i32) -> qd.i32:
    return x * 1000
"""


def _imported(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, decorator: str = "kernel") -> Any:
    (folder / f"{name}.py").write_text(_MODULE.format(decorator=decorator))
    monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module(name)


@pytest.mark.parametrize("change", ["edited", "moved", "swapped", "removed"])
def test_what_is_compiled_is_the_text_that_was_decorated(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = _imported(f"text_{change}", tmp_path, monkeypatch)
    file, text = Path(module.__file__), Path(module.__file__).read_text()
    head, a, b = text.split("\n\n")
    texts = {"edited": text.replace("+ 1", "+ 7"), "moved": "# a line\n" + text, "swapped": "\n\n".join((head, b, a))}
    file.write_text(texts.get(change, ""))
    if change == "removed":
        file.unlink()
    qd.init(arch=qd.reference)
    assert (module.a(1), module.b(1)) == (2, 1000)


def test_the_text_of_a_func_is_that_of_its_decoration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = _imported("text_of_funcs", tmp_path, monkeypatch, "func")
    Path(module.__file__).write_text("# gone\n")
    qd.init(arch=qd.reference)

    @qd.kernel
    def k(x: qd.i32) -> qd.i32:
        return module.a(x) + module.b(x)

    assert k(1) == 1002


def test_another_definition_in_the_place_of_the_function_is_refused(tmp_path: Path) -> None:
    file, names = tmp_path / "swapped.py", dict[str, Any]()
    file.write_text("def f(a):\n    return a\n")
    code = compile(file.read_text(), str(file), "exec")
    file.write_text("def g(a):\n    return a\n")
    exec(code, names)
    with pytest.raises(AdstackSyntaxError, match=r"(?s)f is not what stands here: this is g.*import the file again"):
        source_of(names["f"])


def test_equal_code_of_two_texts_has_two_sources_which_go_with_it() -> None:
    sources = []
    for kind in ("i32", "i64"):
        text, names = f"def f(a):\n    b: {kind} = a\n    return b\n", dict[str, Any]()
        linecache.cache["<again>"] = (len(text), None, text.splitlines(keepends=True), "<again>")
        exec(compile(text, "<again>", "exec"), names)
        sources.append((names["f"], source_of(names["f"])))
    assert [ast.unparse(source.node.body[0]) for _, source in sources] == ["b: i32 = a", "b: i64 = a"]
    kept = ref(written(sources[0][0]))
    names.clear()
    sources.clear()
    gc.collect()
    assert kept() is None


def _wraps(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args) + 100

    return wrapper


@pytest.mark.parametrize("decorator", [qd.kernel, qd.func, qd.pyfunc, qd.real_func])
def test_a_decorator_below_that_wraps_the_function_is_refused(decorator: Any) -> None:
    with pytest.raises(AdstackSyntaxError) as caught:

        @decorator
        @_wraps
        def k(a: qd.i32) -> qd.i32:
            return a

    message = str(caught.value)
    assert f"@{decorator.__name__} stands above a decorator that wraps k: the wrapper would be passed over" in message
    assert f"write @{decorator.__name__} below all other decorators, next to the def" in message
    assert message.startswith(f"{__file__}:")
    assert "\n    @decorator\n    ^\n" in message


def test_a_decorator_above_wraps_the_kernel() -> None:
    @_wraps
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return a

    qd.init(arch=qd.reference)
    assert k(1) == 101


_SCRIPT = """
import adstack as qd
qd.init(arch=qd.reference)

@qd.kernel
def k(a: qd.i32) -> qd.i32:
    return a + 1

print(k(1))
"""


def test_a_kernel_in_a_script_runs(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(_SCRIPT)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2\n")


def _told(*arguments: str, text: str | None = None) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, *arguments], input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("option", ["-c", "-Bc"])
def test_a_kernel_given_to_the_interpreter_as_text_runs(option: str) -> None:
    assert _told(option, _SCRIPT) == (0, "2\n", "")


def test_an_error_in_a_kernel_given_as_text_shows_its_line() -> None:
    code, _, stderr = _told("-c", _SCRIPT.replace("a + 1", "a + None"))
    assert code == 1
    assert "<-c>:7:12" in stderr
    assert "    return a + None\n           ^^^^^^^^" in stderr


def test_code_of_another_text_is_not_taken_for_the_program() -> None:
    program = "exec('import adstack as qd\\n@qd.kernel\\ndef k(): pass\\nk()')"
    code, _, stderr = _told("-c", program)
    assert code == 1
    assert "the source of k can't be read" in stderr
    assert "put the function in a file" in stderr


def test_a_kernel_from_a_pipe_says_why_it_can_not_run() -> None:
    code, _, stderr = _told("-", text=_SCRIPT)
    assert (code, "put the function in a file" in stderr) == (1, True)


_CELL = """@qd.kernel
def k(a: qd.i32) -> qd.i32:
    return a + {}
"""


def _run_cell(text: str, names: dict[str, Any]) -> None:
    """As a notebook does it: the text is in the line cache under the name that its code has."""
    name = f"<ipython-input-{abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)


def test_a_kernel_in_a_notebook_runs_and_a_second_cell_replaces_it() -> None:
    names: dict[str, Any] = {"qd": qd}
    qd.init(arch=qd.reference)
    for step in (1, 5):
        _run_cell(_CELL.format(step), names)
        assert names["k"](1) == 1 + step


def test_a_source_found_by_indentation_is_the_one_that_the_tokens_delimit() -> None:
    count = 0
    for function in _functions(ast, functools, linecache, subprocess, inspect, sys.modules[__name__]):
        text = written(function)
        lines = source.by_indentation(text)
        if lines is not None:
            expected, first_expected = inspect.getsourcelines(function)
            assert text.first == first_expected
            assert "".join(lines).rstrip() == "".join(expected).rstrip()
            count += 1
    assert count > 200


def _functions(*modules: Any) -> list[Callable[..., Any]]:
    holders = [*modules, *(v for m in modules for v in vars(m).values() if isinstance(v, type))]
    functions = [v for h in holders for v in vars(h).values() if inspect.isfunction(v) and v.__name__ != "<lambda>"]
    return [f for f in functions if not f.__code__.co_filename.startswith("<") and not hasattr(f, "__wrapped__")]
