"""The static site: its pages and where their links lead, its figures, tables and gallery, and the check of its links.

Sphinx and matplotlib are not among what tests need: what is written for them is tested, and what finds lost links.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from adstack.tools.plots.bars import NAMES
from adstack.tools.site import build, conf, figures, front, history, tables
from adstack.tools.site.api import api
from adstack.tools.site.commits import regressions
from adstack.tools.site.gallery import gallery, pictures
from adstack.tools.site.heap import heap
from adstack.tools.site.links import broken, counted
from adstack.tools.site.pages import REPOSITORY, ROOT, SECTIONS, Section, gathered, linked, title

GUIDE = Section("guide", "Guide", ("README.md", "docs/*.md"))


def _checkout(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "code.py").write_text("")
    (tmp_path / "README.md").write_text("# Start\n\n[more](docs/more.md#here), [code](code.py), [it](#it)\n")
    (tmp_path / "docs" / "more.md").write_text("# More\n\n[back](../README.md)\n\n```text\n[no](link.md)\n```\n")
    return tmp_path


def test_pages_link_to_pages_as_the_site_has_them_and_to_files_in_the_repository(tmp_path: Path):
    root = _checkout(tmp_path)
    places = gathered(root, [GUIDE])
    assert places == {"README.md": "guide/readme.md", "docs/more.md": "guide/more.md"}
    start, more = (linked((root / source).read_text(), source, places, root) for source in places)
    assert f"[more](more.md#here), [code]({REPOSITORY}/code.py), [it](#it)" in start
    assert "[back](readme.md)" in more
    assert "[no](link.md)" in more


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path):
    root = _checkout(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"README.md links to gone.md"):
        linked("[gone](gone.md)", "README.md", gathered(root, [GUIDE]), root)


def test_every_page_of_the_checkout_has_a_place_of_its_own_a_title_and_links_that_lead_somewhere():
    places = gathered()
    assert len(set(places.values())) == len(places) > 20
    assert {place.split("/")[0] for place in places.values()} == {section.folder for section in SECTIONS}
    for source, place in places.items():
        text = (ROOT / source).read_text("utf-8")
        assert title(text), source
        folder = Path(place).parent
        for target in re.findall(r"\]\(([\w./-]+\.md)", linked(text, source, places)):
            assert str(Path(*_normal((folder / target).parts))) in places.values() or "```" in text, (source, target)


def _normal(parts: tuple[str, ...]) -> list[str]:
    kept: list[str] = []
    for part in parts:
        kept = kept[:-1] if part == ".." else [*kept, part]
    return kept


def test_ratios_are_the_newest_of_their_row(tmp_path: Path):
    def run(ratio: float) -> str:
        rows = [{"name": "nop", "results": {"adstack": {}, "jax": {"ratio": {"median": ratio}}}}]
        return json.dumps([{"arch": "cpu", "rows": rows}, {"arch": "cuda", "rows": rows}])

    (tmp_path / "2026-01.json").write_text(run(0.5))
    (tmp_path / "2026-02.json").write_text(run(0.25))
    (one,) = figures.ratios("cpu", ["args", "nop"], tmp_path)
    assert (one.row, one.peer, one.times, one.source) == ("nop", "jax", 4.0, "2026-02.json")


def test_the_committed_results_have_the_rows_of_the_first_page():
    assert {one.peer for one in figures.ratios("cpu", list(figures.CALLS))} >= {"quadrants", "jax"}
    assert len(figures.ratios("cpu", [figures.PROGRAMS])) > 10
    assert {one.peer for one in figures.by_hand()} >= {"by hand", "quadrants"}


def test_the_first_page_calls_peers_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for drawing in ("bars", "lines"):
        monkeypatch.setattr(front, drawing, lambda *_: None)
    named = {*re.findall(r"times as fast as (\w+)", front.front(tmp_path))}
    assert named >= {"JAX", "Quadrants"}
    assert named.isdisjoint(NAMES)


def test_the_history_has_at_least_twenty_commits_on_machines_that_say_what_they_are():
    points = history.series(tuple(history.SHOWN))
    assert set(points) <= set(history.series())
    commits = [{point.commit for point in series} for series in points.values()]
    assert max(map(len, commits)) >= 20
    assert all(series == sorted(series, key=lambda point: point.date) for series in points.values())
    assert all(machine["cpu"] or machine["gpu"] for machine in history.machines())
    gated = json.loads((ROOT / "asv_benchmarks" / "exact.json").read_text())
    assert gated  # what may not move stands beside what was


def test_matrices_and_errors_are_tables():
    assert "| cuda | NVIDIA H100 80GB HBM3 | native |" in tables.matrix()
    assert "| `sin` | f32 |" in tables.functions()


def test_the_gallery_shows_every_example_with_the_picture_that_has_its_name(tmp_path: Path):
    (tmp_path / "wave.py").write_text('"""A wave.\n\nMore of it.\n"""\n')
    (tmp_path / "still.py").write_text('"""Stands still."""\n')
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "wave.gif").write_bytes(b"GIF89a")
    pages = gallery(tmp_path)
    assert list(pages) == ["index", "still", "wave"]
    assert "![A wave.](wave.gif)" in pages["wave"]
    assert "![" not in pages["still"]
    assert [path.name for path in pictures(tmp_path)] == ["wave.gif"]
    assert set(gallery()) == {"index", *(path.stem for path in (ROOT / "examples").glob("*.py"))}


def test_heap_reports_are_those_of_the_language(tmp_path: Path):
    page = heap(tmp_path)
    assert "256 bytes per thread" in page
    assert "nothing is kept on adstacks" in page


def test_the_api_has_public_functions_and_classes():
    page = api()
    assert all(f":: adstack.{name}\n" in page for name in ("kernel", "init", "field", "ad.Tape", "profiler.Profile"))
    assert "autofunction:: adstack.Tape" not in page


def test_lost_links_and_places_are_found(tmp_path: Path):
    (tmp_path / "a.html").write_text("<h1 id=top>A</h1><a href='b.html#here'>b</a><a href='b.html#gone'>c</a>")
    (tmp_path / "b.html").write_text("<p id=here><a href='https://x.org'>x</a><img src='no.svg'><a href='#here'>y</a>")
    assert broken(tmp_path) == ["a.html: b.html#gone", "b.html: no.svg"]
    assert counted(tmp_path) == (2, 5)


def test_what_fails_to_make_pages_says_why(tmp_path: Path):
    with pytest.raises(build.BuildError, match="sphinx"):
        build.built(tmp_path, tmp_path / "out")


def test_regressions_that_asv_finds_are_a_table(tmp_path: Path):
    (tmp_path / "regressions.json").write_text('{"regressions": []}')
    assert regressions(tmp_path) == "None."
    rows = [["code.track_ops('cpu')", "graphs/code.json", {}, 2, 325.0, 311.0, [[None, 311, 311.0, 325.0]]]]
    (tmp_path / "regressions.json").write_text(json.dumps({"regressions": rows}))
    assert "| `code.track_ops('cpu')` | 311 | 325 |" in regressions(tmp_path)


def test_the_settings_warn_of_everything_but_what_they_name():
    assert set(conf.suppress_warnings) <= {"misc.highlighting_failure", "myst.header"}
