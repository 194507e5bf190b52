// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The parts about a system of nodes and its network: event manager, credits, readouts, flow control,
// AF_XDP, RoCE.

function fact(name, value, tone = "") {
  return h("div", { class: "row" }, h("span", { class: "what soft" }, name), h("span", {}),
    h("span", { class: `value ${tone}` }, value));
}

function ownNode() {
  return things("control").find(({ keys }) => keys.self)?.keys;
}

// Where the event manager is elected.
function officeFacts(own) {
  if (!(own?.manager_epoch > 0))
    return [];
  return [
    fact("in office", `${own.manager}, for ${show("time", 1e9 * own.office_seconds)}, epoch ` +
      `${own.manager_epoch}`),
    own.votes ? fact("votes for its lease", show("count", own.votes)) : null,
    fact("standby", own.standby || "nobody", own.standby ? "" : "caution")];
}

function managerPanel() {
  const [manager] = things("sched");
  const office = officeFacts(ownNode());
  if (!manager)
    return office.length ? panel("Event manager", "elected", ...office) : null;
  const { keys, rate: of } = manager, absent = keys.nodes - keys.nodes_registered;
  const stalls = ["no_credit", "blocked", "group", "round", "window"].filter((why) =>
    of(`stalls_${why}`) > 0).sort((a, b) => of(`stalls_${b}`) - of(`stalls_${a}`));
  return panel("Event manager", `run ${keys.run_number}: ${keys.state}`,
    ...office, fact("nodes", `${keys.nodes_registered} of ${keys.nodes} are there`, absent ? "wrong" : ""),
    fact("grants", show("rate", of("grants"))),
    fact("events granted, not finished", show("count", keys.events_outstanding)),
    fact("events that wait for a grant", `${show("count", keys.events_waiting)}` +
      (keys.events_waiting && stalls.length ? `, mostly for want of ${WANTS[stalls[0]]}` : ""),
    keys.level ? "caution" : ""),
    fact("granted again", show("count", keys.regrants), of("regrants") > 0 ? "caution" : ""),
    fact("incomplete, discarded", show("count", keys.events_incomplete + keys.events_discarded),
      of("events_incomplete") + of("events_discarded") > 0 ? "wrong" : ""),
    keys.throttled ? fact("sources are told to wait", "yes", "caution") : null,
    keys.scarce && keys.scarce !== "none" ? fact("slow builder", keys.scarce, "wrong") : null,
    keys.nodes_excluded ? fact("silent nodes excluded", show("count", keys.nodes_excluded),
      "caution") : null);
}

const WANTS = {
  no_credit: "free slots", blocked: "a builder that is not paused", group: "another group",
  round: "the next round", window: "room in flight",
};

function creditsPanel() {
  const rows = things("credits").map(({ name, keys, rate: of }) => {
    const [word, tone] = !keys.registered ? ["not there", "wrong"]
      : keys.excluded ? ["excluded", "caution"] : keys.paused ? ["paused", "caution"]
        : keys.rate_bytes > 0 && keys.rate_permille < 1000 ? [`slowed to ${keys.rate_permille / 10} %`, "caution"]
          : ["", "soft"];
    return [h("b", {}, name), bar([[keys.granted, "blue"],
      [Math.max(0, keys.slots - keys.free - keys.granted), "violet"]], keys.slots,
    `${keys.granted} granted, ${keys.free} of ${keys.slots} free`),
    h("span", { class: keys.registered && keys.free === 0 ? "wrong" : "" }, show("count", keys.free)),
    show("rate", of("grants")), show("time", keys.oldest_ns),
    h("span", { class: keys.paused_permille ? "caution" : "" }, `${keys.paused_permille / 10}%`),
    h("span", { class: tone }, word)];
  });
  return tablePanel("Builders of the system",
    "slots granted and in use; as the event manager knows them", [["builder"], ["slots", "stretch"],
      ["free"], ["grants"], ["oldest"], ["paused"], ["", "left"]], rows);
}

function stepPanel() {
  const rows = things("step").map(({ name, keys, quantile: of }) => [h("b", {},
    name.replaceAll("_", " ")), keys.since.replaceAll("_", " "), show("time", of("latency", 0.5)),
  show("time", of("latency", 0.99)), show("time", keys.latency_max_ns)]);
  return tablePanel("Steps of control", "how long they take; the longest of the run",
    [["to"], ["from", "left"], ["p50"], ["p99"], ["max"]], rows);
}

