"""Whether every link inside of the site leads to a file, and to a place in it that is there."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

__all__ = ["broken", "counted"]

_OWN: Final = ("asv/",)
"""Folders whose pages a program of others writes, and whose links its scripts read: only that they exist is checked."""


class _Page(HTMLParser):
    """The links of a page, and the names of its places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value for name, value in attrs if value is not None}
        self.places.update(attributes[name] for name in ("id", "name") if name in attributes)
        self.links.extend(attributes[name] for name in ("href", "src") if name in attributes)


def _pages(site: Path) -> dict[Path, _Page]:
    return {
        path: _Page(path.read_text("utf-8"))
        for path in sorted(site.rglob("*.html"))
        if not path.relative_to(site).as_posix().startswith(_OWN)
    }


def counted(site: Path) -> tuple[int, int]:
    """How many pages there are, and how many links."""
    pages = _pages(site)
    return len(pages), sum(len(page.links) for page in pages.values())


def broken(site: Path) -> list[str]:
    """A line for each link that leads nowhere: "page: link"."""
    pages = _pages(site)
    return [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        for link in dict.fromkeys(page.links)
        if not _leads(link, path, pages)
    ]


def _leads(link: str, page: Path, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if there.is_dir():
        there /= "index.html"
    if not there.is_file():
        return False
    return not parts.fragment or there not in pages or unquote(parts.fragment) in pages[there].places
