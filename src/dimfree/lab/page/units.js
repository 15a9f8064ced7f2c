"use strict";
// Every unit as a point in a plane, at the last time of SGD: its squared norm q against its overlap m with the teacher that it is
// closest to, or its two norms where classes are learned. Of many units a theory is drawn as the density of its points.
const units = (() => {
  const MANY = 30;
  const PLANES = [
    { name: "units (m, q)", axes: ["m", "q"], meaning: "its squared norm q against its overlap m with the teacher that it is closest to" },
    { name: "units (r1, r2)", axes: ["r1", "r2"], meaning: "its norm r2 in all other coordinates against its norm r1 in those that tell classes apart" },
  ];

  // One number of every unit of an account in its row j, or of those in its sample: as many as are asked for.
  const each = ({ shape = [], values = [], sample } = {}, j, count) => [shape.length === 1 && shape[0] === count && values, sample].map((rows) => rows && rows[j]).find((row) => row && row.length === count);
  const diagonal = ({ shape: [n, m] = [], values } = {}, j, count) => (n === m && n === count && values[j] ? values[j].filter((_, i) => i % (n + 1) === 0) : null);

  // Where the units of one account are in its row j: the plane, x, y, and how many each point stands for; or null.
  const placed = (one, j) => {
    const { M, Q, Q_diagonal, r1, r2, mass } = one.observables || {}, [n, k] = (M && M.shape) || [];
    const weights = (x) => each(mass, j, x.length) || x.map(() => 1);
    if (k && M.shape.length === 2 && M.values[j]) {
      const y = each(Q_diagonal, j, n) || diagonal(Q, j, n);
      const x = Array.from({ length: n }, (_, i) => M.values[j].slice(i * k, i * k + k).reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)));
      return y && { plane: PLANES[0], x, y, weights: weights(x) };
    }
    const [x, y] = [r1, r2].map((seen) => seen && ((seen.sample || [])[j] || (seen.shape.length === 1 && seen.dims[0] === "unit" && seen.values[j])));
    return x && y && y.some((norm) => norm > 0) ? { plane: PLANES[1], x, y, weights: weights(x) } : null;
  };
  const there = (store) => store.all().filter((one) => !store.hidden.has(one.name) && placed(one, 0));

  // The theory that is asked for and SGD at the same time, with their signs.
  const series = (store, account) => {
    const all = there(store), runs = all.find((one) => one.real), theories = all.filter((one) => !one.real);
    const theory = theories.find((one) => one.name === account) || theories[0], last = (runs || theory).times.length - 1, time = (runs || theory).times[last];
    const at = (one) => one.times.filter((t) => t <= time * (1 + 1e-9)).length - 1;
    const shown = [], legend = [];
    let plane = PLANES[0];
    for (const [one, sign, name] of [[theory, { colour: "--c1", shape: "diamond" }, theory && theory.name], [runs, curves.MARK, runs && panels.experiment(runs)]]) {
      const points = one && placed(one, at(one));
      if (!points) continue;
      const dense = !one.real && points.x.length >= MANY && typeof density === "object";
      plane = points.plane;
      shown.push({ ...sign, every: true, ...points, dense, size: one.real || points.x.length >= MANY ? 2.6 : 4.5 });
      legend.push([sign, dense ? `${name}: density of its units` : name]);
    }
    const room = (lists) => { const [low, high] = scales.extent(lists) || [0, 1], pad = 0.1 * (high - low) || 0.5; return [low - pad, high + pad]; };
    const axes = ["x", "y"].map((axis, i) => ({ log: false, label: plane.axes[i], domain: room(shown.map((one) => one[axis])) }));
    return { shown, legend, theory: theory && theory.name, theories: theories.map((one) => one.name), time, meaning: plane.meaning, axes };
  };
  // What this view is called; null without units in a plane.
  const name = (store) => { const [one] = there(store); return one ? placed(one, 0).plane.name : null; };
  return { name, series };
})();
