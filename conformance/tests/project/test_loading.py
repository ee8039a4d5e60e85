"""What `import adstack` loads, what `init` loads, and that calls wait for nothing more."""

from __future__ import annotations

import subprocess
import sys

import pytest

import adstack

IMPORT = """
import sys
import adstack as qd

def rooms():
    return {name for name in sys.modules if name.startswith("adstack")}
"""

CALLS = """
qd.init(arch=qd.cpu, offline_cache=False)
x, y = (qd.field(qd.f32, shape=4, needs_grad=True) for _ in range(2))

@qd.kernel
def double():
    for i in x:
        y[i] = 2.0 * x[i]

before = rooms()
double()
double.grad()
qd.sync()
"""


def printed(tmp_path, text: str) -> list[str]:
    """What a program prints that runs in a process of its own, by words."""
    program = tmp_path / "program.py"
    program.write_text(text, "utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_an_import_loads_no_compiler_and_nothing_that_few_programs_use(tmp_path):
    loaded = printed(tmp_path, IMPORT + "print(*rooms())")
    assert "adstack.kernels.kernel" in loaded
    late = (
        "ad",
        "autodiff.reverse",
        "error_analysis",
        "frontend",
        "oracle",
        "profiler",
        "sizing",
        "transforms.pipeline",
    )
    assert [name for name in late if f"adstack.{name}" in loaded] == []


def test_the_first_call_and_its_gradient_import_nothing(tmp_path):
    assert printed(tmp_path, IMPORT + CALLS + "print(*rooms() - before)") == []


@pytest.mark.parametrize("name", ["ad", "profiler"])
def test_a_module_of_the_public_api_is_loaded_when_it_is_first_used(tmp_path, name):
    text = (
        f"module = 'adstack.{name}'\nprint(module in sys.modules, qd.{name}.__name__, qd.{name} is sys.modules[module])"
    )
    assert printed(tmp_path, IMPORT + text) == ["False", f"adstack.{name}", "True"]


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="qd has no attribute 'autodif'"):
        _ = adstack.autodif
