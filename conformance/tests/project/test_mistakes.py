"""What beginners write: each program of the table is right, or told where it is wrong and what to write."""

from __future__ import annotations

from collections import Counter

import pytest

from adstack.tools.mistakes import GRADES, PAGE, Mistake, mistakes, outcome, section

ROWS = mistakes()
TEXT = PAGE.read_text("utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title)
def test_the_message_has_its_words_and_the_page_shows_it(row: Mistake):
    message = outcome(row.program)
    assert [words for words in row.words if words not in message] == []
    assert bool(message) == (row.grade in ("A", "B"))
    assert ("\n  do: " in message) == (row.grade == "A")
    assert section(row, message) in TEXT, "run python -m adstack.tools.mistakes --write"


def test_nearly_all_say_what_to_write():
    grades = Counter(row.grade for row in ROWS)
    assert set(grades) <= set(GRADES)
    assert len({row.title for row in ROWS}) == len(ROWS) >= 80
    assert grades["B"] + grades["silent"] <= 8
    assert f"# {len(ROWS)} mistakes" in TEXT
