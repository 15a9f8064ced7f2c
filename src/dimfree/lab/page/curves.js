"use strict";
// What is known of the problem now: curves of theories, points of SGD, refusals, warnings; parts come in, series of a plot go out.
const curves = (() => {
  const LINES = [
    { colour: "--c1", dash: null }, { colour: "--c2", dash: [8, 4] }, { colour: "--c3", dash: [2, 3] }, { colour: "--c4", dash: [10, 3, 2, 3] },
    { colour: "--c5", dash: [5, 3] }, { colour: "--c6", dash: [1, 2] }, { colour: "--c7", dash: [12, 4] },
  ];
  const MARK = { colour: "--sgd", shape: "circle" };  // of the one experiment that is shown
  const styles = new Map();
  // A theory keeps its colour until another structure is shown, whose theories begin with the first: no two share one.
  const styleOf = (name, real) => {
    if (real) return MARK;
    if (!styles.has(name)) styles.set(name, LINES[styles.size % LINES.length]);
    return styles.get(name);
  };

  const create = () => {
    const found = new Map(), refusals = new Map(), warnings = new Map(), fresh = new Set(), hidden = new Set();
    let frozen = [];

    const take = (part) => {
      const { name } = part;
      if (part.part === "curve") { found.set(name, part); refusals.delete(name); warnings.delete(name); fresh.add(name); styleOf(name, part.real); }
      else if (part.part === "points") { join(part); styleOf(name, true); }
      else if (part.part === "refusal") { refusals.set(name, part.sentence); found.delete(name); fresh.add(name); }
      else if (part.part === "warning") warnings.set(name, part.sentence);
    };
    const join = (part) => {
      const old = found.get(part.name), at = part.from || 0;
      if (!old || at === 0) { found.set(part.name, { ...part, real: true }); return; }
      const joined = (one, other) => (one && other ? [...one.slice(0, at), ...other] : null);
      const observables = {};
      for (const [key, seen] of Object.entries(part.observables || {})) {
        const before = (old.observables || {})[key];
        observables[key] = before ? { ...seen, values: joined(before.values, seen.values), sample: joined(before.sample, seen.sample) } : seen;
      }
      found.set(part.name, {
        ...old, ...part, real: true, observables, variables: { ...old.variables, ...part.variables }, times: joined(old.times, part.times),
        risk: { mean: joined(old.risk.mean, part.risk.mean), low: joined(old.risk.low, part.risk.low), high: joined(old.risk.high, part.risk.high) },
      });
    };

    // Old curves stay in sight until all of a new solution has come; then those that did not come again go.
    const begin = () => fresh.clear();
    const finish = () => {
      for (const [name, one] of [...found]) if (!one.real && !fresh.has(name)) found.delete(name);
      for (const name of [...refusals.keys()]) if (!fresh.has(name)) refusals.delete(name);
    };
    const dropReal = () => { for (const [name, one] of [...found]) if (one.real) found.delete(name); };
    const clear = () => { found.clear(); refusals.clear(); warnings.clear(); styles.clear(); };

    // A theory that waits until the sliders rest is pale while its curve is that of another position.
    const isOld = (one) => !!one.resting && !fresh.has(one.name);

    const all = () => [...found.values()].sort((one, other) => Number(one.real) - Number(other.real));
    const freeze = (title) => { frozen.push({ title, curves: all().map((one) => ({ ...one })) }); };
    const thaw = () => { frozen = []; };
    const toggle = (name) => { if (!hidden.delete(name)) hidden.add(name); };

    const risks = () => {
      const series = [];
      for (const { curves: old } of frozen)
        for (const one of old)
          series.push(one.real ? { x: one.times, y: one.risk.mean, colour: "--frozen", shape: "circle", size: 2.2, scaled: true } : { x: one.times, y: one.risk.mean, colour: "--frozen", width: 1.8 });
      for (const one of all()) {
        if (hidden.has(one.name)) continue;
        const style = styleOf(one.name, one.real);
        series.push({ ...style, name: one.label || one.name, x: one.times, y: one.risk.mean, low: one.risk.low, high: one.risk.high, bars: one.real, width: 2.4, size: 3.8, alpha: isOld(one) ? 0.3 : 1 });
      }
      return series;
    };
    return { take, begin, finish, dropReal, clear, all, freeze, thaw, toggle, risks, refusals, warnings, hidden, frozen: () => frozen };
  };
  return { create, styleOf, LINES, MARK };
})();
