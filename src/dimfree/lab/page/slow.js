// Slow motion: what one step of SGD does to every observable, in two parts. A step is a polynomial in the learning rate
// (docs/theory/committee.md, section 1.1): what is linear in it is the pull of the gradient, what is quadratic the push
// of the noise, which makes norms grow. Both come from the chain itself, run with the same draw at the rate and at half
// of it. slowStep(chain, numbers, state, rng, {first, samples}) -> {before, after, gradient, noise, mean: {gradient, noise}}:
// each by the names of observables; `mean` is over so many further samples from the same state. The state is kept.
const dimfreeSlow = (() => {
  "use strict";
  const RATE = "training.learning_rate";

  const slowStep = (chain, numbers, state, rng, { first = 0, samples = 128 } = {}) => {
    const rate = { ...chain.numbers, ...numbers }[RATE], draws = Object.values(chain.draws), before = chain.observe(state);
    if (!Number.isFinite(rate)) throw new Error("this page cannot change the learning rate, which slow motion halves.");
    const changes = (then) => {
      const seen = chain.observe(then);
      return Object.fromEntries(Object.keys(before).map((name) => [name, seen[name].map((x, i) => x - before[name][i])]));
    };
    const each = (count, learn) => Array.from({ length: count + 1 }, (_, s) => {
      const at = state.slice();
      learn(at, s);
      return changes(at);
    });
    const kept = [];
    chain.set(numbers);
    const whole = each(samples, (at) => {
      chain.block(at, rng, first, 1);
      kept.push(draws.map((one) => one.slice()));
    });
    chain.set({ ...numbers, [RATE]: rate / 2 });
    const half = each(samples, (at, s) => {
      draws.forEach((one, which) => one.set(kept[s][which]));
      chain.learn(at, first, 1);
    });
    chain.set(numbers);

    // whole = a + b and half = a/2 + b/4, up to third orders of the rate
    const part = (of, from, to) => Object.fromEntries(Object.keys(before).map((name) => [name, before[name].map((_, i) => {
      let sum = 0;
      for (let s = from; s < to; s++) sum += of(whole[s][name][i], half[s][name][i]);
      return sum / (to - from);
    })]));
    const parts = (from, to) => ({
      gradient: part((w, h) => 4 * h - w, from, to), noise: part((w, h) => 2 * w - 4 * h, from, to),
    });
    const after = Object.fromEntries(Object.keys(before).map((name) => [name, before[name].map((x, i) => x + whole[0][name][i])]));
    return { before, after, ...parts(0, 1), mean: samples ? parts(1, samples + 1) : null };
  };
  return { slowStep };
})();
if (typeof module === "object") module.exports = dimfreeSlow;
