"use strict";
// A backend without mathematics, for tests of the page alone: exponentials, a second description that refuses wide networks.
const makeBackend = () => {
  const times = Array.from({ length: 61 }, (_, j) => 10 ** (-1 + j / 20));
  const base = { dimension: 300, data: { kind: "teacher", noise: 0.001 }, network: { width: 4, activation: "erf" }, training: { learning_rate: 1, batch: 1 }, run: { seed: 0 } };
  const xs = [-2, -1, 0, 1, 2];
  const CONTROLS = [
    { path: "training.learning_rate", label: "learning rate", help: "Size of a step.", group: "training", type: "number", scale: "log", min: 0.1, max: 10, live: true },
    { path: "data.noise", label: "label noise", help: "Variance of the noise.", group: "data", type: "number", scale: "log", min: 1e-6, max: 1, live: true },
    { path: "run.seed", label: "seed", help: "", group: "run", type: "integer", scale: "linear", min: 0, max: 30, live: true },
    { path: "network.width", label: "width", help: "Hidden units.", group: "network", type: "integer", scale: "linear", min: 1, max: 16, live: false },
    { path: "network.activation", label: "activation", help: "", group: "network", type: "choice", live: false,
      choices: [{ value: "erf", label: "erf", curve: { x: xs, y: xs.map(Math.tanh) } }, { value: "relu", label: "relu", curve: { x: xs, y: xs.map((x) => Math.max(0, x)) } }] },
  ];
  const risk = (problem, t, seed) => 0.1 * Math.exp(-problem.training.learning_rate * t) * (1 + 0.05 * Math.sin(seed)) + problem.data.noise;
  const seen = (problem, ts, factor) => ({ M: { dims: ["unit", "teacher"], shape: [2, 2], values: ts.map((t) => [1, 2, 3, 4].map((i) => factor * (1 - Math.exp((-problem.training.learning_rate * t) / i)))) } });
  const variables = { M: { meaning: "overlaps of units and teachers", units: "1" } };
  const later = (ms, work) => { const timer = setTimeout(work, ms); return { cancel: () => clearTimeout(timer) }; };
  return {
    hello: async () => ({ served: true, version: "test", problem: base, settings: [{ name: "plain", group: "fresh samples", title: "plain: a kind of data", problem: { ...base, training: { learning_rate: 2 } } }], gallery: [{ name: "quick", title: "A quick one", problem: { ...base, training: { learning_rate: 5 } } }],
      presets: [{ name: "wide", title: "Too wide on purpose", why: "The second description refuses wide networks.", problem: { ...base, network: { width: 16, activation: "erf" } } }, { name: "slow", title: "Slow on purpose", why: "", problem: { ...base, network: { width: 7, activation: "erf" } } }] }),
    controls: async (problem, change) => {
      let next = problem;
      for (const [path, value] of Object.entries(change || {})) next = values.put(next, path, value);
      if (next.network.width > 16) throw { sentence: `network.width is ${next.network.width}, which is more than 16.` };
      return { problem: next, remark: `${next.network.width} units learn`, controls: CONTROLS.map((one) => ({ ...one, value: values.get(next, one.path) })) };
    },
    solve: (problem, onPart) => later(5, () => {
      const curve = (name, noise, share = 1) => {
        const ts = times.slice(0, Math.floor(share * times.length));
        return { part: "curve", name, label: name, real: false, times: ts, milliseconds: 1, share, variables, observables: seen(problem, ts, 1), risk: { mean: ts.map((t) => risk({ ...problem, data: { noise } }, t, 0)), low: null, high: null } };
      };
      if (problem.network.width === 7) {  // a description that takes long, and goes on when the test says so
        const parts = [curve("exact", problem.data.noise, 0.5), curve("exact", problem.data.noise), { part: "done" }];
        window.asked = (window.asked || 0) + 1;
        window.goOn = () => onPart(parts.shift());
        onPart({ part: "pending", name: "exact", seconds: 34 });
        return;
      }
      onPart(curve("exact", problem.data.noise));
      if (problem.network.width === 6) {  // a description that waits until the sliders rest
        setTimeout(() => { onPart({ ...curve("narrow", 0), resting: true }); onPart({ part: "done" }); }, 600);
        return;
      }
      if (problem.network.width > 8) onPart({ part: "refusal", name: "narrow", sentence: `narrow needs a width of at most 8, and this one is ${problem.network.width}.` });
      else onPart(curve("narrow", 0));
      onPart({ part: "done" });
    }),
    simulate: (problem, onPart) => {
      if (problem.network.width === 7) { onPart({ part: "refusal", name: "sgd", sentence: "sgd takes too long." }); onPart({ part: "done" }); return { cancel: () => {} }; }
      let from = 0;
      const timer = setInterval(() => {
        const ts = times.slice(from, from + 5), mean = ts.map((t) => risk(problem, t, problem.run.seed + t));
        onPart({ part: "points", name: "sgd", label: "SGD", real: true, from, times: ts, variables, observables: seen(problem, ts, 1.02), steps: 1000 * (from + 5), steps_per_second: 1e5, risk: { mean, low: mean.map((y) => 0.9 * y), high: mean.map((y) => 1.1 * y) } });
        from += 5;
        if (from < times.length) return;
        clearInterval(timer);
        onPart({ part: "verdict", text: "exact describes these runs.", rows: [{ name: "exact", verdict: "holds", sentence: "holds" }, { name: "narrow", verdict: "does not hold", sentence: "does not hold: too low" }] });
        onPart({ part: "done" });
      }, 15);
      return { cancel: () => clearInterval(timer) };
    },
    text: async (problem, as) => `${as} of learning rate ${problem.training.learning_rate}`,
    download: null,
  };
};
