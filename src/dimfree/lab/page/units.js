"use strict";
// Every unit as a point: its squared norm q against its overlap m with the teacher that it is closest to, at the last time of SGD.
const units = (() => {
  const NAME = "units (m, q)";

  // Where the units of one account are in its row j; null for an account that does not follow them one by one.
  const placed = (one, j) => {
    const { M, Q, Q_diagonal } = one.observables || {}, [n, k] = (M && M.shape) || [];
    if (!k || M.shape.length !== 2 || !M.values[j]) return null;
    const norm = Q_diagonal && Q_diagonal.shape[0] === n ? (i) => Q_diagonal.values[j][i] : Q && Q.shape[0] === n && Q.shape[1] === n ? (i) => Q.values[j][i * n + i] : null;
    if (!norm) return null;
    const closest = (i) => M.values[j].slice(i * k, i * k + k).reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
    return Array.from({ length: n }, (_, i) => [closest(i), norm(i)]);
  };
  const there = (store) => store.all().filter((one) => !store.hidden.has(one.name) && placed(one, 0));

  // The theory that is asked for and SGD at the same time, with their signs.
  const series = (store, account) => {
    const all = there(store), runs = all.find((one) => one.real), theories = all.filter((one) => !one.real);
    const theory = theories.find((one) => one.name === account) || theories[0], last = (runs || theory).times.length - 1, time = (runs || theory).times[last];
    const at = (one) => one.times.filter((t) => t <= time * (1 + 1e-9)).length - 1;
    const shown = [], legend = [];
    for (const [one, sign, name] of [[theory, { colour: "--c1", shape: "diamond" }, theory && theory.name], [runs, curves.MARK, runs && panels.experiment(runs)]]) {
      const points = one && placed(one, at(one));
      if (!points) continue;
      shown.push({ ...sign, every: true, x: points.map(([m]) => m), y: points.map(([, q]) => q), size: one.real ? 3 : 4.5 });
      legend.push([sign, name]);
    }
    return { shown, legend, theory: theory && theory.name, theories: theories.map((one) => one.name), time };
  };
  return { NAME, series, any: (store) => there(store).length > 0 };
})();
