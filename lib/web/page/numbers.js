// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Numbers for people.
"use strict";

const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0);
const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

function scaled(value, step, units) {
  let i = 0;
  while (Math.abs(value) >= step && i < units.length - 1) {
    value /= step;
    i++;
  }
  const digits = value === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return [(i === 0 && Number.isInteger(value)) ? `${value}` : value.toFixed(digits), units[i]];
}

const formats = {
  count: (value) => scaled(value, 1000, ["", "k", "M", "G", "T"]),
  rate: (value) => scaled(value, 1000, ["/s", "k/s", "M/s", "G/s"]),
  bytes: (value) => scaled(value, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]),
  // Bytes per second, in the unit in which rates of links are given.
  byteRate: (value) => formats.bitRate(8 * value),
  bitRate: (value) => scaled(value, 1000, ["b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"]),
  time: (value) => scaled(value, 1000, ["ns", "\u00b5s", "ms", "s"]),
  percent: (value) => [(value >= 1 ? 100 : Math.min(99.9999, value * 100))
    .toFixed(value >= 1 || value < 0.9 ? 0 : value < 0.999 ? 2 : 4), "%"],
};

function show(format, value) {
  if (value === null || value === undefined || Number.isNaN(value))
    return "\u2013";
  const [number, unit] = formats[format](value);
  return unit === "" || unit === "%" || unit.startsWith("/") ? `${number}${unit}`
    : `${number}\u2009${unit}`;
}

function showDuration(seconds) {
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const at = Math.max(0, parts.findIndex(([size]) => seconds >= size));
  return seconds < 1 ? "0 s" : parts.slice(at, at + 2)
    .map(([size, unit], i) => `${Math.floor((i ? seconds % parts[at][0] : seconds) / size)} ${unit}`)
    .join(" ");
}

// Round values for the grid lines.
function steps(most) {
  const raw = most / 4, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((value) => value >= raw);
  const list = [];
  for (let value = 0; value <= most * 1.0001; value += step)
    list.push(value);
  return list;
}
