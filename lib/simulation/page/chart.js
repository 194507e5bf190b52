// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Plots as SVG, so that they are sharp in print.

const COLORS = ["blue", "amber", "green", "violet", "red", "teal"];

// An SVG element; children are elements or texts.
function v(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes))
    element.setAttribute(name, typeof value === "number" ? +value.toFixed(2) : value);
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

// About n round values between two others.
function marksBetween(from, to, n) {
  const [, step] = steps((to - from) * 4 / n), list = [];
  for (let value = Math.ceil(from / step - 1e-6) * step; value <= to * (1 + 1e-9); value += step)
    list.push(value);
  return list;
}

function logarithmicMarks(from, to) {
  const factors = to / from > 2000 ? [1] : [1, 2, 5], list = [];
  for (let power = 10 ** Math.floor(Math.log10(from)); power <= to; power *= 10)
    list.push(...factors.map((factor) => factor * power));
  return list.filter((value) => value >= from * 0.999 && value <= to * 1.001);
}

// From values to pixels. axis: {from, to, log}.
function scale({ from, to, log }, low, high) {
  const share = log ? (value) => Math.log(value / from) / Math.log(to / from)
    : (value) => (value - from) / (to - from);
  return (value) => low + Math.max(0, Math.min(1, share(value))) * (high - low);
}

// A frame with axes. axis: {from, to, log, format, marks: [[value, text]], label}; draw(x, y, area)
// returns elements.
function chart({ width, height, x: xAxis, y: yAxis, draw }) {
  const area = { left: 62, right: width - 14, top: 18, bottom: height - 34 };
  const x = scale(xAxis, area.left, area.right), y = scale(yAxis, area.bottom, area.top);
  const marksOf = (axis, n) => axis.marks ?? (axis.log ? logarithmicMarks : marksBetween)(
    axis.from, axis.to, n).map((value) => [value, show(axis.format, value)]);
  return v("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" },
    marksOf(yAxis, 6).map(([value, text]) => [
      v("line", { class: "gridline", x1: area.left, x2: area.right, y1: y(value), y2: y(value) }),
      v("text", { x: area.left - 7, y: y(value) + 4, "text-anchor": "end" }, text)]).flat(),
    marksOf(xAxis, width / 90).map(([value, text]) =>
      v("text", { x: x(value), y: area.bottom + 15, "text-anchor": "middle" }, text)),
    v("line", { class: "axisline", x1: area.left, x2: area.right, y1: area.bottom,
      y2: area.bottom }),
    v("text", { x: (area.left + area.right) / 2, y: height - 4, "text-anchor": "middle" },
      xAxis.label),
    v("text", { x: 4, y: 9 }, yAxis.label),
    draw(x, y, area));
}

// An axis from 0 to what is a little more than all values.
function fromZero(values, format, label) {
  const most = values.reduce((top, value) => Math.max(top, value), 0);
  return { from: 0, to: most > 0 ? most * 1.06 : 1, format, label,
    marks: most > 0 ? undefined : [[0, show(format, 0)]] };
}

function pathOf(points, x, y) {
  return points.map(([at, value], i) =>
    `${i ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

function line(points, color, x, y) {
  return v("path", { class: `line s-${color}`, d: pathOf(points, x, y) });
}

// What lies between two lines.
function band(low, high, color, x, y) {
  return v("path", { class: `f-${color}`, "fill-opacity": 0.15,
    d: `${pathOf(high, x, y)}${pathOf([...low].reverse(), x, y).replace("M", "L")}Z` });
}

function key(...entries) {
  return h("div", { class: "key" }, ...entries.map(([label, color]) =>
    h("span", {}, h("i", { class: `c-${color}` }), label)));
}
