// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The parts of a report that show one simulation, from what `--json` writes.

const WORST = 10; // ports of a list
const MOST_CELLS = 40000;

const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 2 : 1)} %`;
const arrow = ({ from, to }) => `${from} \u2192 ${to}`;

function losses(port) {
  return Object.entries(port).filter(([name]) => name.startsWith("lost_"))
    .map(([name, packets]) => [name.slice("lost_".length), packets]);
}

const lostAt = (port) => sum(losses(port).map(([, packets]) => packets));

function worst(ports, valueOf, most = WORST) {
  return ports.filter((port) => valueOf(port) > 0).sort((a, b) => valueOf(b) - valueOf(a))
    .slice(0, most);
}

function switchPorts({ ports }) {
  return ports.filter(({ from }) => from.startsWith("switch"));
}

function widePanel(title, note, ...children) {
  const element = panel(title, note, ...children);
  element.classList.add("wide");
  return element;
}

const LATENCIES = [
  ["events, from their announcement to their publication", (result) => result.system?.published],
  ["events", (result) => result.event_latency], ["messages", (result) => result.message_latency]];

// The latency that users see, the first that one of these results has: [title, times of a result].
function latencyOf(results) {
  return LATENCIES.find(([, times]) => results.some((result) => times(result)?.n > 0)) ??
    LATENCIES[LATENCIES.length - 1];
}

function latency(result) {
  const [title, times] = latencyOf([result]);
  return [title, times(result)];
}

const WAITS = { credits: "without credits", retry: "in front of a full buffer" };

function waitWord(result) {
  return WAITS[result.fabric.flow_control] ?? "paused";
}

// --- key figures ----------------------------------------------------------------------------------

function tile(title, figure, note) {
  const [number, unit] = figure.split("\u2009");
  return h("div", { class: "tile" }, h("h2", {}, title),
    h("div", { class: "big" }, number, unit ? h("small", {}, unit) : ""), h("p", {}, note));
}

function linkRates({ link_rate_least_bps: least, link_rate_most_bps: most }) {
  return show("bitRate", least) + (most > least ? ` to ${show("bitRate", most)}` : "");
}

function figures(result) {
  const { throughput, measured_ns: time } = result, [what, times] = latency(result);
  const events = result.system?.events_complete ?? result.events_complete;
  const lost = sum(Object.values(result.lost_packets));
  const [longest] = worst(switchPorts(result), (port) => port.queue_most_bytes, 1);
  const [stopped] = worst(result.ports, (port) => port.paused_ns, 1);
  const list = [
    tile("Throughput per host", show("bitRate", throughput.mean_bps),
      `least ${show("bitRate", throughput.least_bps)} (host ${throughput.least_host}), most ` +
      `${show("bitRate", throughput.most_bps)} (host ${throughput.most_host})`),
    tile("Total throughput", show("bitRate", throughput.mean_bps * result.hosts),
      `${plural(result.hosts, "host")}, links of ${linkRates(result)}`)];
  if (events > 0 && time > 0)
    list.push(tile("Events", show("rate", events * 1e9 / time), `${events} complete` +
      (result.system?.events_incomplete ? `, ${result.system.events_incomplete} incomplete` : "")));
  if (times.n > 0)
    list.push(tile("Latency, 99 %", show("time", times.p99_ns),
      `of ${what.split(",")[0]}; mean ${show("time", times.mean_ns)}, most ${show("time", times.most_ns)}`));
  list.push(tile("Packets lost", percent(result.packets_sent ? lost / result.packets_sent : 0),
    `${lost} of ${result.packets_sent}`));
  if ("packets_refused" in result)
    list.push(tile("Transmissions refused",
      percent(result.hops ? result.packets_refused / result.hops : 0),
      `${result.packets_refused} of ${result.hops}; ${result.packets_repeated} packets sent again`));
  if (longest)
    list.push(tile("Longest queue", show("bytes", longest.queue_most_bytes), arrow(longest)));
  if (stopped)
    list.push(tile(`Most ${waitWord(result)}`, percent(stopped.paused_ns / time), arrow(stopped)));
  return h("div", { class: "tiles" }, ...list);
}

function warnings({ dependency_cycle: cycle, deadlock, storms }) {
  const list = [];
  if (cycle)
    list.push(["Cycle of dependencies: ",
      `by the routes these buffers can wait for each other: ${cycle.join("; ")}`]);
  if (deadlock)
    list.push(["Deadlock: ", `these buffers wait for each other: ${deadlock.join("; ")}`]);
  if (storms)
    list.push(["Storm: ", storms.map(({ by, pauses, since_ns: since }) =>
      `${by} pauses ${pauses} since ${show("time", since)}`).join("; ")]);
  return list.map(([title, text]) => h("div", { class: "warning" }, h("b", {}, title), text));
}

// Nanoseconds of a time as it is written in a configuration.
function nanoseconds(text) {
  const [, number, unit] = /^([\d.]+)(\D*)$/.exec(text);
  return number * ({ us: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12 }[unit] ?? 1);
}

// When a part of the network failed: [[begin, end], ...], of faults within the time that is shown.
function faultTimes({ fabric, simulated_ns: end }) {
  const MOST = 500, list = [];
  for (const fault of fabric.faults ?? []) {
    const [length, period] = [fault.length, fault.period].map(nanoseconds);
    for (let at = nanoseconds(fault.begin); at < end && list.length < MOST; at += period) {
      list.push([at, length > 0 ? Math.min(at + length, end) : end]);
      if (period === 0)
        break;
    }
  }
  return list;
}

// --- against time -----------------------------------------------------------------------------------

function overTime(result, label, lines, format, bands = []) {
  const { series, fabric } = result;
  const points = (name) => series.map((point) => [point.time_ns, point[name]]);
  const from = result.simulated_ns - result.measured_ns;
  return chart({ width: 1100, height: 215,
    x: { from, to: result.simulated_ns, format: "time",
      label: fabric.warm_up === "0" ? "simulated time" : "simulated time, after the warm-up" },
    y: fromZero(lines.flatMap(([name]) => series.map((point) => point[name])), format, label),
    draw: (x, y, area) => [
      ...faultTimes(result).filter(([, end]) => end > from).map(([begin, end]) =>
        v("rect", { class: "fault", x: x(begin), width: x(end) - x(begin), y: area.top,
          height: area.bottom - area.top })),
      ...bands.map(([low, high, color]) => band(points(low), points(high), color, x, y)),
      ...lines.map(([name, color]) => line(points(name), color, x, y))] });
}

function throughputPanel(result) {
  const shaded = result.fabric.faults?.length ? [["a fault", "fault"]] : [];
  return widePanel("Throughput against time", key(["mean of all hosts", "blue"],
    ["host that received the least in the interval", "amber"], ["the most", "green"], ...shaded),
  overTime(result, result.system ? "received from the network per host, with headers"
    : "received per host", [["least_bps", "amber"], ["most_bps", "green"],
    ["mean_bps", "blue"]], "bitRate", [["least_bps", "most_bps", "blue"]]));
}

function overTimePanels(result) {
  const any = (name) => result.series.some((point) => point[name] > 0);
  const list = [widePanel("Longest queue against time", "",
    overTime(result, "queued for one port", [["queue_most_bytes", "violet"]], "bytes"))];
  if (any("paused_share"))
    list.push(widePanel(`Ports ${waitWord(result)} against time`, "", overTime(result,
      "mean share of the time, all ports", [["paused_share", "amber"]], "percent")));
  if (any("lost_packets"))
    list.push(widePanel("Losses against time", "", overTime(result, "packets lost per interval",
      [["lost_packets", "red"]], "count")));
  return list;
}

// --- links --------------------------------------------------------------------------------------------

// Rows of the map, one per switch: ports of hosts to it, its ports to hosts, its ports to switches.
function switchRows(ports) {
  const rows = new Map();
  const row = (name) => rows.get(name) ?? rows.set(name, [[], [], []]).get(name);
  for (const port of ports) {
    if (port.from.startsWith("switch"))
      row(port.from)[port.to.startsWith("host") ? 1 : 2].push(port);
    else
      row(port.to)[0].push(port);
  }
  return [...rows].sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
}

// A cell per port; its color is as strong as share(port), 0 to 1.
function map(rows, color, share, text) {
  const WRAP = 64, GAP = 12, LEFT = 64, TOP = 16, TITLES = ["from hosts", "to hosts",
    "to switches"];
  const widths = TITLES.map((_, i) =>
    Math.min(WRAP, Math.max(...rows.map(([, parts]) => parts[i].length))));
  const size = Math.max(3, Math.min(18, (560 - LEFT - 3 * GAP) / sum(widths)));
  const room = widths.map((n) => n > 0 ? Math.max(n * size, 58) : 0); // that of the title, too
  const cells = [], lefts = widths.map((_, i) => LEFT + sum(room.slice(0, i)) + i * GAP);
  let top = TOP, labelled = 0;
  widths.forEach((n, i) => n > 0 &&
    cells.push(v("text", { x: lefts[i], y: 10 }, TITLES[i])));
  for (const [name, parts] of rows) {
    if (top >= labelled) {
      cells.push(v("text", { x: LEFT - 6, y: top + size / 2 + 4, "text-anchor": "end" },
        v("title", {}, name), name.replace(/ \(.*/, "")));
      labelled = top + 12;
    }
    parts.forEach((list, i) => list.forEach((port, n) => {
      const place = { x: lefts[i] + (n % WRAP) * size, y: top + Math.floor(n / WRAP) * size,
        width: size - 1, height: size - 1 };
      cells.push(v("rect", { class: "cell", ...place }));
      if (share(port) > 0)
        cells.push(v("rect", { class: `f-${color}`, "fill-opacity": 0.1 + 0.9 * share(port),
          ...place }, v("title", {}, `${arrow(port)}: ${text(port)}`)));
    }));
    top += size * Math.max(1, ...parts.map((list) => Math.ceil(list.length / WRAP))) +
      (size > 8 ? 3 : 1);
  }
  return v("svg", { viewBox: `0 0 560 ${top + 4}`, role: "img" }, cells);
}

function mapPanel(result) {
  const { ports, measured_ns: time } = result, rows = switchRows(ports);
  const mostLost = Math.max(...ports.map(lostAt));
  const kinds = [
    ["Load: share of the time that a port sends", "blue", (port) => port.busy_ns / time,
      (port) => percent(port.busy_ns / time)],
    [`Share of the time that a port is ${waitWord(result)}`, "amber",
      (port) => port.paused_ns / time, (port) => percent(port.paused_ns / time)],
    [`Packets lost in front of a port; darkest: ${mostLost}, in powers of ten`, "red",
      (port) => Math.log1p(lostAt(port)) / Math.log1p(mostLost), (port) => `${lostAt(port)}`]]
    .filter(([, , share]) => ports.some((port) => share(port) > 0));
  if (ports.length > MOST_CELLS)
    return widePanel("Links", "", `${ports.length} ports are too many for a map.`);
  return widePanel("Links", "a cell per port, a row per switch; white to full color: 0 to 100 %",
    h("div", { class: "maps" }, ...kinds.map(([title, color, share, text]) =>
      h("div", {}, h("h3", {}, title), map(rows, color, share, text)))));
}

// --- ports ----------------------------------------------------------------------------------------------

function row(name, parts, whole, value) {
  return h("div", { class: "row" }, h("span", { class: "what" }, name), bar(parts, whole),
    h("span", { class: "value" }, value));
}

function queuePanel(result) {
  const list = worst(switchPorts(result), (port) => port.queue_p99_bytes);
  const whole = Math.max(...list.map((port) => port.queue_most_bytes));
  return panel("Longest queues", key(["mean", "violet"], ["99 %", "blue"], ["most", "faint"]),
    ...list.map((port) => row(arrow(port), [[port.queue_mean_bytes, "violet"],
      [port.queue_p99_bytes - port.queue_mean_bytes, "blue"],
      [port.queue_most_bytes - port.queue_p99_bytes, "faint"]], whole,
    ["mean", "p99", "most"].map((what) => show("bytes", port[`queue_${what}_bytes`]))
      .join(" \u00b7 "))), list.length ? "" : h("div", { class: "empty" }, "No port had a queue."));
}

function lossPanel(result) {
  const list = worst(result.ports, lostAt), causes = Object.keys(result.lost_packets);
  const color = (cause) => ["red", "amber", "violet", "teal", "blue"][causes.indexOf(cause) % 5];
  const present = causes.filter((cause) => result.lost_packets[cause] > 0);
  return panel("Losses by place and cause", key(...present.map((cause) =>
    [`${cause}: ${result.lost_packets[cause]}`, color(cause)])),
  ...list.map((port) => row(arrow(port), losses(port).map(([cause, packets]) =>
    [packets, color(cause)]), lostAt(list[0]), `${lostAt(port)} packets`)),
  list.length ? "" : h("div", { class: "empty ok" }, "No packet was lost."));
}

// --- latency --------------------------------------------------------------------------------------------

// Bins of a histogram with 8 bins per power of two (lib/base/histogram.h): [begin, end, count].
function bins(times) {
  return times.below_ns.map(([end, count]) =>
    [end - Math.max(1, 2 ** (Math.floor(Math.log2(end - 1)) - 3)), end, count]);
}

function latencyPanel(result) {
  const [what, times] = latency(result);
  if (times.n === 0)
    return panel("Latency", "", h("div", { class: "empty" }, "Nothing arrived as a whole."));
  const list = bins(times).map(([begin, end, count]) => [Math.max(begin, 1), end, count])
    .filter(([begin, end]) => end > begin);
  const density = ([begin, end, count]) => count / times.n / Math.log2(end / begin);
  const marks = [["50 %", times.p50_ns], ["99 %", times.p99_ns]];
  return panel(`Latency of ${what}`, `${times.n} ${what.split(",")[0]}`, chart({
    width: 540, height: 260,
    x: { from: list[0][0] / 1.3, to: list[list.length - 1][1] * 1.3, log: true, format: "time",
      label: "latency" },
    y: { ...fromZero(list.map(density), "percent", "share per power of two"), marks: [] },
    draw: (x, y, area) => [
      ...list.map((bin) => v("rect", { class: "f-blue", "fill-opacity": 0.75, x: x(bin[0]),
        width: Math.max(0.6, x(bin[1]) - x(bin[0]) - 0.3), y: y(density(bin)),
        height: area.bottom - y(density(bin)) },
      v("title", {}, `${show("time", bin[0])} to ${show("time", bin[1])}: ${bin[2]}`))),
      ...marks.flatMap(([text, at], i) => [
        v("line", { class: "line s-soft", x1: x(at), x2: x(at), y1: area.top, y2: area.bottom }),
        v("text", { class: "strong", x: x(at) + (x(at) < 300 ? 4 : -4), y: area.top - 6 + 13 * i,
          "text-anchor": x(at) < 300 ? "start" : "end" }, `${text}: ${show("time", at)}`)])] }));
}

// --- pauses ---------------------------------------------------------------------------------------------

// Why each port was paused: by a host that received slowly, or by a switch because of its longest
// queue; if the port of that queue was paused itself, by the cause of that. Returns the ports below
// each cause: a host, or a port as "from -> to".
function causesOf(ports, time) {
  const queues = new Map(), below = new Map();
  for (const port of ports)
    if (port.from.startsWith("switch") &&
        port.queue_mean_bytes > (queues.get(port.from)?.queue_mean_bytes ?? 0))
      queues.set(port.from, port);
  for (const port of worst(ports, ({ paused_ns: paused }) => paused, Infinity)) {
    const queue = queues.get(port.to), name = queue ? arrow(queue) : port.to;
    if (!below.has(name))
      below.set(name, { queue, ports: [] });
    below.get(name).ports.push(port);
  }
  const isPaused = (queue) => queue && queue.paused_ns > 0.05 * time;
  const roots = [...below.keys()].filter((name) => !isPaused(below.get(name).queue));
  return { below, roots };
}

function pausePanel(result) {
  const MOST = 5, MOST_LINES = 24, { ports, measured_ns: time } = result, seen = new Set();
  const least = Math.max(...ports.map((port) => port.paused_ns)) / 10;
  const { below, roots } = causesOf(ports.filter((port) => port.paused_ns > least), time);
  let lines = 0;
  const strength = (list) => sum(list.map((port) => port.paused_ns));
  const tree = (name) => {
    const list = below.get(name)?.ports ?? [];
    if (!list.length || seen.has(name) || lines > MOST_LINES)
      return "";
    seen.add(name);
    lines += Math.min(list.length, MOST);
    // Those that go on first, so that the whole chain is shown.
    const sorted = [...list].sort((a, b) => below.has(arrow(b)) - below.has(arrow(a)));
    return h("ul", {}, ...sorted.slice(0, MOST).map((port) => h("li", {},
      bar([[port.paused_ns, "amber"]], time), `${arrow(port)}: ${percent(port.paused_ns / time)}`,
      port.pauses ? h("span", { class: "soft" }, `, ${plural(port.pauses, "pause")}`) : "",
      port.refused ? h("span", { class: "soft" }, `, ${port.refused} packets refused`) : "",
      tree(arrow(port)))), list.length > MOST ? h("li", { class: "soft" },
      `and ${list.length - MOST} more, ` +
      `${percent(strength(sorted.slice(MOST)) / (list.length - MOST) / time)} on average`) : "");
  };
  const root = (name, isCycle) => {
    const { queue } = below.get(name);
    return h("li", {}, h("b", {}, name), h("span", { class: "soft" }, queue
      ? `: busy ${percent(queue.busy_ns / time)}, queue ${show("bytes", queue.queue_mean_bytes)}` +
        (isCycle ? "; waits for itself" : "") : " receives slowly"), tree(name));
  };
  const inOrder = roots.sort((a, b) => strength(below.get(b).ports) - strength(below.get(a).ports));
  const items = inOrder.slice(0, MOST).map((name) => root(name, false));
  const [cycle] = roots.length ? [] : below.keys();
  if (!below.size)
    return panel("Who paused whom", "", h("div", { class: "empty ok" }, "Nobody was paused."));
  return panel(waitWord(result) === "paused" ? "Who paused whom" : "Who waited for whose buffers",
    "the cause, and below it the ports that waited, with their share of the time",
    h("div", { class: "causes" }, h("ul", {}, ...items, cycle ? root(cycle, true) : "")));
}

// --- settings -------------------------------------------------------------------------------------------

function flat(object, prefix = "") {
  return Object.entries(object).flatMap(([name, value]) => value !== null &&
    typeof value === "object" ? flat(value, `${prefix}${name}.`) : [[`${prefix}${name}`, value]]);
}

function settingsPanel(result) {
  return widePanel("Settings", "section fabric of the configuration",
    h("div", { class: "settings" }, ...flat(result.fabric).map(([name, value]) =>
      h("div", {}, h("span", {}, name), h("span", {}, `${value}`)))));
}

function single(result) {
  return [...warnings(result), figures(result), h("div", { class: "grid" },
    throughputPanel(result), mapPanel(result),
    h("div", { class: "stack" }, latencyPanel(result), lossPanel(result)),
    h("div", { class: "stack" }, queuePanel(result), pausePanel(result)),
    ...overTimePanels(result), settingsPanel(result))];
}
