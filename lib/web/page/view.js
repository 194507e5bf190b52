// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The parts of the page: they are made from the present state, and the document is changed to match.

// Changes `to` to match `from` in few steps, so that the element under the pointer stays.
function patch(to, from) {
  for (const { name } of [...to.attributes])
    if (name !== "style" && name !== "id" && !from.hasAttribute(name))
      to.removeAttribute(name);
  for (const { name, value } of from.attributes)
    if (name !== "style" && to.getAttribute(name) !== value)
      to.setAttribute(name, value);
  if (to.style.cssText !== from.style.cssText)
    to.style.cssText = from.style.cssText;
  to.onclick = from.onclick;
  const news = [...from.childNodes];
  news.forEach((child, i) => {
    const old = to.childNodes[i];
    if (!old)
      to.append(child);
    else if (old.nodeType !== child.nodeType || old.nodeName !== child.nodeName ||
             old.nodeName === "CANVAS")
      old.nodeName === "CANVAS" && child.nodeName === "CANVAS" ? null : old.replaceWith(child);
    else if (child.nodeType === Node.TEXT_NODE)
      old.data !== child.data && (old.data = child.data);
    else
      patch(old, child);
  });
  while (to.childNodes.length > news.length)
    to.lastChild.remove();
}

// --- diagnosis ----------------------------------------------------------------------------------

// What is wrong with an appliance, as it says itself: causes come before their consequences.
function findings(last) {
  return last?.up ? last.snapshot?.diagnosis ?? [] : [];
}

function toneOf(severity) {
  return severity >= 2 ? "bad" : severity > 0 ? "warn" : "good";
}

function worst(list) {
  return toneOf(Math.max(0, ...list.map(({ severity }) => severity)));
}

// Whether a role cannot go on because of one of them.
function heldBack(role) {
  return findings(store.last).find(({ holds_back: held }) => held === role)?.subject;
}

function health(last) {
  if (!last?.snapshot || !last.up)
    return h("div", {});
  const list = findings(last), [first, ...others] = list;
  if (!first)
    return h("div", { class: "issues good" }, h("b", { class: "ok" }, "All is well"));
  return h("div", { class: `issues ${worst(list)}` },
    h("p", { class: `diagnosis ${toneOf(first.severity)}` }, first.sentence),
    h("p", { class: "remedy" }, first.remedy),
    ...others.map(({ severity, sentence, remedy }) =>
      h("span", { class: `issue ${toneOf(severity)}`, title: remedy }, sentence)));
}

// --- tiles --------------------------------------------------------------------------------------

function completeness() {
  const complete = growth("events_complete", settings.range);
  const other = growth("events_incomplete", settings.range) +
    growth("events_discarded", settings.range);
  return complete + other > 0 ? complete / (complete + other) : null;
}

// Averaged over a few samples, so that the number is readable.
function recent(points) {
  const known = points.slice(-3).map(([, value]) => value).filter((value) => value !== null);
  return known.length ? sum(known) / known.length : null;
}

function tile(title, format, value, note, points, name, tone = "") {
  const [number, unit] = value === null ? ["\u2013", ""] : formats[format](value);
  return { points, name, element: h("div", { class: "tile" }, h("h2", {}, title),
    h("div", { class: `big ${tone}` }, number, h("small", {}, unit)),
    h("p", {}, store.last?.snapshot ? note : "\u00a0"), h("canvas")) };
}

function tiles(last) {
  const summary = last?.snapshot?.summary ?? {};
  const events = rate("events_complete"), built = rate("bytes_built");
  const lost = rate("loss_total"), missed = rate("packets_missed");
  const losses = lost.map(([time, value], i) =>
    [time, value === null || missed[i]?.[1] === null ? null : value + missed[i][1]]);
  const share = completeness(), slots = sum(things("builder").map(({ keys }) => keys.slots));
  const free = latest(column("slots_free"));
  const all = (summary.loss_total ?? 0) + (summary.packets_missed ?? 0);
  const incomplete = (summary.events_incomplete ?? 0) + (summary.events_discarded ?? 0);
  const incompletes = rate("events_incomplete"), discards = rate("events_discarded");
  const ratio = events.map(([time, value], i) => {
    const seen = value + (incompletes[i]?.[1] ?? 0) + (discards[i]?.[1] ?? 0);
    return [time, value === null || seen === 0 ? null : value / seen];
  });
  return [
    tile("Complete events", "rate", recent(events),
      `${show("count", summary.events_complete)} since the start`, events, "blue"),
    tile("Throughput", "byteRate", recent(built),
      `${show("bytes", summary.bytes_built)} built`, built, "teal"),
    tile("Completeness", "percent", share, incomplete
      ? `${show("count", incomplete)} incomplete or discarded` : "no event incomplete", ratio,
    "green", share !== null && share < 1 ? "wrong" : ""),
    tile("Losses", "rate", recent(losses),
      all ? `${show("count", all)} packets and segments in all` : "none since the start", losses,
      "red", recent(losses) > 0 ? "wrong" : ""),
    tile("Latency p99", "time", recent(column("complete_p99_ns")),
      `median ${show("time", recent(column("complete_p50_ns")))}`,
      column("complete_p99_ns"), "violet"),
    tile("Free slots", "count", free, slots ? `of ${slots}` : "no builder here",
      column("slots_free"), "amber", slots && free === 0 ? "wrong" : ""),
  ];
}

