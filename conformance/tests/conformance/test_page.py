"""The HTML page in a browser: what it shows, hides and says, on a phone, without network, in light and dark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape

import pytest
from suites import plain_subject, write_suite

from adstack.conformance.harness.cells import Cell, Result, Status
from adstack.conformance.harness.loading import collect
from adstack.conformance.report.html import html
from adstack.conformance.report.summary import Report, record

pytestmark = pytest.mark.browser

FILES = {
    "one/a.py": '@case(rules=["arith.wrap"], modes=("forward", "reverse"))\ndef sums(qd):\n    "Adds <b>."\n',
    "two/b.py": '@case(rules=["t.y"], params={"n": list(range(120))})\ndef counts(qd, n): ...\n',
}
# The page is looked at from a page around it, as wide as a phone; what is wrong there is an error in the end.
AROUND = """<!doctype html><meta charset=utf-8>
<iframe id=page src=page.html width=360 height=700></iframe><pre id=seen></pre>
<script>
const frame = document.getElementById('page'), seen = {}, errors = [];
const rest = milliseconds => new Promise(done => setTimeout(done, milliseconds));
frame.onload = async () => {
  const view = frame.contentWindow, page = frame.contentDocument, $ = id => page.getElementById(id);
  view.onerror = message => errors.push(message);
  const lines = () => [...page.querySelectorAll('#matrix tbody:not([hidden]) tr:not(.topic)')];
  const rows = () => lines().map(row => row.textContent);
  for (let k = 0; k < 100 && !page.body.dataset.ready; k++) await rest(20);
  seen.ready = page.body.dataset.ready;
  seen.wide = page.documentElement.scrollWidth;
  seen.open = rows().length;
  $('search').value = 'WRAP';
  $('search').oninput();
  seen.rule = rows();
  $('search').value = '';
  $('search').oninput();
  page.querySelector('[data-state=crashed]').click();
  seen.crashed = rows();
  page.querySelector('#matrix tbody:not([hidden]) .state').click();
  await rest(50);
  seen.cell = $('cell').open && $('cell-body').textContent;
  seen.bold = $('cell-body').querySelectorAll('p b').length;
  view.history.back();
  await rest(100);
  seen.closed = !$('cell').open;
  page.querySelector('[data-state=crashed]').click();
  page.querySelector('[data-change=new]').click();
  seen.new = rows().length;
  page.querySelector('[data-change=new]').click();
  page.querySelector('[data-topic=two] .fold').click();
  seen.unfolded = rows().length;
  const colour = () => view.getComputedStyle(page.body).backgroundColor;
  seen.colours = [colour(), ($('theme').click(), colour()), ($('theme').click(), colour())];
  seen.errors = errors;
  document.getElementById('seen').textContent = JSON.stringify(seen);
};
</script>"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What the page around saw."""
    folder = tmp_path_factory.mktemp("page")
    plain = plain_subject(folder)
    sums, *counts = collect(write_suite(folder, FILES))
    page = {"departures": ["first: sin"], "values": [], "programs": [{"name": "k", "stages": {"frontend": "kernel"}}]}
    results = [
        Result(Cell(sums, plain, "forward", 5), Status.PASS, "exact", 0.0),
        Result(Cell(sums, plain, "reverse", 5), Status.CRASHED, message="got <b>", output="words", details=page),
        *(Result(Cell(entry, plain, "forward", 5), Status.PASS) for entry in counts),
    ]
    report = Report(results, [plain])
    (folder / "page.html").write_text(html(report, record(replace(report, results=results[:-7]))))
    (folder / "around.html").write_text(AROUND)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}"]
    browser = shutil.which("chromium")
    assert browser
    command = [browser, *options, *offline, "--virtual-time-budget=20000", (folder / "around.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    page = re.search(r'<pre id="seen">(.+?)</pre>', done.stdout, re.DOTALL)
    assert page, done.stderr
    return json.loads(unescape(page[1]))


def test_it_unpacks_its_data_and_meets_no_error(seen):
    assert (seen["ready"], seen["errors"]) == ("true", [])


def test_nothing_stands_beyond_the_edge_of_a_phone(seen):
    assert seen["wide"] <= 360


def test_topics_that_need_nobody_are_folded_in_a_long_matrix(seen):
    assert seen["open"] == 2
    assert seen["unfolded"] == 122


def test_rows_are_found_by_rule_state_and_change(seen):
    assert [row.partition("sums")[2][:8] for row in seen["rule"]] == ["✓ pass", " reverse"]
    (crashed,) = seen["crashed"]
    assert crashed.startswith("one/sums reverse")
    assert seen["new"] == 7


def test_a_cell_is_explained_and_going_back_closes_it(seen):
    for words in ("got <b>", "words", "first: sin", "k: frontend", "wrap modulo", "def sums(qd)", "before: crashed"):
        assert words in seen["cell"]
    assert seen["bold"] == 1  # the state: what the case says stays text
    assert seen["closed"]


def test_it_is_light_or_dark(seen):
    first, second, third = seen["colours"]
    assert first == third != second
