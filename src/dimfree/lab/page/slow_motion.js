"use strict";
// One step of SGD, magnified: for every entry of an observable what the gradient and what the noise of one sample change.
const slowMotion = (() => {
  const MOST = 16;  // entries

  const bar = (kind, from, size) => {
    const one = dom.el("span", { class: `push ${kind}` });
    one.style.left = `${Math.min(from, from + size)}%`;
    one.style.setProperty("--size", `${Math.abs(size)}%`);
    one.style.transformOrigin = size < 0 ? "right" : "left";
    return one;
  };
  const mark = (at) => {
    const one = dom.el("span", { class: "average" });
    one.style.left = `${at}%`;
    return one;
  };

  // `step` is {before, after, gradient, noise, mean: {gradient, noise}}, each a list of numbers.
  const show = (host, { step, labels }) => {
    const count = Math.min(step.before.length, MOST);
    let most = 1e-300;
    for (let j = 0; j < count; j++) most = Math.max(most, Math.abs(step.gradient[j]), Math.abs(step.gradient[j] + step.noise[j]), Math.abs(step.mean.gradient[j] + step.mean.noise[j]));
    const share = (x) => (48 * x) / most;
    const rows = Array.from({ length: count }, (_, j) => {
      const change = step.after[j] - step.before[j];
      return dom.el("div", { class: "step-row" },
        dom.el("span", { class: "entry-name" }, labels(j)),
        dom.el("span", { class: "track", role: "img", "aria-label": `${labels(j)}: gradient ${values.short(step.gradient[j], 2)}, noise ${values.short(step.noise[j], 2)}, on average ${values.short(step.mean.gradient[j] + step.mean.noise[j], 2)}` },
          bar("pull", 50, share(step.gradient[j])), bar("kick", 50 + share(step.gradient[j]), share(step.noise[j])), mark(50 + share(step.mean.gradient[j] + step.mean.noise[j]))),
        dom.el("span", { class: "change" }, `${change < 0 ? "−" : "+"}${values.set(Math.abs(change), 2)}`));
    });
    const sign = (kind, text) => dom.el("span", { class: "sign" }, dom.el("span", { class: kind }), text);
    dom.refill(host, rows, dom.el("p", { class: "step-key" }, sign("push pull", "gradient of one sample"), sign("push kick", "its noise"), sign("average", "average step")));
  };

  // `ask(run, onStep, onFail)` computes a step from where a run is, `run()` is that run, `observable()` the one that is looked at.
  const create = (host, { ask, run, observable }) => {
    let step = null;
    const say = (sentence) => dom.refill(host, dom.el("p", { class: "meaning" }, sentence));
    const look = () => {
      const known = observable();
      if (!step || !known) return;
      const { name, shape } = known, of = (one) => one[name], { before, after, gradient, noise, mean } = step;
      if (!before[name]) { say(`One step is shown for ${Object.keys(before).join(", ")}: choose one of them.`); return; }
      const parts = { before: of(before), after: of(after), gradient: of(gradient), noise: of(noise), mean: { gradient: of(mean.gradient), noise: of(mean.noise) } };
      show(host, { step: parts, labels: (entry) => panels.entryName(name, shape, entry) });
    };
    const another = () => {
      const now = run();
      if (now) ask(now, (found) => { step = found; look(); }, (sentence) => { step = null; say(sentence); });
      else say("SGD has not started yet: press Run SGD first.");
    };
    return { ask: another, show: look };
  };
  return { create };
})();