// --- losses -------------------------------------------------------------------------------------

function causes() {
  const { snapshots } = store, now = snapshots[snapshots.length - 1], then = snapshots[0];
  const { keys, rate: of } = thing(now.keys.summary, then.keys.summary,
    (now.time - then.time) / 1000);
  const kinds = [["packet_drop_", "packets"], ["segment_drop_", "segments"]];
  const list = Object.entries(keys).flatMap(([key, total]) => kinds
    .filter(([prefix]) => key.startsWith(prefix)).map(([prefix, what]) => ({
      name: key.slice(prefix.length).replaceAll("_", " "), what, total, recent: of(key) ?? 0 })));
  list.push({ name: "missed by ports", what: "packets", total: keys.packets_missed ?? 0,
    recent: of("packets_missed") ?? 0 });
  return list.filter(({ total }) => total > 0).sort((a, b) => b.recent - a.recent ||
    b.total - a.total);
}

function lossPanel() {
  const list = causes(), most = Math.max(1, ...list.map(({ total }) => total));
  if (!list.length)
    return panel("Losses by cause", "", h("div", { class: "empty ok" },
      "Nothing was dropped or missed."));
  return panel("Losses by cause", "since the start",
    ...list.slice(0, 10).map(({ name, what, total, recent: now }) => h("div", { class: "row" },
      h("span", { class: "what", title: what }, name),
      bar([[total, now > 0 ? "red" : "amber"]], most),
      h("span", { class: "value" }, show("count", total), now > 0
        ? h("span", { class: "wrong" }, ` +${show("rate", now)}`) : ""))));
}

// --- sources ------------------------------------------------------------------------------------

// Sources with their figures, the worst first. The lag of a source is the number of its delivered or
// missing blocks below that of the source that is furthest ahead.
function sources() {
  const list = things("source");
  const seen = ({ keys }) => (keys.blocks_whole ?? 0) + (keys.blocks_missing ?? 0);
  const best = Math.max(0, ...list.map(seen));
  const fastest = Math.max(0, ...list.map((one) => one.rate("blocks_whole") ?? 0));
  return list.map((one) => {
    const blocks = one.rate("blocks_whole"), missing = one.rate("blocks_missing") ?? 0;
    const drops = Object.keys(one.keys).filter((key) => key.startsWith("segment_drop_"));
    const dropped = sum(drops.map((key) => one.keys[key]));
    const dropping = sum(drops.map((key) => one.rate(key)));
    const lag = best - seen(one);
    const state = fastest > 0 && blocks === 0 ? "silent" : missing > 0 ? "losing"
      : dropping > 0 ? "dropping" : one.keys.blocks_missing || dropped ? "lost before"
        : blocks ? "good" : "idle";
    const badness = [["silent", "losing"].includes(state), state === "dropping", missing, dropping,
      one.keys.blocks_missing ?? 0, dropped, lag];
    return { ...one, blocks, missing, dropped, dropping, lag, state, badness };
  }).sort((a, b) => {
    const i = a.badness.findIndex((value, at) => value !== b.badness[at]);
    return i < 0 ? 0 : b.badness[i] - a.badness[i];
  });
}

const TONES = { silent: "bad", losing: "bad", dropping: "warn", "lost before": "warn", good: "good",
  idle: "idle" };

function mainCause(keys) {
  const drops = Object.entries(keys).filter(([key, value]) =>
    key.startsWith("segment_drop_") && value > 0).sort((a, b) => b[1] - a[1]);
  return drops.length ? drops[0][0].slice("segment_drop_".length).replaceAll("_", " ") : "";
}

