// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Draws the report from the data in the page.

const data = JSON.parse(document.getElementById("data").textContent);

function title() {
  return data.file.split("/").pop().replace(/\.json$/, "");
}

function about() {
  const { result, points } = data;
  const warmUp = result ? result.simulated_ns - result.measured_ns : 0;
  const what = result
    ? `${plural(result.hosts, "host")}, ${result.switches} switch${result.switches === 1 ? "" : "es"}, ` +
      `traffic ${result.fabric.traffic.kind}, flow control ${result.fabric.flow_control}; ` +
      `${show("time", result.measured_ns)}${warmUp > 0 ? ` after a warm-up of ${show("time", warmUp)}`
        : ""}; seed ${result.fabric.seed}`
    : `sweep of ${points.length ? points[0].set.map(keyOf).join(" and ") : "nothing"}`;
  return [h("p", { class: "about" }, what),
    h("p", { class: "about" }, `simulated by evb ${data.version} from `, h("code", {}, data.file),
      ...data.set.flatMap((text, i) => [i ? ", " : " with ", h("code", {}, text)]))];
}

document.title = `${title()} \u00b7 evb sim`;
document.body.append(h("h1", {}, title()), ...about(),
  ...(data.result ? single(data.result) : sweep(data.points)));
