"""The gallery: a page for each example, with its picture if it has one."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

from .pages import ROOT

__all__ = ["gallery", "pictures"]

_PICTURES: Final = ("gif", "webp", "png", "svg", "jpg")


def gallery(folder: Path = ROOT / "examples") -> dict[str, str]:
    """The pages of the examples, by name, the first one "index": a program with its picture, if it has one."""
    pages, cards = {}, []
    for path in sorted(folder.glob("*.py")):
        source = path.read_text("utf-8")
        head, _, rest = (ast.get_docstring(ast.parse(source)) or path.stem).partition("\n")
        picture = _picture(path)
        shown = f"![{head}]({picture.name})\n\n" if picture else ""
        pages[path.stem] = f"# {path.stem.replace('_', ' ')}\n\n{head}\n\n{shown}{_prose(rest)}```python\n{source}```\n"
        cards.append(f"## [{path.stem.replace('_', ' ')}]({path.stem}.md)\n\n{head}\n\n{shown}")
    listed = "\n".join(pages)
    index = f"# Gallery\n\n{''.join(cards)}\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    return {"index": index, **pages}


def _prose(text: str) -> str:
    return f"{text.strip()}\n\n" if text.strip() else ""


def _picture(path: Path) -> Path | None:
    """A picture beside an example, or in a folder of pictures there, that has its name."""
    for folder in (path.parent, *(one for one in sorted(path.parent.iterdir()) if one.is_dir())):
        for suffix in _PICTURES:
            if (folder / f"{path.stem}.{suffix}").is_file():
                return folder / f"{path.stem}.{suffix}"
    return None


def pictures(folder: Path = ROOT / "examples") -> list[Path]:
    """The pictures that the gallery shows."""
    return [shown for path in sorted(folder.glob("*.py")) if (shown := _picture(path)) is not None]