function sourcePanel() {
  const list = sources(), shown = settings.allSources ? list : list.slice(0, 8);
  const inOrder = [...list].sort((a, b) => a.name - b.name);
  const fine = list.filter(({ state }) => state === "good" || state === "idle").length;
  if (!list.length)
    return panel("Sources", "none expected here");
  return panel("Sources", `${fine} of ${list.length} without loss; the worst first`,
    h("div", { class: `cells ${list.length > 1000 ? "crowd" : list.length > 200 ? "many" : ""}` },
    ...inOrder.map((one) =>
      h("i", { class: TONES[one.state], title: `source ${one.name}: ${one.state}` }))),
    table([["source"], ["", "left"], ["blocks"], ["payload"], ["behind"], ["missing"], ["dropped"],
      ["main cause", "left"]],
    shown.map((one) => [
      h("span", { title: `0x${Number(one.name).toString(16).padStart(4, "0")}` }, `${one.name}`),
      h("span", { class: { bad: "wrong", warn: "caution", good: "ok", idle: "faint" }[
        TONES[one.state]] }, one.state),
      show("rate", one.blocks), show("byteRate", one.rate("segments_placed_bytes")),
      show("count", one.lag),
      h("span", { class: one.missing > 0 ? "wrong" : "" }, show("count", one.keys.blocks_missing)),
      h("span", { class: one.dropping > 0 ? "wrong" : "" }, show("count", one.dropped)),
      h("span", { class: "soft" }, mainCause(one.keys))])),
    list.length > 8 ? h("button", { class: "more", onclick: () => {
      settings.allSources = !settings.allSources;
      render();
    } }, settings.allSources ? "the worst only" : `all ${list.length}`) : null);
}

// --- lcores, links, builders, ports ---------------------------------------------------------------

function lcorePanel() {
  const roles = new Map(things("role").map((role) => [role.name, role]));
  const rows = things("lcore").map(({ keys, rate: of }) => {
    const parts = ["busy", "backpressured", "idle"].map((what) => of(`${what}_cycles`) ?? 0);
    const whole = sum(parts), percent = (value) => whole ? Math.round(100 * value / whole) : 0;
    return h("div", {}, h("div", { class: "row" },
      h("span", { class: "what" }, h("b", {}, `lcore ${keys.lcore}`), ` CPU ${keys.cpu}`,
        keys.adaptive ? "" : h("span", { class: "soft" }, " polls")),
      bar([[parts[0], "blue"], [parts[1], "red"]], whole,
        `busy ${percent(parts[0])} %, backpressured ${percent(parts[1])} %`),
      h("span", { class: `value ${parts[1] > 0.05 * whole ? "wrong" : ""}` },
        parts[1] > 0.05 * whole ? `${percent(parts[1])} % held back` : `${percent(parts[0])} %`)),
    ...keys.roles.map((name) => h("div", { class: "row soft" }, h("span", { class: "what" },
      `\u2003${name}`), bar([[roles.get(name)?.rate("busy_cycles") ?? 0, "blue"],
      [roles.get(name)?.rate("backpressured_cycles") ?? 0, "red"]], whole),
    h("span", { class: "value" }, show("rate", roles.get(name)?.rate("items"))))));
  });
  return panel("Lcores", "busy, held back, items", ...rows);
}

function linkPanel() {
  const rows = things("link").map(({ keys, rate: of }) => {
    const culprit = heldBack(keys.consumer), drops = of("dropped") > 0;
    return [h("span", {}, `${keys.producer} \u2192 `, h("b", { class: culprit ? "wrong" : "" },
      keys.consumer)), bar([[keys.used, culprit ? "red" : "blue"], [Math.max(0, keys.highest -
      keys.used), "faint"]], keys.depth, `${keys.used} of ${keys.depth}, at most ${keys.highest}`),
    show("rate", of("enqueued")), drops ? h("span", { class: "wrong" },
      `drops ${show("rate", of("dropped"))}`) : h("span", { class: "soft" },
      of("full") > 0 ? `full ${show("rate", of("full"))}`
        : keys.full ? `full ${show("count", keys.full)} times` : ""),
    h("span", { class: culprit ? "wrong" : "" }, culprit ?? "")];
  });
  return tablePanel("Links", "fill, most so far",
    [["link"], ["fill", "stretch"], ["segments"], ["", "left"], ["held by", "left"]], rows);
}

function builderPanel() {
  const list = things("builder").map(({ name, keys, rate: of }) => h("div", {},
    h("div", { class: "row" }, h("span", { class: "what" }, h("b", {}, name)),
      bar([[keys.events_open, "blue"], [keys.events_held, "violet"]], keys.slots,
        `${keys.events_open} being built, ${keys.events_held} with consumers, ${keys.slots_free} ` +
        `of ${keys.slots} free`),
      h("span", { class: "value" }, show("rate", of("events_complete")))),
    h("div", { class: "row soft" }, h("span", { class: "what" }, "\u2003slots"),
      h("span", {}, `${keys.slots_free} free, ${keys.events_open} being built, ` +
        `${keys.events_held} with consumers`), h("span", { class: "value" },
        `${show("bytes", keys.slot_bytes)} each`)),
    ...nested(keys, "group").map((group) => h("div", { class: "row soft" },
      h("span", { class: "what" }, `\u2003${group.name}`),
      h("span", { class: group.configured && !group.members ? "wrong" : "" },
        group.members ? `${plural(group.members, "consumer")}, lag ${show("count", group.lag)}`
          : `no consumer, lag ${show("count", group.lag)}`,
        group.regained ? h("span", { class: "caution" },
          `, ${show("count", group.regained)} taken back from dead ones`) : ""),
      h("span", { class: "value" }, show("count", group.released))))));
  return list.length ? panel("Builders and consumers", "slots in use; events/s",
    ...list) : null;
}

