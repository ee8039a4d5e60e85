"""All of the site: its source, Sphinx, asv's pages, and the check of links."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..bench.judged import judged, markdown
from ..bench.judged import sources as asv_runs
from . import tables
from .api import api
from .commits import over_commits
from .front import front
from .gallery import gallery, pictures
from .heap import heap
from .pages import ROOT, SECTIONS, Section, gathered, linked, title

__all__ = ["BuildError", "built", "published", "sources"]

_HERE: Final = Path(__file__).resolve().parent
_ASV: Final = ROOT / "asv_benchmarks"
_LAST: Final = 3000
_STYLE: Final = """
.content img { max-width: 100%; height: auto; }
.content .highlight-text pre { white-space: pre-wrap; }
.content table { display: block; overflow-x: auto; max-width: 100%; }
"""
_TREE: Final = """
```{toctree}
:hidden:

guide/index
gallery/index
api
spec/index
matrix
functions
heap
goals
history
inside/index
```
"""
_GOALS: Final = """\
What adstack is to cost beside others, and what it has come to: by the newest committed run that has all that a goal
needs. `adstack bench --tables FILE` measures anew and writes these tables; those of what is committed are written by
`python -m adstack.tools.bench.judged FILE`."""


class BuildError(Exception):
    """A program that makes pages fails; the message is its last words."""


def sources(folder: Path, asv: Path | None) -> None:
    """Write the source of the site, in Markdown, into an empty folder.

    Args:
        folder: where to.
        asv: the folder of asv's pages, which the site links to; if there are none, None.
    """
    (folder / "plots").mkdir()
    places = gathered()
    for source, place in places.items():
        _write(folder / place, linked((ROOT / source).read_text("utf-8"), source, places))
    for section in SECTIONS:
        _write(folder / section.folder / "index.md", _contents(section, places))
    for name, text in gallery().items():
        _write(folder / "gallery" / f"{name}.md", text)
    for picture in pictures():
        shutil.copy(picture, folder / "gallery" / picture.name)
    _write(folder / "matrix.md", tables.matrix())
    _write(folder / "functions.md", tables.functions())
    _write(folder / "heap.md", heap(folder))
    _write(folder / "api.md", api())
    _write(folder / "goals.md", f"# Goals\n\n{_GOALS}\n\n{markdown(judged(asv_runs()))}")
    _write(folder / "history.md", over_commits(folder / "plots", asv))
    _write(folder / "index.md", front(folder / "plots") + _TREE)
    _write(folder / "_static" / "site.css", _STYLE)
    shutil.copy(_HERE / "conf.py", folder)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _contents(section: Section, places: Mapping[str, str]) -> str:
    """The first page of a section: its pages, by title."""
    names = {place: title((ROOT / source).read_text("utf-8")) for source, place in places.items()}
    mine = {Path(place).stem: words for place, words in names.items() if place.startswith(f"{section.folder}/")}
    listed = "\n".join(f"- [{words}]({name}.md)" for name, words in mine.items())
    tree = "\n".join(mine)
    return f"# {section.title}\n\n{listed}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"


def built(source: Path, out: Path) -> None:
    """Run Sphinx; warnings are errors.

    Raises:
        BuildError: with Sphinx' last words.
    """
    command = ["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(source), str(out)]
    _run([sys.executable, *command], source)


def published(out: Path, scratch: Path) -> None:
    """Let asv make its pages of the committed results.

    Args:
        out: the folder of the pages.
        scratch: where asv's configuration for this is written.

    Raises:
        BuildError: with asv's last words.
    """
    settings = json.loads((_ASV / "asv.conf.json").read_text("utf-8"))
    head = ["git", "-C", str(ROOT), "rev-parse", "--abbrev-ref", "HEAD"]
    branch = subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
    own = {"repo": str(ROOT), "results_dir": str(_ASV / "results"), "benchmark_dir": str(_ASV / "benchmarks")}
    settings |= own | {"html_dir": str(out), "env_dir": str(scratch / "env"), "branches": [branch]}
    path = scratch / "asv.conf.json"
    path.write_text(json.dumps(settings), "utf-8")
    _run([sys.executable, "-m", "asv", "publish", "--no-pull", "--config", str(path)], scratch)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command)}:\n{(done.stdout + done.stderr).strip()[-_LAST:]}")