function readoutPanel() {
  const share = (bytes, keys) => `${(100 * bytes / keys.ring_size_bytes).toFixed(1)} %`;
  const rows = things("readout").map(({ name, keys, rate: of }) => {
    const [why] = [["held_pause", "a pause"], ["link_full", "a full link"], ["no_buffer", "buffers"],
      ["held_pace", "the granted pace"]].filter(([key]) => of(key) > 0)
      .sort((a, b) => of(b[0]) - of(a[0]));
    return [h("b", {}, name), keys.port, show("rate", of("events")),
      show("byteRate", of("payload_bytes")), h("span", { class: "soft" }, why ? why[1] : ""),
      h("span", { class: of("full") > 0 ? "caution" : "" }, show("count", keys.full)),
      keys.ring_size_bytes ? bar([[keys.ring_used_bytes, "blue"],
        [keys.ring_highest_bytes - keys.ring_used_bytes, "violet"]], keys.ring_size_bytes,
      `${share(keys.ring_used_bytes, keys)} full, at most ${share(keys.ring_highest_bytes, keys)}`)
        : ""];
  });
  return tablePanel("Readouts", "what is granted, sent", [["name"], ["port", "left"], ["events"],
    ["payload"], ["held by", "left"], ["buffer full"], ["producer ring", "stretch"]], rows);
}

// The growth of a counter of nanoseconds as a share of the time.
function shareOf(value) {
  return show("percent", value === null ? null : value / 1e9);
}

function pfcPanel() {
  const rows = things("pfc").map(({ name, keys, rate: of }) => [h("b", { title: keys.report }, name),
    keys.mode, `${keys.priority}`,
    h("span", { class: of("paused_ns") > 1e7 ? "caution" : "" }, shareOf(of("paused_ns"))),
    show("count", keys.xoff_received),
    h("span", { class: of("pausing_ns") > 1e7 ? "caution" : "" }, shareOf(of("pausing_ns"))),
    show("count", keys.xoff_sent)]);
  return tablePanel("Flow control",
    "share of the time in which a port is paused, or pauses its link partner", [["port"],
      ["", "left"], ["priority"], ["is paused"], ["frames in"], ["pauses"], ["frames out"]], rows);
}

function xdpPanel() {
  const rows = things("xdp").map(({ name, keys, rate: of }) => {
    const strangers = keys.unknown_source_packets + keys.unknown_address_packets;
    const lost = keys.too_long_packets + keys.no_socket_packets + keys.ring_full_packets;
    return [h("b", {}, name), keys.zero_copy ? `${keys.mode}, zero copy` : keys.mode,
      show("rate", of("redirected_packets")), show("rate", of("passed_packets")),
      h("span", { class: strangers ? "caution" : "" }, show("count", strangers)),
      h("span", { class: lost ? "wrong" : "" }, show("count", lost))];
  });
  return tablePanel("AF_XDP", "what the BPF program does with packets", [["port"], ["", "left"],
    ["to evb"], ["to the kernel"], ["of strangers"], ["lost"]], rows);
}

function rocePanel() {
  const rows = things("roce").map(({ name, keys, rate: of }) => [h("b", {}, name),
    `${keys.queue_pairs}`, show("rate", of("messages")), show("bitRate", (of("bytes") ?? 0) * 8),
    h("span", { class: of("rnr_sent") > 0 ? "caution" : "" }, show("count", keys.rnr_sent)),
    show("count", keys.cnps_sent), show("count", keys.nak_sent_sequence),
    h("span", { class: keys.datagrams_icrc_errors ? "wrong" : "" },
      show("count", keys.datagrams_icrc_errors))]);
  return tablePanel("RoCE", "of ports that receive", [["port"], ["queue pairs"], ["messages"],
    ["payload"], ["put off"], ["congestion"], ["gaps"], ["wrong ICRC"]], rows);
}

// Things with problems come first.
function queuePairPanel() {
  const list = things("qp").sort((a, b) =>
    (b.keys.state === "error") - (a.keys.state === "error"));
  const rows = list.slice(0, 32).map(({ name, keys, rate: of }) => [h("b", {}, name), keys.service,
    h("span", { class: keys.state === "error" ? "wrong" : "ok" }, keys.state === "error"
      ? `${keys.state}: ${keys.cause.replaceAll("_", " ")}` : keys.state), keys.peer,
    show("bitRate", (of("bytes") ?? 0) * 8), show("bitRate", (of("sent_bytes") ?? 0) * 8),
    h("span", { class: of("retransmissions") > 0 ? "caution" : "" },
      show("count", keys.retransmissions))]);
  return tablePanel("Queue pairs", list.length > 32 ? `32 of ${list.length}` : "", [["name"],
    ["", "left"], ["state", "left"], ["peer", "left"], ["received"], ["sent"], ["sent again"]],
  rows);
}
