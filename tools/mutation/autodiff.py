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

    What killed an edit the last time (`hints`) is tried first. The result is empty, or says what fails without any.
    """
    with tempfile.TemporaryDirectory(prefix="adstack-mutation-") as folder:
        copies = Copies(unpacked(root, Path(folder) / "sources"), Path(folder))
        wrong = checked_edits(copies.sources / "adstack")
        if wrong:
            raise StaleEditError("\n".join(wrong))
        control = copies.tried(None)
        if control.by:
            return f"{control.by}: {control.how}"

        def attempt(edit: Edit) -> Verdict:
            told = copies.tried(edit, hints.get((edit.row, edit.change), ""))
            if told.is_broken:
                raise StaleEditError(f"{edit.row}: {edit.change}: what it makes is no program: {told.how}")
            return Verdict(edit, bool(told.by), told.by)

        with ThreadPoolExecutor(jobs) as pool:
            for verdict in pool.map(attempt, found):
                tell(verdict)
    return ""
