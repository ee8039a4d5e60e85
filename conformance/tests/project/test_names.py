"""What users are to call: `qd` and `qd.ad` have the documented names and no others, and type checkers know them."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adstack as qd

ROOT = Path(qd.__file__).resolve().parents[1]
PAGE = (ROOT / "reference" / "spec" / "names.md").read_text("utf-8")


def documented(module: str) -> list[str]:
    """The names in the first column of a module's table."""
    (table,) = re.findall(rf"\| names in `{re.escape(module)}` \|.*?\n\| --- \| --- \|\n((?:\|.*\n)+)", PAGE)
    return [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]


@pytest.mark.parametrize(("name", "module"), [("qd", qd), ("qd.ad", qd.ad), ("qd.profiler", qd.profiler)])
def test_the_public_names_are_the_documented_ones(name, module):
    names = documented(name)
    assert sorted(names) == sorted(module.__all__)
    assert len(set(names)) == len(names)
    public = [one for one in dir(module) if one != "__version__"]
    assert public == sorted(names)
    assert all(hasattr(module, one) for one in names)


@pytest.mark.parametrize("name", ["errors", "ir", "ir.structure", "runtime", "interpreter", "inspection", "profiler"])
def test_submodules_are_not_listed_and_can_be_imported(name):
    assert importlib.import_module(f"adstack.{name}").__name__ == f"adstack.{name}"
    assert name not in dir(qd)


TYPED = """
from __future__ import annotations
import numpy as np
import numpy.typing as npt
import adstack as qd

x = qd.field(qd.f32, shape=4, needs_grad=True)
v = qd.field(qd.types.vector(3, qd.i32), shape=4)
array: npt.NDArray[np.float32] = x.to_numpy()
length: int = v.n
x.grad.fill(0.0)


@qd.kernel
def scaled(s: qd.f32, n: qd.i32, y: qd.types.NDArray[qd.f32], z: qd.types.NDArray) -> qd.f32:
    total = 0.0
    for i in y:
        y[i] = s * qd.sin(x[i]) + z[i]
        total += y[i]
    return total


scaled(1.0, 2, np.zeros(3), array)
"""


@pytest.fixture
def programs_of_users(tmp_path: Path) -> list[Path]:
    """The programs of the README and the examples, and one that relies on the types of many names, as files."""
    programs = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert programs
    files = [tmp_path / f"program_{k}.py" for k in range(len(programs))]
    for file, program in zip(files, programs, strict=True):
        file.write_text(program, "utf-8")
    (tmp_path / "typed.py").write_text(TYPED, "utf-8")
    return [*files, tmp_path / "typed.py", *sorted((ROOT / "examples").rglob("*.py"))]


def test_mypy_strictly_accepts_the_programs_of_the_readme_and_the_examples(tmp_path, programs_of_users):
    config = tmp_path / "mypy.ini"
    # Of torch, where it is installed, nothing is read: this is about adstack's types.
    config.write_text(
        "[mypy]\nstrict = True\n[mypy-torch.*,distributed.*]\nignore_missing_imports = True\nfollow_imports = skip\n"
    )
    cache = str(ROOT / ".mypy_cache" / "users")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", cache]
    done = subprocess.run(
        [*command, *map(str, programs_of_users)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def complaints_of_pyright(folder: Path, files: list[Path]) -> list[str]:
    """What pyright has against programs, by basedpyright, which brings what pyright runs on."""
    settings = {"typeCheckingMode": "standard", "include": list(map(str, files))}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    command = [sys.executable, "-m", "basedpyright", "-p", str(folder), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(files), done.stderr
    return [
        f"{one['file']}:{one['range']['start']['line'] + 1}: {one['message']}" for one in report["generalDiagnostics"]
    ]


def test_pyright_accepts_the_programs_of_the_readme_and_the_examples(tmp_path, programs_of_users):
    has_torch = importlib.util.find_spec("torch") is not None
    files = [file for file in programs_of_users if has_torch or "torch" not in file.name]
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import adstack as qd\n\nx: str = qd.field(qd.f32, shape=4).to_numpy()\n", "utf-8")
    (complaint,) = complaints_of_pyright(tmp_path, [*files, wrong])
    assert complaint.startswith(f"{wrong}:3: ")