function portPanel() {
  const rows = things("port").map(({ name, keys, rate: of }) => [
    h("span", { title: keys.mac }, h("b", {}, name), h("span", { class: "soft" },
      ` ${keys.driver}${keys.device === "none" ? "" : ` ${keys.device}`}`)),
    h("span", { class: keys.link_up ? "" : "wrong" }, !keys.link_up ? "down"
      : keys.link_megabits ? show("bitRate", keys.link_megabits * 1e6) : "up"),
    show("rate", of("rx_packets")), show("bitRate", (of("rx_bytes") ?? 0) * 8),
    show("rate", of("tx_packets")),
    h("span", { class: of("rx_missed") > 0 || of("rx_no_buffer") > 0 ? "wrong" : "" },
      show("count", keys.rx_missed + keys.rx_no_buffer)),
    bar([[keys.pool_mbufs - keys.pool_free, "teal"]], keys.pool_mbufs,
      `${keys.pool_free} of ${keys.pool_mbufs} buffers free`)]);
  return tablePanel("Ports", "as the driver counts", [["port"], ["link"],
    ["received"], [""], ["sent"], ["missed"], ["buffers", "stretch"]], rows);
}

function simplePanel(title, list, columns) {
  return tablePanel(title, "", [["name"], ...columns.map(([label]) => [label])], list.map((one) =>
    [h("b", {}, `${one.name}`), ...columns.map(([, make]) => make(one))]));
}

const SHOWN = new Set(["info", "summary", "diagnosis", "role", "link", "builder", "source", "port", "lcore",
  "generator", "writer", "decision", "sched", "credits", "readout", "pfc", "xdp", "roce", "qp",
  "step"]);

// Groups that this page does not know: their plain numbers. Members of a group may have different ones.
function otherPanels() {
  const keys = store.last?.snapshot ?? {};
  return Object.keys(keys).filter((group) =>
    !SHOWN.has(group) && Array.isArray(keys[group])).map((group) => {
    const list = things(group);
    const names = [...new Set(list.flatMap(({ keys }) => Object.keys(keys).slice(1).filter((key) =>
      ["number", "string"].includes(typeof keys[key]))))];
    return simplePanel(group, list.slice(0, 64), names.map((name) => [name.replaceAll("_", " "),
      ({ keys }) => typeof keys[name] === "number" ? show("count", keys[name])
        : `${keys[name] ?? ""}`]));
  });
}

// Two columns, and the parts below them.
function columns() {
  return [
    [creditsPanel(), sourcePanel(), linkPanel(), portPanel(), xdpPanel(), pfcPanel(), rocePanel(),
      queuePairPanel(), readoutPanel(), simplePanel("Generators", things("generator"), [
      ["kind", ({ keys }) => keys.kind],
      ["events", ({ rate: of }) => show("rate", of("events"))],
      ["packets", ({ rate: of }) => show("rate", of("packets"))],
      ["bytes", ({ rate: of }) => show("byteRate", of("bytes"))],
      ["", ({ keys }) => keys.finished ? "finished" : "sends"]])],
    [managerPanel(), stepPanel(), lossPanel(), lcorePanel(), builderPanel(), simplePanel("Decisions", things("decision"), [
      ["accepted", ({ rate: of }) => show("rate", of("accepted"))],
      ["rejected", ({ rate: of }) => show("rate", of("rejected"))],
      ["undecided", ({ keys, rate: of }) => h("span", { class: of("undecided") > 0 ? "wrong" : "",
        title: `treated as ${keys.undecided_as}` }, show("rate", of("undecided")))],
      ["held", ({ keys }) => show("count", keys.held)]]), simplePanel("Writers", things("writer"), [
      ["format", ({ keys }) => keys.format],
      ["events", ({ rate: of }) => show("rate", of("events"))],
      ["bytes", ({ rate: of }) => show("byteRate", of("bytes"))],
      ["files", ({ keys }) => show("count", keys.files)],
      ["pauses", ({ keys }) => show("count", keys.pauses)],
      ["failures", ({ keys }) => h("span", { class: keys.failures ? "wrong" : "" },
        show("count", keys.failures))]])],
    otherPanels(),
  ].map((list) => h("div", {}, ...list));
}
