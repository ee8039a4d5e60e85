"""The parts of the HTML page that do not depend on the run."""

from __future__ import annotations

from typing import Final

__all__ = ["PAGE", "SCRIPT", "STYLE"]

PAGE: Final = """<!doctype html>
<html lang=en>
<head>
<meta charset=utf-8>
<meta name=viewport content="width=device-width, initial-scale=1">
<title>adstack conformance: $verdict</title>
<style>$style</style>
</head>
<body>
<header>
<h1>adstack conformance <span class="verdict $verdict">$verdict</span></h1>
<p>version $version · python $python · $machine · seed $seed · $seconds s</p>
<ul>$subjects</ul>
$stale
<nav aria-label="filter by state"><input id=search type=search placeholder="filter by case" aria-label="filter by case">
$filters <button id=theme class=chip>light / dark</button></nav>
</header>
<main><table>
<thead><tr><th scope=col>case</th>$headings</tr></thead>
$body
</table></main>
<script>$script</script>
</body>
</html>
"""

STYLE: Final = """
:root { color-scheme: light dark; --bg: #fdfdfc; --fg: #1d2126; --soft: #667; --line: #dde; --raised: #f3f4f6;
  --good: #17733a; --bad: #b3201c; --gap: #8a6100; --odd: #7a2d95; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --bg: #14171b; --fg: #e4e6ea; --soft: #9aa3b0;
  --line: #2c323b; --raised: #1d2228; --good: #63cf8a; --bad: #ff8078; --gap: #e3b341; --odd: #d391ee; } }
:root[data-theme=dark] { color-scheme: dark; --bg: #14171b; --fg: #e4e6ea; --soft: #9aa3b0; --line: #2c323b;
  --raised: #1d2228; --good: #63cf8a; --bad: #ff8078; --gap: #e3b341; --odd: #d391ee; }
:root[data-theme=light] { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.5 system-ui, sans-serif; }
header, main { padding: 1rem 1.5rem; }
h1 { font-size: 1.4rem; margin: 0; }
header p, header ul { color: var(--soft); margin: .3rem 0; }
header ul { padding-left: 1.2rem; }
header b { color: var(--fg); }
.verdict { font-size: 1rem; padding: .1em .6em; border-radius: 1em; border: 1px solid; }
.verdict.passed { color: var(--good); }
.verdict.failed, .stale { color: var(--bad) !important; }
nav { display: flex; flex-wrap: wrap; gap: .4rem; margin-top: .8rem; }
input, .chip { font: inherit; padding: .2em .8em; border: 1px solid var(--line); border-radius: 1em;
  background: var(--raised); color: inherit; }
.chip { cursor: pointer; }
.chip[aria-pressed=true] { outline: 2px solid currentColor; }
main { overflow-x: auto; }
@media (min-width: 50rem) { thead th:first-child { min-width: 28rem; } }
table { border-collapse: collapse; }
thead th { position: sticky; top: 0; background: var(--bg); }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
tbody th[scope=row] { font-weight: 400; font-family: ui-monospace, monospace; font-size: .9em; }
tr.topic > * { background: var(--raised); white-space: nowrap; }
.fold { font: inherit; font-size: 1.05em; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
.fold::before { content: "\\25be\\a0"; }
.fold[aria-expanded=false]::before { content: "\\25b8\\a0"; }
tbody.folded:not(.filtered) tr[data-states] { display: none; }
small { color: var(--soft); }
summary { cursor: pointer; white-space: nowrap; }
details p { color: var(--soft); margin: .2rem 0; font-size: .9em; }
pre { max-width: 60rem; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--raised); color: var(--fg);
  padding: .5rem; border-radius: .4rem; font-size: .85em; }
.pass { color: var(--good); }
.gap, .unavailable { color: var(--gap); }
.broken { color: var(--odd); }
.wrong-value, .wrong-gradient, .refused, .crashed, .timed-out, .gap-passes { color: var(--bad); }
"""

SCRIPT: Final = """
const chosen = new Set(), search = document.getElementById('search');
function apply() {
  const words = search.value.trim().toLowerCase(), filtered = chosen.size > 0 || words !== '';
  for (const row of document.querySelectorAll('tr[data-states]')) {
    const states = row.dataset.states.split(' ');
    const state = !chosen.size || states.some(s => chosen.has(s));
    row.hidden = !state || !row.firstChild.textContent.toLowerCase().includes(words);
  }
  for (const body of document.querySelectorAll('tbody')) {
    body.hidden = ![...body.querySelectorAll('tr[data-states]')].some(row => !row.hidden);
    body.classList.toggle('filtered', filtered);
  }
}
function fold(body, folded) {
  body.classList.toggle('folded', folded);
  body.querySelector('.fold').setAttribute('aria-expanded', !folded);
}
const long = document.querySelectorAll('tr[data-states]').length > 100;
for (const body of document.querySelectorAll('tbody')) {
  body.querySelector('.fold').onclick = () => fold(body, !body.classList.contains('folded'));
  fold(body, long && body.dataset.quiet === 'true');
}
for (const button of document.querySelectorAll('[data-filter]')) button.onclick = () => {
  const on = button.getAttribute('aria-pressed') !== 'true';
  button.setAttribute('aria-pressed', on);
  chosen[on ? 'add' : 'delete'](button.dataset.filter);
  apply();
};
search.oninput = apply;
document.getElementById('theme').onclick = () => {
  const root = document.documentElement, dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const now = root.dataset.theme || (dark ? 'dark' : 'light');
  root.dataset.theme = now === 'dark' ? 'light' : 'dark';
};
"""
