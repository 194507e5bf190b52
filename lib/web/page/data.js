// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state of the appliances, requested from evb web at every interval, and the rates derived from it.
const MOST_SAMPLES = 900;
const WINDOW_MS = 6000; // over which rates of things are averaged
const PATIENCE_MS = 8000;

const store = {
  interval: 1000,
  reached: null, // whether evb web responds; null: no request yet
  nodes: [], // the list of /api/nodes
  selected: null,
  histories: new Map(), // name -> {column: [...]}
  snapshots: [], // of the selected node: {time, keys}, the oldest first
  last: null, // /api/nodes/NAME of the selected node
};

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok)
    throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

function appendHistory(name, columns) {
  const history = store.histories.get(name) ?? {};
  for (const [column, values] of Object.entries(columns))
    history[column] = (history[column] ?? []).concat(values).slice(-MOST_SAMPLES);
  store.histories.set(name, history);
}

async function askHistory(name) {
  const times = store.histories.get(name)?.time_ms ?? [];
  const since = times.length ? times[times.length - 1] : 0;
  appendHistory(name, await ask(`api/nodes/${encodeURIComponent(name)}/history?since=${since}`));
}

function select(name) {
  if (store.selected === name)
    return;
  store.selected = name;
  store.snapshots = [];
  store.last = null;
}

// Requests the whole state once. Throws if evb web does not respond.
async function refresh() {
  const { interval_ms: interval, nodes } = await ask("api/nodes");
  store.interval = interval;
  store.nodes = nodes.sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }));
  if (!nodes.some((node) => node.name === store.selected))
    select((nodes.find((node) => node.up) ?? nodes[0])?.name ?? null);
  const gone = [...store.histories.keys()].filter((name) => !nodes.some((n) => n.name === name));
  gone.forEach((name) => store.histories.delete(name));
  await Promise.allSettled(nodes.map((node) => askHistory(node.name)));
  if (store.selected !== null) {
    const asked = store.selected;
    const last = await ask(`api/nodes/${encodeURIComponent(asked)}`).catch(() => null);
    if (last !== null && asked === store.selected)
      keep(last);
  }
}

function keep(last) {
  const list = store.snapshots;
  store.last = last;
  if (last.snapshot === null || (list.length && list[list.length - 1].time === last.time_ms))
    return;
  list.push({ time: last.time_ms, keys: last.snapshot });
  while (list.length > 2 && list[1].time <= last.time_ms - WINDOW_MS)
    list.shift();
}

// --- series -----------------------------------------------------------------------------------

// A column of the selected node's history: [[time, value], ...].
function column(name, node = store.selected) {
  const history = store.histories.get(node);
  return history?.[name] ? history.time_ms.map((time, i) => [time, history[name][i]]) : [];
}

// Rate per second of a counter. Unknown where the counter decreased (another run) and after a gap.
function rate(name, node = store.selected) {
  const points = column(name, node);
  return points.map(([time, value], i) => {
    if (i === 0)
      return [time, null];
    const [before, old] = points[i - 1];
    const unknown = value === null || old === null || value < old ||
      time - before > 4 * store.interval + 1000;
    return [time, unknown ? null : (value - old) * 1000 / (time - before)];
  });
}

function latest(points) {
  return points.length ? points[points.length - 1][1] : null;
}

// The growth of a counter within the last `ms`.
function growth(name, ms) {
  const points = column(name);
  const end = points.length ? points[points.length - 1][0] : 0;
  let sum = 0;
  for (let i = 1; i < points.length; i++)
    if (points[i][0] > end - ms && points[i][1] > points[i - 1][1])
      sum += points[i][1] - points[i - 1][1];
  return sum;
}

// --- things -----------------------------------------------------------------------------------

// Keys with those of an older snapshot, for the rates of their counters.
function thing(keys, old, seconds) {
  return {
    name: Object.values(keys)[0],
    keys,
    // The time in ns that a share of the events since the older snapshot did not exceed.
    quantile: (key, share) => quantile(old?.[`${key}_ns`], keys[`${key}_ns`], share),
    rate(key) {
      const before = old?.[key];
      if (seconds <= 0 || before === undefined || keys[key] === undefined || keys[key] < before)
        return null;
      return (keys[key] - before) / seconds;
    },
  };
}

// Things of a group.
function things(group) {
  const list = store.snapshots;
  const now = list[list.length - 1], then = list[0];
  if (!now)
    return [];
  const name = (keys) => Object.values(keys)[0];
  const old = new Map((then.keys[group] ?? []).map((keys) => [name(keys), keys]));
  const seconds = (now.time - then.time) / 1000;
  return (now.keys[group] ?? []).map((keys) => thing(keys, old.get(name(keys)), seconds));
}

// The quantile of the values that a histogram {le_1, le_2, le_4, ..., inf, max} has gained since
// `before`, spread evenly between two bounds; null: none, or unknown.
function quantile(before, now, share) {
  const gained = (key) => now[key] - before[key];
  if (!before || !now || !(gained("inf") > 0))
    return null;
  const wanted = share * gained("inf");
  let low = 0, below = 0;
  for (let bound = 1; now[`le_${bound}`] !== undefined; bound *= 2) {
    const here = gained(`le_${bound}`);
    if (here >= wanted && here > below)
      return Math.min(low + (bound - low) * (wanted - below) / (here - below), now.max);
    low = bound;
    below = here;
  }
  return Math.min(low, now.max);
}

// Dictionaries NESTED_0, NESTED_1, ... of a thing.
function nested(keys, prefix) {
  return Object.entries(keys).filter(([key, value]) =>
    value !== null && typeof value === "object" && new RegExp(`^${prefix}_\\d+$`).test(key))
    .map(([, value]) => value);
}
