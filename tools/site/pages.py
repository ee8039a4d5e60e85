"""Which pages the site has, where they come from, and where their links lead."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["REPOSITORY", "ROOT", "SECTIONS", "Section", "gathered", "linked", "title"]

ROOT: Final = Path(__file__).resolve().parents[2]
REPOSITORY: Final = "https://github.com/adstack/adstack/blob/main"
"""Where links lead that name a file which is no page."""
_CODE: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"(\]\()([^)\s]+)(\))")


@dataclass(frozen=True)
class Section:
    """A part of the site.

    Attributes:
        folder: where its pages stand in the site.
        title: of its first page.
        patterns: of files in the checkout, in the order in which they are shown.
    """

    folder: str
    title: str
    patterns: tuple[str, ...]


SECTIONS: Final = (
    Section(
        "guide",
        "Guide",
        (
            "README.md",
            "reference/guide/**/*.md",
            "guide/**/*.md",
            "docs/**/*.md",
            "examples/**/*.md",
            "reference/spec/guide.md",
            "reference/spec/differences.md",
        ),
    ),
    Section("spec", "The specification", ("reference/spec/README.md", "reference/spec/*.md")),
    Section(
        "inside",
        "How adstack is made",
        (
            "reference/README.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "asv_benchmarks/README.md",
            "backends/*/README.md",
            "backends/cpu/arm64.md",
            "conformance/cases/**/*.md",
            "conformance/results/**/*.md",
            "conformance/subjects/*.md",
        ),
    ),
)


def gathered(root: Path = ROOT, sections: Sequence[Section] = SECTIONS) -> dict[str, str]:
    """The place of every page in the site, by that in the checkout. It belongs to the first section that has it."""
    places: dict[str, str] = {}
    for section in sections:
        for source in _sources(root, section):
            places.setdefault(source, _place(source, section.folder))
    return places


def _sources(root: Path, section: Section) -> Iterator[str]:
    for pattern in section.patterns:
        yield from (path.relative_to(root).as_posix() for path in sorted(root.glob(pattern)))


def _place(source: str, folder: str) -> str:
    """A page called README has the name of its folder."""
    parts = list(Path(source).with_suffix("").parts)
    name = "-".join(parts[-2:] if parts[-1] == "README" and len(parts) > 1 else parts[-1:])
    return f"{folder}/{name.replace('-README', '').lower()}.md"


def title(text: str) -> str:
    """The first heading of a page."""
    match = re.search(r"^# (.+)$", _CODE.sub("", text), re.MULTILINE)
    return match[1].strip() if match else ""


def linked(text: str, source: str, places: Mapping[str, str], root: Path = ROOT) -> str:
    """A page with its links to other pages as the site has them, and its links to files to the repository.

    Args:
        text: Markdown.
        source: the page's place in the checkout.
        places: the places of pages in the site, by those in the checkout.
        root: the checkout.
    """

    def target(match: re.Match[str]) -> str:
        return match[1] + _target(match[2], source, places, root) + match[3]

    code = [match.span() for match in _CODE.finditer(text)]
    pieces, end = [], 0
    for start, stop in code:
        pieces += [_LINK.sub(target, text[end:start]), text[start:stop]]
        end = stop
    return "".join([*pieces, _LINK.sub(target, text[end:])])


def _target(link: str, source: str, places: Mapping[str, str], root: Path) -> str:
    path, hash_, anchor = link.partition("#")
    if not path or ":" in path:
        return link
    there = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    page = places.get(there) or places.get(f"{there}/README.md")
    if page is not None:
        return os.path.relpath(page, posixpath.dirname(places[source])) + hash_ + anchor
    if not (root / there).exists():
        raise FileNotFoundError(f"{source} links to {link}, which does not exist")
    return f"{REPOSITORY}/{there}"
