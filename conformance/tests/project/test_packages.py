"""The folders, the list of packages and the import names are one thing said three times."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]
FOLDERS = {name: ROOT / folder for name, folder in SETUPTOOLS["package-dir"].items()}

# The architecture's picture of the house.
ROOMS = {
    "reference": {
        *("ir", "analysis", "transforms", "autodiff", "sizing", "interpreter", "runtime", "values", "data", "frontend"),
        *("launch", "gradients", "kernels", "oracle", "error_analysis", "ad", "inspection", "interop", "profiler"),
        *("torch", "jax", "math", "simt", "types"),
        "spec",
    },
    "backends": {
        *("shared", "hostcall", "codegen_llvm", "codegen_msl", "codegen_spirv", "qemu", "rdna"),
        *("cpu", "cuda", "amdgpu", "vulkan", "metal"),
    },
    "conformance": {
        "cases",
        "cluster",
        "gradbench",
        "harness",
        "programs",
        "subjects",
        "fuzz",
        "report",
        "results",
        "tests",
    },
    "tools": {"accuracy", "bench", "device", "gradbench", "loading", "mutation", "plots", "site", "terminal"},
}


def packages_on_disk() -> set[str]:
    names = set()
    for name, folder in FOLDERS.items():
        for init in folder.rglob("__init__.py"):
            names.add(".".join([name, *init.parent.relative_to(folder).parts]))
    return names


def module_names() -> list[str]:
    names = []
    for package in sorted(packages_on_disk()):
        root = max((name for name in FOLDERS if f"{package}.".startswith(f"{name}.")), key=len)
        folder = FOLDERS[root].joinpath(*package.removeprefix(root).strip(".").split("."))
        stems = sorted(path.stem for path in folder.glob("*.py"))
        names += [package if stem == "__init__" else f"{package}.{stem}" for stem in stems if stem != "__main__"]
    return names


def test_every_package_folder_is_listed_and_every_listed_one_exists():
    assert packages_on_disk() == set(SETUPTOOLS["packages"])


def test_no_package_is_listed_twice():
    assert len(SETUPTOOLS["packages"]) == len(set(SETUPTOOLS["packages"]))


def test_every_folder_with_modules_is_a_package_apart_from_the_tests():
    inits = {path.parent for folder in FOLDERS.values() for path in folder.rglob("__init__.py")}
    modules = {path.parent for folder in FOLDERS.values() for path in folder.rglob("*.py")}
    tests = ROOT / "conformance" / "tests"
    assert [path for path in modules - inits if path != tests and tests not in path.parents] == []
    assert not any(tests in path.parents for path in inits)


@pytest.mark.parametrize("house", ROOMS)
def test_the_rooms_are_those_of_the_architecture(house):
    rooms = {path.name for path in (ROOT / house).iterdir() if path.is_dir()} - {"__pycache__"}
    assert rooms == ROOMS[house]


@pytest.mark.parametrize("package", SETUPTOOLS["packages"])
def test_a_package_says_within_fifteen_lines_what_it_holds(package):
    doc = importlib.import_module(package).__doc__
    assert doc
    assert len(doc.strip().splitlines()) <= 15


@pytest.mark.parametrize("name", module_names())
def test_the_module_imports(name):
    module = importlib.import_module(name)
    assert module.__file__
    assert Path(module.__file__).is_relative_to(ROOT)


def test_the_public_module_does_nothing_but_re_export():
    body = ast.parse((ROOT / "reference" / "__init__.py").read_text()).body
    allowed = (ast.Import, ast.ImportFrom)
    others = [node for node in body if not isinstance(node, allowed) and not _is_docstring_or_constant(node)]
    assert not others, [ast.unparse(node) for node in others]


def _is_docstring_or_constant(node: ast.stmt) -> bool:
    # __all__, __version__ and aliases (`Name = other.name`) are names, not behaviour; __dir__ lists them, __getattr__
    # imports modules when they are first used and says of other names what to use. What type checkers are to know of
    # such modules is imported for them alone.
    if isinstance(node, ast.FunctionDef):
        return node.name in ("__dir__", "__getattr__")
    if isinstance(node, ast.If):
        imported = all(isinstance(inner, ast.ImportFrom) for inner in node.body)
        return ast.unparse(node.test) == "_TYPE_CHECKING" and imported and not node.orelse
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, (ast.Assign, ast.AnnAssign)) and not any(isinstance(n, ast.Call) for n in ast.walk(node))


def test_only_adstack_becomes_importable():
    top_level = importlib.metadata.distribution("adstack").read_text("top_level.txt")
    assert top_level is not None
    assert top_level.split() == ["adstack"]


def test_the_backends_have_the_same_furniture():
    furniture = {"capability.py", "layout.py", "codegen.py", "toolchain.py", "runtime.py"}
    common = ("codegen_llvm", "codegen_msl", "codegen_spirv", "hostcall", "qemu", "rdna", "shared", "__pycache__")
    for target in [path for path in (ROOT / "backends").iterdir() if path.is_dir() and path.name not in common]:
        names = {path.name for path in target.glob("*.py")} - {"__init__.py"}
        # A target that has nothing yet is a room with a label; one that has something has all of it.
        assert not names or names >= furniture, target.name
