// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Requests the state and draws it, at every interval.

const RANGES = [["1 min", 60e3], ["5 min", 300e3], ["15 min", 900e3]];

const settings = { range: 60e3, allSources: false };

const plots = [
  new Plot("Event rate", "rate", [
    { label: "complete", color: "blue", fill: 0.16, points: () => rate("events_complete") },
    { label: "incomplete", color: "amber", points: () => rate("events_incomplete") },
    { label: "discarded", color: "red", points: () => rate("events_discarded") }]),
  new Plot("Throughput", "byteRate", [
    { label: "built", color: "teal", fill: 0.16, points: () => rate("bytes_built") },
    { label: "received", color: "violet", points: () => rate("packets_received_bytes") },
    { label: "written", color: "amber", points: () => rate("written_bytes") }]),
  new Plot("Latency of events, first segment to complete", "time", [
    { label: "p50", color: "green", points: () => column("complete_p50_ns") },
    { label: "p99", color: "violet", points: () => column("complete_p99_ns") },
    { label: "p99.9", color: "red", points: () => column("complete_p999_ns") }], true),
  new Plot("Slots and events", "count", [
    { label: "slots free", color: "amber", fill: 0.12, points: () => column("slots_free") },
    { label: "events being built", color: "blue", points: () => column("events_open") }]),
];

function drawPlots() {
  plots.forEach((plot) => plot.draw());
}

const byId = (id) => document.getElementById(id);

function notice() {
  if (store.reached === false)
    return h("div", { class: "notice bad" }, "evb web does not answer; trying again. ",
      "What is shown is what it said last.");
  if (store.reached === null)
    return h("div", { class: "notice" }, "Asking ...");
  if (!store.nodes.length)
    return h("div", { class: "notice" }, "No appliance is running. Start one: ",
      h("code", {}, "evb run configs/demo.json"), " and it appears here.");
  const { last } = store;
  if (last && !last.up)
    return h("div", { class: `notice ${last.state === "ended" ? "" : "bad"}` }, h("b", {}, last.error),
      last.snapshot ? `. Shown is what it said at ${timeText(last.time_ms, true)}.` : "");
  return h("div", {});
}

// How an appliance is called that has no new figures.
const STATES = { waits: "not started", ended: "ended", died: "crashed", silent: "no answer" };

function identity() {
  const { last } = store, info = last?.snapshot?.info;
  if (!info)
    return h("div", {}, store.selected ?? "");
  const tone = last.state === "ended" ? "idle" : !last.up ? "bad"
    : info.state === "running" ? worst(findings(last)) : "warn";
  return h("div", {}, h("b", {}, last.name), h("span", { class: `pill ${tone}` },
    last.up ? info.state : STATES[last.state]), h("span", {}, `run ${info.run_number}`),
  h("span", {}, `up ${showDuration(info.uptime_seconds)}`),
  h("span", {}, plural(info.sources, "source")),
  h("span", { title: info.configuration }, info.configuration.split("/").pop()));
}

// All appliances, if there are several: one button each, with its diagnosis.
function nodeList() {
  if (store.nodes.length < 2)
    return h("div", {});
  return h("div", {}, ...store.nodes.map((node) => {
    const wrong = node.diagnosis;
    const tone = node.up ? toneOf(wrong?.severity ?? 0) : node.state === "ended" ? "idle" : "bad";
    const text = node.up ? wrong?.sentence ?? "all is well" : node.error;
    return h("button", { class: "node", "aria-pressed": `${node.name === store.selected}`,
      title: wrong?.remedy ?? "", onclick: () => {
        select(node.name);
        tick();
      } },
    h("span", { class: `dot ${tone}` }),
    h("span", {}, node.name, h("small", {}, node.up
      ? show("rate", latest(rate("events_complete", node.name))) : STATES[node.state])),
    h("canvas"), h("span", { class: `said ${tone}` }, text));
  }));
}

function render() {
  const { last } = store;
  const made = tiles(last);
  patch(byId("notice"), notice());
  patch(byId("identity"), identity());
  patch(byId("nodes"), nodeList());
  patch(byId("health"), h("div", {}, health(last)));
  patch(byId("tiles"), h("section", {}, ...made.map(({ element }) => element)));
  patch(byId("panels"), h("section", {}, ...(store.snapshots.length ? columns() : [])));
  patch(byId("range"), h("div", { class: "switch" }, ...RANGES.map(([label, range]) =>
    h("button", { "aria-pressed": `${settings.range === range}`, onclick: () => {
      settings.range = range;
      render();
    } }, label))));
  byId("tiles").querySelectorAll("canvas").forEach((canvas, i) =>
    sparkline(canvas, made[i].points, made[i].name, settings.range));
  byId("nodes").querySelectorAll("canvas").forEach((canvas, i) =>
    sparkline(canvas, rate("events_complete", store.nodes[i].name), "blue", settings.range));
  plots.forEach((plot) => plot.update(settings.range));
  document.querySelector("main").className = store.reached && last?.up ? "" : "stale";
  document.title = last?.up && store.reached
    ? `${show("rate", recent(rate("events_complete")))} \u00b7 ${last.name} \u00b7 evb` : "evb";
}

async function tick() {
  try {
    await refresh();
    store.reached = true;
  } catch {
    store.reached = false;
  }
  render();
  document.documentElement.dataset.ticks = Number(document.documentElement.dataset.ticks ?? 0) + 1;
}

async function run() {
  for (;;) {
    await tick();
    await new Promise((resolve) => setTimeout(resolve, store.interval));
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  drawPlots();
}

byId("plots").append(...plots.map(({ element }) => element));
byId("theme").onclick = () => {
  setTheme(document.documentElement.dataset.theme === "light" ? "dark" : "light");
  render();
};
const wishes = new URLSearchParams(location.search); // ?node=NAME&theme=light
select(wishes.get("node"));
setTheme(wishes.get("theme") ??
  (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark"));
run();
