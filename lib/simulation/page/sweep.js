// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The report of a sweep: curves over the values of the first key, a line for each combination of
// the others.

const lostShare = (result) =>
  result.packets_sent ? sum(Object.values(result.lost_packets)) / result.packets_sent : 0;

const eventsOf = (result) => result.system?.events_complete ?? result.events_complete;

// Title, format and figure of a result; null: it has none.
function curves(points) {
  const [what, times] = latencyOf(points.map(({ result }) => result));
  return [
    ["Throughput per host, mean", "bitRate", (result) => result.throughput.mean_bps],
    ["Throughput of the host that received the least", "bitRate",
      (result) => result.throughput.least_bps],
    [`Latency of ${what}: 99 %`, "time", (result) =>
      times(result)?.n > 0 ? times(result).p99_ns : null],
    ["Packets lost", "percent", lostShare],
    ["Longest queue", "bytes", (result) => result.queue_most_bytes],
    ["Events", "rate", (result) => result.measured_ns > 0
      ? eventsOf(result) * 1e9 / result.measured_ns : null],
  ];
}

const valueOf = (text) => text.slice(text.indexOf("=") + 1);
const keyOf = (text) => text.slice(0, text.indexOf("=")).replace(/^fabric\./, "");

// The places of the values on the axis: their numbers, if all are plain numbers, else their order.
function swept(points) {
  const values = [...new Set(points.map(({ set }) => valueOf(set[0])))];
  const numbers = values.map(Number), least = Math.min(...numbers), most = Math.max(...numbers);
  const isNumber = values.length > 1 && values.every((text) => text.trim() !== "") &&
    numbers.every(Number.isFinite) && least < most;
  const place = new Map(values.map((text, i) => [text, isNumber ? numbers[i] : i]));
  const log = isNumber && least > 0 && most / least >= 8;
  const margin = isNumber ? (most - least) * 0.04 : 0.4;
  return { place, axis: { log, label: keyOf(points[0].set[0]),
    from: log ? least / 1.1 : (isNumber ? least : 0) - margin,
    to: log ? most * 1.1 : (isNumber ? most : values.length - 1) + margin,
    marks: [...place].map(([text, at]) => [at, text]) } };
}

function lines(points) {
  const groups = new Map();
  for (const point of points) {
    const name = point.set.slice(1).map((text) => `${keyOf(text)} ${valueOf(text)}`).join(", ");
    groups.set(name, [...(groups.get(name) ?? []), point]);
  }
  return [...groups].map(([name, list], i) => ({ name, list, color: COLORS[i % COLORS.length],
    dashes: ["", "6 3", "2 3", "9 3 2 3"][Math.floor(i / COLORS.length) % 4] }));
}

function curvePanel(points, [title, format, figure]) {
  const { place, axis } = swept(points), groups = lines(points);
  const at = (list) => list.map(({ set, result }) => [place.get(valueOf(set[0])), figure(result)])
    .filter(([, height]) => height !== null).sort(([a], [b]) => a - b);
  if (!points.some(({ result }) => figure(result) > 0))
    return null;
  return panel(title, "", chart({ width: 540, height: 270, x: axis,
    y: fromZero(points.map(({ result }) => figure(result)), format, ""),
    draw: (x, y) => groups.flatMap(({ list, color, dashes }) => [
      v("path", { class: `line s-${color}`, "stroke-dasharray": dashes,
        d: pathOf(at(list), x, y) }),
      ...at(list).map(([value, height]) => v("circle", { class: `f-${color}`, cx: x(value),
        cy: y(height), r: 3.2 }, v("title", {}, show(format, height))))]) }),
  groups.length > 1 ? key(...groups.map(({ name, color }) => [name, color])) : "");
}

function pointTable(points) {
  const figures = curves(points);
  const element = panel("All points", plural(points.length, "point"),
    table([...points[0].set.map((text) => [keyOf(text), "left"]),
      ...["mean", "least", "p99 latency", "lost", "longest queue", "events"].map((name) => [name]),
      ["", "left"]],
    points.map(({ set, result }) => [...set.map(valueOf),
      ...figures.map(([, format, figure]) => show(format, figure(result))),
      h("span", { class: "wrong" }, result.deadlock ? "deadlock" : "")])));
  element.classList.add("wide");
  return element;
}

function sweep(points) {
  if (!points.length)
    return [h("div", { class: "warning" }, "No point was simulated.")];
  return [h("div", { class: "grid" }, ...curves(points).map((curve) => curvePanel(points, curve)),
    pointTable(points))];
}
