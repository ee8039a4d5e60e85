"""`pip install -e .` makes an installation in which type checkers find adstack, as a folder of links."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import io
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from adstack.conformance.harness.identity import sources
from adstack.tools import check

ROOT = Path(__file__).resolve().parents[3]
RECORD = "adstack-0.1.0.dist-info/RECORD"
HOOK = ("__editable__.adstack-0.1.0.pth", b"import __editable___adstack_0_1_0_finder")


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The build backend, for which setuptools' is played: that one fetches what it needs."""
    played = ModuleType("setuptools.build_meta")
    names = [f"{one}_{kind}" for one in ("build", "get_requires_for_build") for kind in ("sdist", "wheel", "editable")]
    for name in [*names, "prepare_metadata_for_build_wheel", "prepare_metadata_for_build_editable"]:
        setattr(played, name, lambda *arguments: pytest.fail(f"called with {arguments}"))
    played.build_editable = wheel_of_setuptools  # type: ignore[attr-defined]
    house = ModuleType("setuptools")
    house.build_meta = played  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "setuptools", house)
    monkeypatch.setitem(sys.modules, "setuptools.build_meta", played)
    spec = importlib.util.spec_from_file_location("editable", ROOT / "build_backend" / "editable.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel_of_setuptools(folder: str, settings: object = None, metadata: str | None = None) -> str:
    """Writes what matters of setuptools' editable wheel: the file that starts its hook, and the list of files."""
    with zipfile.ZipFile(Path(folder) / "adstack.whl", "w") as wheel:
        wheel.writestr(*HOOK)
        wheel.writestr(RECORD, f"{HOOK[0]},sha256=anything,{len(HOOK[1])}\n{RECORD},,\n")
    return "adstack.whl"


def test_the_editable_wheel_names_the_tree_of_links_beside_the_hook(backend, tmp_path):
    assert backend.build_editable(str(tmp_path)) == "adstack.whl"
    with zipfile.ZipFile(tmp_path / "adstack.whl") as wheel:
        files = {name: wheel.read(name) for name in wheel.namelist()}
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(files[RECORD].decode()))}
    assert files.keys() == rows.keys() == {HOOK[0], "adstack_sources.pth", RECORD}
    assert files[HOOK[0]] == HOOK[1]
    paths = files["adstack_sources.pth"]
    assert (Path(paths.decode().strip()) / "adstack" / "errors.py").resolve() == ROOT / "reference" / "errors.py"
    digest = base64.urlsafe_b64encode(hashlib.sha256(paths).digest()).decode().rstrip("=")
    assert rows["adstack_sources.pth"] == [f"sha256={digest}", str(len(paths))]


def test_without_the_right_to_make_links_the_wheel_is_that_of_setuptools_and_a_message_says_so(
    backend, tmp_path, monkeypatch, capsys
):
    def refused() -> Path:
        raise OSError("a required privilege is not held by the client")

    monkeypatch.setattr(backend, "link_sources", refused)
    backend.build_editable(str(tmp_path))
    with zipfile.ZipFile(tmp_path / "adstack.whl") as wheel:
        assert set(wheel.namelist()) == {HOOK[0], RECORD}
    message = capsys.readouterr().err
    assert "no links to the sources can be made (a required privilege is not held by the client)" in message
    assert "type checkers will not find adstack" in message


def installed_in_this_way() -> bool:
    """Whether adstack here is an editable installation by this backend, as CONTRIBUTING.md asks for."""
    return (Path(sysconfig.get_path("purelib")) / "adstack_sources.pth").is_file()


def test_this_installation_finds_adstack_without_a_hook():
    assert installed_in_this_way(), "install adstack anew: python -m pip install -e '.[dev]'"
    code = "import sys; sys.meta_path = [one for one in sys.meta_path if 'adstack' not in one.__module__]\n"
    code += "import adstack.tools.check, adstack.backends.cpu; print(adstack.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).resolve() == ROOT / "reference" / "__init__.py"


def test_where_the_tree_is_gone_the_hook_finds_adstack():
    """`build` is a folder that people delete; the hook finds modules that are younger than the links, too."""
    code = "import sys; sys.path[:] = [path for path in sys.path if not path.endswith('tree')]\n"
    code += "import adstack.tools.check, adstack.backends.cpu; print(adstack.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(ROOT / "reference" / "__init__.py")


def test_a_change_in_a_room_behind_a_link_is_another_identity(tmp_path, monkeypatch):
    """The results of a run that was interrupted hold for what the sources were."""
    room = tmp_path / "sources" / "room"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").write_text("")
    (room / "module.py").write_text("number = 1\n")
    package = tmp_path / "tree" / "linked_package_of_a_test"
    package.mkdir(parents=True)
    for path in room.parent.iterdir():
        (package / path.name).symlink_to(path)
    monkeypatch.syspath_prepend(str(package.parent))
    before = sources.__wrapped__(package.name)
    (room / "module.py").write_text("number = 2\n")
    assert sources.__wrapped__(package.name) != before


def test_links_of_a_clone_that_was_moved_are_made_anew(tmp_path):
    tree = check.link_sources(tmp_path / "tree")
    link = tree / "adstack" / "errors.py"
    link.unlink()
    link.symlink_to(tmp_path / "elsewhere.py")
    check.link_sources(tree)
    assert link.resolve() == ROOT / "reference" / "errors.py"
