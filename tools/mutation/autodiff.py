"""The edits of derivatives and of their machinery, and what the tests say of each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .copies import Copies, unpacked
from .edits import Edit, StaleEditError, applied, read_edits
from .rules import FILE, rules
from .run import ROOT, Verdict

__all__ = ["checked_edits", "edits", "judged"]


def edits(reference: Path = ROOT / "reference") -> list[Edit]:
    """All of them; those of derivatives follow the table."""
    texts = sorted(Path(__file__).with_name("wrong").glob("*.txt"))
    return [*rules((reference / FILE).read_text()), *(edit for text in texts for edit in read_edits(text))]


def checked_edits(reference: Path) -> list[str]:
    """What is wrong with edits: snippets that are gone, and edits of one row with one name."""
    found = edits(reference)
    wrong = [told for edit in found if (told := _stale(reference, edit))]
    names = [(edit.row, edit.change) for edit in found]
    return wrong + [f"{row}: {change}: twice" for row, change in sorted({n for n in names if names.count(n) > 1})]


def _stale(reference: Path, edit: Edit) -> str:
    try:
        applied((reference / edit.file).read_text(), edit)
    except StaleEditError as error:
        return str(error)
    return ""


def judged(
    found: Sequence[Edit],
    jobs: int,
    tell: Callable[[Verdict], None],
    hints: Mapping[tuple[str, str], str],
    root: Path = ROOT,
) -> str:
    """Tries each edit on what is committed, `jobs` at a time, and tells what comes of it.

    What killed an edit the last time (`hints`) is tried first. The result says which killer fails without any edit.
    """
    with tempfile.TemporaryDirectory(prefix="adstack-mutation-") as folder:
        scratch = Path(folder)
        sources = unpacked(root, scratch / "sources")
        wrong = checked_edits(sources / "adstack")
        if wrong:
            raise StaleEditError("\n".join(wrong))
        waiting = iter(found)
        killers: set[str] = set()

        def serve() -> None:
            with Copies(sources, scratch) as copies:
                for edit in waiting:
                    told = copies.tried(edit, hints.get((edit.row, edit.change), ""))
                    if told.is_broken:
                        raise StaleEditError(f"{edit.row}: {edit.change}: what it makes is no program: {told.how}")
                    killers.add(told.by)
                    tell(Verdict(edit, bool(told.by), told.by))

        with ThreadPoolExecutor(jobs) as pool:
            for served in [pool.submit(serve) for _ in range(jobs)]:
                served.result()
        with Copies(sources, scratch) as copies:
            failed = copies.untouched(killers)
    return f"{failed.by}: {failed.how}" if failed.by else ""
