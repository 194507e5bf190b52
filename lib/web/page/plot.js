// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Plots on canvas: lines and areas over time, one cursor for all of them, and sparklines.

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Sets the resolution of the canvas to that of the screen; returns its context and its size in CSS
// pixels.
function prepare(canvas) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

// Sequences of known points, each of which is drawn as one line.
function runs(points, gap) {
  const list = [];
  let run = null;
  for (const [time, value] of points) {
    if (value === null) {
      run = null;
    } else {
      if (run === null || time - run[run.length - 1][0] > gap)
        list.push(run = []);
      run.push([time, value]);
    }
  }
  return list;
}

function trace(context, run, x, y) {
  context.beginPath();
  run.forEach(([time, value], i) =>
    i ? context.lineTo(x(time), y(value)) : context.moveTo(x(time), y(value)));
}

function drawSeries(context, points, style, x, y, floor, gap) {
  for (const run of runs(points, gap)) {
    if (style.fill && run.length > 1) {
      trace(context, run, x, y);
      context.lineTo(x(run[run.length - 1][0]), floor);
      context.lineTo(x(run[0][0]), floor);
      context.closePath();
      context.globalAlpha = style.fill;
      context.fillStyle = color(style.color);
      context.fill();
      context.globalAlpha = 1;
    }
    context.lineWidth = style.width ?? 1.6;
    context.lineJoin = "round";
    context.strokeStyle = color(style.color);
    context.fillStyle = color(style.color);
    if (run.length === 1) {
      context.fillRect(x(run[0][0]) - 1, y(run[0][1]) - 1, 2, 2);
    } else {
      trace(context, run, x, y);
      context.stroke();
    }
  }
}

function sparkline(canvas, points, name, range) {
  const { context, width, height } = prepare(canvas);
  const end = points.length ? points[points.length - 1][0] : 0;
  const shown = points.filter(([time]) => time >= end - range);
  const most = Math.max(1e-9, ...shown.map(([, value]) => value ?? 0));
  const first = shown.length ? shown[0][0] : 0;
  drawSeries(context, shown, { color: name, fill: 0.16, width: 1.4 },
    (time) => end > first ? (time - first) / (end - first) * width : width,
    (value) => height - 2 - value / most * (height - 5), height, 5 * store.interval + 2000);
}

function timeText(time, seconds) {
  return new Date(time).toLocaleTimeString([], {
    hour: "2-digit", minute: "2-digit", second: seconds ? "2-digit" : undefined, hour12: false });
}

const LEAST_SPAN = 10e3; // ms of the time axis, at least
const cursor = { time: null }; // shared by all plots

class Plot {
  // series: [{label, color, fill?, points()}]; format: of the values; log: a logarithmic axis.
  constructor(title, format, series, log = false) {
    Object.assign(this, { title, format, series, log });
    this.canvas = h("canvas");
    this.key = h("div", { class: "key" });
    this.element = h("div", { class: "panel" }, h("div", { class: "head" }, h("h2", {}, title),
      this.key), h("div", { class: "plot" }, this.canvas));
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => {
      cursor.time = null;
      document.getElementById("tip").style.display = "none";
      drawPlots();
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect(), area = this.area;
    if (!area || event.clientX - box.left < area.left)
      return;
    cursor.time = area.from + (event.clientX - box.left - area.left) / area.width *
      (area.to - area.from);
    drawPlots();
    const tip = document.getElementById("tip");
    tip.replaceChildren(h("div", { class: "soft" }, timeText(cursor.time, true)), h("table", {},
      ...this.data.map(({ label, color: name, points }) => h("tr", {},
        h("td", { class: "left" }, h("span", { class: `dot c-${name} inline` }), ` ${label}`),
        h("td", {}, show(this.format, near(points, cursor.time)))))));
    tip.style.display = "block";
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
  }

  update(range) {
    this.range = range;
    this.data = this.series.map((one) => ({ ...one, points: one.points() }));
    patch(this.key, h("div", { class: "key" }, ...this.data.map(({ label, color: name, points }) =>
      h("span", {}, h("i", { class: `c-${name}` }), `${label} `,
        h("b", {}, show(this.format, latest(points)))))));
    this.draw();
  }

  // The function from values to pixels, with its grid lines drawn.
  axis(context, shown, left, width, bottom, top) {
    const values = shown.flatMap(({ points }) => points.map(([, value]) => value))
      .filter((value) => value !== null && (!this.log || value > 0));
    let most = Math.max(...values, this.log ? 1000 : 1e-9), least = 0, marks;
    if (this.log) {
      least = 10 ** Math.floor(Math.log10(Math.min(...values, most)));
      most = 10 ** Math.ceil(Math.log10(most * 1.0001));
      marks = [];
      for (let value = least; value <= most * 1.01; value *= 10)
        marks.push(value);
    } else {
      most = most > 1e-9 ? most * 1.08 : 1;
      marks = steps(most);
    }
    const share = this.log ? (v) => Math.log(Math.max(v, least) / least) / Math.log(most / least)
      : (v) => v / most;
    const y = (value) => bottom - share(value) * (bottom - top);
    context.font = "11px system-ui, DejaVu Sans, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of marks) {
      context.fillStyle = color("grid");
      context.fillRect(left, Math.round(y(value)), width, 1);
      context.fillStyle = color("faint");
      context.fillText(show(this.format, value), left - 8, y(value));
    }
    return y;
  }

  draw() {
    if (!this.data || !this.canvas.clientWidth)
      return;
    const { context, width, height } = prepare(this.canvas);
    const left = 66, right = 28, bottom = height - 20, top = 8;
    const times = this.data.find(({ points }) => points.length)?.points ?? [];
    const to = times.length ? times[times.length - 1][0] : 0;
    const span = times.length ? Math.min(this.range, Math.max(to - times[0][0], LEAST_SPAN)) : 0;
    const from = to - span;
    const shown = this.data.map((one) => ({ ...one,
      points: one.points.filter(([time]) => time >= from) }));
    if (!shown.some(({ points }) => points.some(([, value]) => value !== null))) {
      this.area = null;
      context.fillStyle = color("faint");
      context.textAlign = "center";
      context.font = "13px system-ui, DejaVu Sans, sans-serif";
      context.fillText(to ? "nothing in this time" : "no data yet", width / 2, height / 2);
      return;
    }
    const x = (time) => left + (time - from) / span * (width - left - right);
    const y = this.axis(context, shown, left, width - left - right, bottom, top);
    this.area = { left, width: width - left - right, from, to };
    context.fillStyle = color("faint");
    context.textAlign = "center";
    context.textBaseline = "top";
    for (let i = 0; i <= 4; i++)
      context.fillText(timeText(from + span * i / 4, true), x(from + span * i / 4),
        bottom + 6);
    for (const one of shown)
      drawSeries(context, one.points, one, x, y, bottom, 5 * store.interval + 2000);
    if (cursor.time !== null && cursor.time >= from && cursor.time <= to) {
      context.fillStyle = color("faint");
      context.fillRect(Math.round(x(cursor.time)), top, 1, bottom - top);
    }
  }
}

// The value nearest to a time.
function near(points, time) {
  let best = null;
  for (const [at, value] of points)
    if (best === null || Math.abs(at - time) < Math.abs(best[0] - time))
      best = [at, value];
  return best === null ? null : best[1];
}
