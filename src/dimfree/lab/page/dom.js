"use strict";
// Elements by one call: dom.el("button", {class: "x", onclick: f}, "text", child).
const dom = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const fill = (node, attributes, children) => {
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (key in node && typeof value !== "string" && typeof value !== "number") node[key] = value;
      else node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return node;
  };
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const by = (id) => document.getElementById(id);
  const refill = (node, ...children) => node.replaceChildren(...children.flat().filter((child) => child));
  return { el, svg, by, refill };
})();
