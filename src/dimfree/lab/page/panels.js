"use strict";
// What is said around the plots: legend, refusals, verdict, and the observable that is looked at.
const panels = (() => {
  // Whether a part of the page has to be made anew: not while what it says is the same.
  const said = new WeakMap();
  const news = (host, ...what) => {
    const text = JSON.stringify(what);
    if (said.get(host) === text) return false;
    said.set(host, text);
    return true;
  };

  const experiment = (one) => `real ${one.experiment || "SGD"}`;
  const NOWHERE = "is 0, below a logarithmic axis";
  const legend = (host, store, { ontoggle, log }) => {
    const below = (one) => log && !one.risk.mean.some((y) => y > 0);
    if (!news(host, store.all().map((one) => [one.name, one.label, !!one.risk.low, !!one.resting, one.note, below(one)]), [...store.hidden], store.frozen().map((one) => one.title))) return;
    const items = store.all().map((one) => {
      const style = curves.styleOf(one.name, one.real), off = store.hidden.has(one.name);
      const name = one.label || one.name, note = one.real ? `${name}: ${one.risk.low ? "mean of the runs, and their band" : "one run"}` : one.note || (one.resting ? "when the sliders rest" : below(one) ? NOWHERE : "");
      return dom.el("button", { class: "chip", type: "button", "aria-pressed": String(!off), title: off ? "show" : "hide", onclick: () => ontoggle(one.name) },
        plot.swatch(style), dom.el("span", {}, one.real ? experiment(one) : name), note && dom.el("small", {}, note));
    });
    if (store.frozen().length) items.push(dom.el("span", { class: "chip still" }, plot.swatch({ colour: "--frozen" }), `frozen: ${store.frozen().map((one) => one.title).join("; ")}`));
    dom.refill(host, items);
  };

  // One row for all descriptions of which the same is said.
  const grouped = (said) => {
    const names = new Map();
    for (const [name, sentence] of said) names.set(sentence, [...(names.get(sentence) || []), name]);
    return [...names].map(([sentence, all]) => [all.join(", "), sentence]);
  };
  const refusals = (host, store, opened) => {
    const sentences = [...store.refusals];
    if (!news(host, sentences, [...store.warnings])) return;
    const warned = grouped(store.warnings).map(([name, sentence]) => dom.el("p", { class: "warning" }, dom.el("b", {}, name), " ", together(sentence)));
    if (!sentences.length) { dom.refill(host, warned); return; }
    const names = sentences.map(([name]) => name);
    const list = dom.el("ul", {}, grouped(sentences).map(([name, sentence]) => dom.el("li", {}, dom.el("b", {}, name), " ", together(sentence))));
    const box = dom.el("details", { open: opened.open, ontoggle: () => { opened.open = box.open; } },
      dom.el("summary", {}, sentences.length === 1 ? "Not drawn here: " : `${sentences.length} are not drawn here: `, dom.el("span", {}, names.join(", "))), list);
    dom.refill(host, warned, box);
  };

  // A line never ends between a number and what belongs to it.
  const together = (text) => text.replace(/(\d) %/g, "$1\u00a0%").replace(/ ([=+]) /g, "\u00a0$1\u00a0");

  const GRADES = [["does not hold", "fails", "✗"], ["not resolved", "open", "?"], ["holds until", "part", "◐"], ["holds in part", "part", "◐"], ["holds", "holds", "✓"], ["impossible", "fails", "✗"]];
  const verdict = (host, part) => {
    const rows = (part.rows || []).map((row) => {
      const [, kind, sign] = GRADES.find(([word]) => (row.verdict || "").startsWith(word)) || ["", "open", "·"];
      return dom.el("li", { class: kind }, dom.el("span", { class: "sign", "aria-hidden": "true" }, sign), dom.el("b", {}, row.name), " ", together(row.sentence || row.verdict));
    });
    // What the rows say is not said twice: of the text the rest remains.
    const text = (part.rows || []).reduce((left, row) => left.replace(`${row.name} ${row.sentence}.`, ""), part.text || "").trim();
    dom.refill(host, text ? dom.el("p", {}, together(text)) : null, rows.length ? dom.el("ul", { class: "verdicts" }, rows) : null);
  };

  // Why no SGD was run: what every experiment says.
  const unrun = (host, sentences) => dom.refill(host, dom.el("p", { class: "quiet" }, "SGD was not run."),
    dom.el("ul", { class: "verdicts" }, sentences.map(([name, sentence]) => dom.el("li", {}, dom.el("b", {}, name), " ", together(sentence)))));

  // Observables that any curve has, with what they mean.
  const observables = (store) => {
    const found = new Map();
    for (const one of store.all())
      for (const [name, seen] of Object.entries(one.observables || {}))
        if (!found.has(name)) found.set(name, { name, dims: seen.dims || [], shape: seen.shape || [], ...((one.variables || {})[name] || {}) });
    return found;
  };

  // The first observable that is not the same at all times, with which a page opens; or what is shown where nothing moves.
  const first = (store, names, still) => {
    const moves = ({ values }) => values.some((row) => row && row.some((number, entry) => number !== (values[0] || [])[entry]));
    return names.find((name) => store.all().some((one) => (one.observables || {})[name] && moves(one.observables[name]))) || still || names[0];
  };

  const MOST = 24;  // lines of one observable
  const entries = (shape) => shape.reduce((n, m) => n * m, 1);
  const column = (seen, entry) => seen.values.map((row) => (row ? row[entry] : null));

  const entryName = (name, shape, entry) => {
    const last = shape[shape.length - 1];
    return shape.length > 1 ? `${name}[${Math.floor(entry / last) + 1},${(entry % last) + 1}]` : shape.length && last > 1 ? `${name}[${entry + 1}]` : name;
  };

  // Series of one observable: theories by colour when it is one number, else one theory with a colour for each last index.
  const series = (store, name, account) => {
    const shown = [], legend = [];
    const having = store.all().filter((one) => (one.observables || {})[name] && !store.hidden.has(one.name));
    if (!having.length) return { shown, legend, left: 0 };
    const { shape = [], dims = [] } = having[0].observables[name], size = entries(shape), last = shape.length ? shape[shape.length - 1] : 1;
    if (size === 1) {
      for (const one of having) {
        const style = curves.styleOf(one.name, one.real);
        shown.push({ ...style, name: one.label || one.name, x: one.times, y: column(one.observables[name], 0), size: 3.4, width: 2.2 });
      }
      return { shown, legend, left: 0 };
    }
    const theory = having.find((one) => one.name === account) || having.find((one) => !one.real), runs = having.find((one) => one.real);
    const most = Math.min(size, MOST);
    for (let entry = 0; entry < most; entry++) {
      const style = curves.LINES[(shape.length > 1 ? entry % last : entry) % curves.LINES.length];
      if (theory && !theory.real) shown.push({ colour: style.colour, name: entryName(name, shape, entry), x: theory.times, y: column(theory.observables[name], entry), width: 1.9 });
      if (runs) shown.push({ ...curves.MARK, x: runs.times, y: column(runs.observables[name], entry), size: 2.6 });
    }
    const what = (dims[dims.length - 1] || "entry").replace(/_$/, "");
    for (let index = 0; index < Math.min(shape.length > 1 ? last : most, 6); index++) legend.push([{ colour: curves.LINES[index % curves.LINES.length].colour }, `${what} ${index + 1}`]);
    if (runs) legend.push([curves.MARK, experiment(runs)]);
    return { shown, legend, left: size - most, theory: theory && !theory.real ? theory.name : null };
  };
  return { legend, refusals, verdict, observables, first, entryName, experiment, series, news, unrun, together };
})();
