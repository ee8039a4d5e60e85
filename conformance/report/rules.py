"""The text of each rule of the specification, by its permanent name."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Final

__all__ = ["rule_texts"]

_HEADING: Final = re.compile(r"^### (\S+)$", re.MULTILINE)
_CODE: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


@cache
def rule_texts() -> dict[str, str]:
    """The paragraphs of every rule, as the pages of the specification have them, without their examples."""
    texts: dict[str, str] = {}
    for page in (resources.files("adstack") / "spec").iterdir():
        if page.name.endswith(".md"):
            parts = _HEADING.split(page.read_text("utf-8"))
            texts |= {name: _prose(text) for name, text in zip(parts[1::2], parts[2::2], strict=True)}
    return texts


def _prose(text: str) -> str:
    """What stands before the next heading."""
    return re.split(r"^#", _CODE.sub("", text), maxsplit=1, flags=re.MULTILINE)[0].strip()
