"use strict";
// The whole problem in the fragment of the address: #dimension=300&data.kind=teacher&...; also embed=path,path and view.NAME=...
const address = (() => {
  const FORBIDDEN = new Set(["__proto__", "prototype", "constructor"]);
  const soft = (text) => encodeURIComponent(text).replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%5B/g, "[").replace(/%5D/g, "]");
  const parsed = (text) => {
    try { return JSON.parse(text); } catch { return text; }
  };
  const said = (value) => (typeof value === "string" && parsed(value) === value ? value : JSON.stringify(value));

  const leaves = (table, path = []) =>
    Object.entries(table).flatMap(([key, value]) =>
      values.isTable(value) && Object.keys(value).length
        ? leaves(value, [...path, key])
        : [[[...path, key].map((part) => soft(part).replace(/\./g, "%2E")).join("."), value]]);

  const write = ({ problem, embed, view }) => {
    const pairs = leaves(problem || {}).map(([path, value]) => `${path}=${soft(said(value))}`);
    for (const [name, value] of Object.entries(view || {})) pairs.push(`view.${name}=${soft(said(value))}`);
    if (embed) pairs.push(`embed=${embed.map(soft).join(",")}`);
    return "#" + pairs.join("&");
  };

  const read = (hash) => {
    const found = { problem: null, embed: null, view: {} };
    for (const pair of hash.replace(/^#/, "").split("&").filter(Boolean)) {
      const cut = pair.indexOf("=");
      if (cut < 0) continue;
      let path, text;
      try {
        path = pair.slice(0, cut).split(".").map(decodeURIComponent);
        text = decodeURIComponent(pair.slice(cut + 1));
      } catch { continue; }
      if (path.some((key) => FORBIDDEN.has(key) || !key)) continue;
      if (path[0] === "embed") found.embed = text.split(",").filter(Boolean);
      else if (path[0] === "view" && path.length === 2) found.view[path[1]] = parsed(text);
      else place((found.problem = found.problem || {}), path, parsed(text));
    }
    return found;
  };
  const place = (table, [key, ...rest], value) => {
    if (!rest.length) table[key] = value;
    else place((table[key] = values.isTable(table[key]) ? table[key] : {}), rest, value);
  };
  return { read, write };
})();
