'use strict';
// The data are compressed: the matrix of a whole suite, with sources and IR, is large, and a page is sent around.
const LONG = 100, MANY = 300;
const $ = id => document.getElementById(id);
const slug = name => name.replaceAll(' ', '-');

function made(tag, text, properties = {}) {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  return Object.assign(element, properties);
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

// What the filters ask for: a row is shown if one of its cells is.
const asked = { words: '', mode: '', subject: '', states: new Set(), changes: new Set() };

function cellShown(data, cell) {
  if (asked.subject && data.subjects[cell.subject] !== asked.subject) return false;
  if (asked.states.size && !asked.states.has(data.states[cell.state])) return false;
  return !asked.changes.size || asked.changes.has(cell.change);
}

function rowShown(data, row) {
  const one = data.cases[row.case];
  if (asked.mode && row.mode !== asked.mode) return false;
  if (!row.cells.some(cell => cellShown(data, cell))) return false;
  if (!asked.words) return true;
  const texts = [one.id, one.title, ...one.rules, ...row.cells.map(cell => data.texts[cell.message])];
  return texts.some(text => text.toLowerCase().includes(asked.words));
}

const isFiltered = () => asked.words || asked.mode || asked.subject || asked.states.size || asked.changes.size;

// ---- the matrix

function stateOf(data, cell) {
  const name = data.states[cell.state], button = made('button', '', { className: `state ${slug(name)}` });
  button.append(made('span', data.symbols[cell.state], { ariaHidden: true }), ` ${name}`);
  if (name === 'pass' && cell.ulp) button.append(made('small', ` ${cell.ulp} ulp`));
  if (cell.change === 'state') button.append(made('span', ` was ${data.states[cell.before[0]]}`, { className: 'before' }));
  if (cell.change === 'new') button.append(made('span', ' new', { className: 'before' }));
  return button;
}

function rowOf(data, row) {
  const line = made('tr'), one = data.cases[row.case];
  const head = made('th', one.id, { scope: 'row', title: one.title });
  if (row.mode !== 'forward') head.append(made('small', ` ${row.mode}`));
  line.append(head);
  data.subjects.forEach((name, index) => {
    const place = made('td'), cell = row.cells.find(each => each.subject === index);
    place.dataset.subject = name;
    if (cell) {
      const button = stateOf(data, cell);
      button.onclick = () => { location.hash = nameOf(data, row, cell); };
      place.append(button);
    }
    line.append(place);
  });
  return line;
}

function fill(data, body, rows, isOpen, limit) {
  body.querySelectorAll('tr:not(.topic)').forEach(line => line.remove());
  body.querySelector('.fold').setAttribute('aria-expanded', isOpen);
  if (!isOpen) return;
  const lines = rows.slice(0, limit).map(row => rowOf(data, row));
  body.append(...lines);
  if (rows.length > limit) {
    const line = made('tr'), place = made('td', '', { colSpan: data.subjects.length + 1 });
    const button = made('button', `${rows.length - limit} more`, { className: 'more' });
    button.onclick = () => fill(data, body, rows, true, limit + 10 * MANY);
    place.append(button);
    line.append(place);
    body.append(line);
  }
}

function applied(data) {
  let count = 0;
  for (const body of document.querySelectorAll('#matrix tbody')) {
    const rows = data.topics[body.dataset.topic].filter(row => rowShown(data, row));
    const isOpen = isFiltered() ? true : body.dataset.open === 'true';
    body.hidden = !rows.length;
    count += rows.length;
    fill(data, body, rows, isOpen, MANY);
  }
  $('shown').textContent = isFiltered() ? `${count} of ${data.rows.length} rows` : '';
}

// ---- one cell

const nameOf = (data, row, cell) =>
  [data.cases[row.case].id, row.mode, data.subjects[cell.subject]].map(encodeURIComponent).join('|');

function section(into, title, ...parts) {
  const some = parts.filter(Boolean);
  if (some.length) into.append(made('h3', title), ...some);
}

const pre = text => text && made('pre', text);

function folded(title, text, isOpen = false) {
  const part = made('details', '', { open: isOpen });
  part.append(made('summary', title), pre(text));
  return part;
}

function valuesOf(data, cell) {
  if (!cell.values.length) return null;
  const table = made('table', '', { className: 'facts' }), box = made('div', '', { className: 'scroll' });
  const head = made('tr');
  head.append(...['compared', 'type', 'ulp', 'values'].map(text => made('th', text)));
  table.append(head);
  for (const [what, type, ulp, values, worst] of cell.values) {
    const line = made('tr'), texts = [data.texts[values], data.texts[worst]].filter(Boolean);
    line.append(made('td', data.texts[what]), made('td', data.texts[type]), made('td', ulp === null ? '-' : `${ulp}`));
    line.append(made('td', texts.join('; farthest apart: ')));
    table.append(line);
  }
  box.append(table);
  return box;
}

function programsOf(data, row) {
  return row.programs.flatMap(([name, stages]) =>
    stages.map(([stage, text]) => folded(`${data.texts[name]}: ${data.texts[stage]}`, data.texts[text])));
}

function beforeOf(data, cell) {
  if (!cell.before) return cell.change === 'new' ? 'not in the other run' : '';
  const [state, exactness, ulp] = cell.before;
  return [`before: ${data.states[state]}`, data.texts[exactness], ulp === null ? '' : `${ulp} ulp`].filter(Boolean).join(' · ');
}

function show(data, row, cell) {
  const one = data.cases[row.case], into = made('div'), state = data.states[cell.state];
  into.append(made('h2', `${one.id} · ${row.mode} · ${data.subjects[cell.subject]}`, { id: 'cell-title' }));
  into.append(made('p', one.title));
  const facts = [data.texts[cell.exactness], cell.ulp === null ? '' : `${cell.ulp} ulp`, `${cell.seconds} s`,
    `seed ${cell.seed}`, one.file].filter(Boolean).join(' · ');
  const line = made('p');
  line.append(made('b', state, { className: slug(state) }), made('small', ` ${facts}`));
  into.append(line);
  const before = beforeOf(data, cell);
  if (before) into.append(made('p', before, { className: 'before' }));
  section(into, 'message', pre(data.texts[cell.message]));
  section(into, 'first divergence from the reference', pre(data.texts[cell.departure]));
  section(into, 'values', valuesOf(data, cell));
  section(into, 'output', pre(data.texts[cell.output]));
  section(into, 'rules', ...one.rules.map(name => folded(name, data.rules[name] || 'no text', one.rules.length < 4)));
  section(into, 'source', pre(data.texts[one.source]));
  section(into, 'IR', ...programsOf(data, row));
  $('cell-body').replaceChildren(into);
  if (!$('cell').open) $('cell').showModal();
  $('cell').scrollTop = 0;
}

function showNamed(data) {
  const [id, mode, subject] = location.hash.slice(1).split('|').map(decodeURIComponent);
  const row = data.rows.find(each => data.cases[each.case].id === id && each.mode === mode);
  const cell = row && row.cells.find(each => data.subjects[each.subject] === subject);
  if (cell) show(data, row, cell);
  else if ($('cell').open) $('cell').close();
}

// ---- the data as they are used, and what the page listens to

const CELL = ['subject', 'state', 'exactness', 'ulp', 'seconds', 'seed', 'message', 'output', 'departure', 'values',
  'change', 'before'];

function prepared(data) {
  const cellOf = values => Object.fromEntries(CELL.map((name, index) => [name, values[index]]));
  data.rows = data.rows.map(([one, mode, programs, cells]) => ({ case: one, mode, programs, cells: cells.map(cellOf) }));
  data.topics = {};
  for (const row of data.rows) (data.topics[data.cases[row.case].topic] ||= []).push(row);
  return data;
}

function listen(data) {
  const toggled = (set, name) => (set.has(name) ? set.delete(name) : set.add(name));
  for (const body of document.querySelectorAll('#matrix tbody')) {
    body.dataset.open = data.rows.length <= LONG || body.dataset.quiet === 'false';
    body.querySelector('.fold').onclick = () => {
      body.dataset.open = body.querySelector('.fold').getAttribute('aria-expanded') !== 'true';
      const rows = data.topics[body.dataset.topic].filter(row => rowShown(data, row));
      fill(data, body, rows, body.dataset.open === 'true', MANY);
    };
  }
  for (const button of document.querySelectorAll('[data-state], [data-change]')) button.onclick = () => {
    const { state, change } = button.dataset;
    button.setAttribute('aria-pressed', button.getAttribute('aria-pressed') !== 'true');
    toggled(state ? asked.states : asked.changes, state || change);
    applied(data);
  };
  $('search').oninput = () => { asked.words = $('search').value.trim().toLowerCase(); applied(data); };
  for (const name of ['mode', 'subject']) $(name).onchange = () => { asked[name] = $(name).value; applied(data); };
  $('cell').onclose = () => { if (location.hash) history.replaceState(null, '', location.pathname + location.search); };
  addEventListener('hashchange', () => showNamed(data));
}

$('theme').onclick = () => {
  const root = document.documentElement, dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const now = root.dataset.theme || (dark ? 'dark' : 'light');
  root.dataset.theme = now === 'dark' ? 'light' : 'dark';
};

unpacked($('data').textContent).then(prepared).then(data => {
  listen(data);
  applied(data);
  showNamed(data);
  document.body.dataset.ready = 'true';
});
