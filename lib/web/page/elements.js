// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Elements of which the pages consist.

const PLAIN = new Set(["class", "title", "aria-pressed"]);

// An element: attributes, `style` as an object, `onclick`; children are elements or texts.
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style")
      Object.assign(element.style, value);
    else if (name === "onclick")
      element.onclick = value;
    else if (PLAIN.has(name) && value !== null && value !== undefined)
      element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function bar(parts, whole, title) {
  return h("div", { class: "bar", title }, ...parts.map(([value, name]) =>
    h("i", { class: `c-${name}`, style: { width: `${whole > 0 ? 100 * value / whole : 0}%` } })));
}

function panel(title, note, ...children) {
  return h("div", { class: "panel" },
    h("div", { class: "head" }, h("h2", {}, title), h("span", { class: "soft" }, note)),
    ...children);
}

function table(columns, rows) {
  return h("div", { class: "scroll" }, h("table", {},
    h("tr", {}, ...columns.map(([label, style]) => h("th", { class: style ?? "" }, label))),
    ...rows.map((cells) => h("tr", {}, ...cells.map((cell, i) =>
      h("td", { class: columns[i][1] ?? "" }, cell))))));
}

// Nothing without rows.
function tablePanel(title, note, columns, rows) {
  return rows.length ? panel(title, note, table(columns, rows)) : null;
}
