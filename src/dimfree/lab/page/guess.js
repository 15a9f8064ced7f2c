"use strict";
// Guess first: the curves hide, the reader draws the risk that he expects, by pen or by keys, and then sees how far it was off.
const guess = (() => {
  const POINTS = 60;

  const create = (drawing, onchange) => {
    let drawn = null, active = false, at = null;

    const begin = () => { drawn = Array(POINTS).fill(null); active = true; at = null; drawing.pen({ from, to, key }); };
    const end = () => { active = false; drawing.pen(null); };
    const forget = () => { drawn = null; if (active) end(); };

    const index = (axes, x) => {
      const area = drawing.area();
      return Math.round(((POINTS - 1) * (Math.min(area.right, Math.max(area.left, x)) - area.left)) / (area.right - area.left));
    };
    const height = (axes, y) => {
      const area = drawing.area();
      return axes.y.back(Math.min(area.bottom, Math.max(area.top, y)));
    };
    const from = (axes, x, y) => { at = [index(axes, x), height(axes, y)]; drawn[at[0]] = at[1]; onchange(); };
    const to = (axes, x, y) => {
      if (!at) return from(axes, x, y);
      const next = [index(axes, x), height(axes, y)], low = Math.min(at[0], next[0]), high = Math.max(at[0], next[0]);
      for (let j = low; j <= high; j++) {
        const share = next[0] === at[0] ? 1 : (j - at[0]) / (next[0] - at[0]);
        drawn[j] = axes.y.log ? at[1] ** (1 - share) * next[1] ** share : at[1] + share * (next[1] - at[1]);
      }
      at = next;
      return onchange();
    };
    // Keys: left and right move the pen, up and down change its height and draw.
    const key = (axes, [across, up]) => {
      const area = drawing.area(), steps = 3;
      const pixel = at ? axes.y.at(at[1]) : (area.top + area.bottom) / 2;
      const x = area.left + ((area.right - area.left) * Math.min(POINTS - 1, Math.max(0, (at ? at[0] : 0) + across * steps))) / (POINTS - 1);
      to(axes, x, Math.min(area.bottom, Math.max(area.top, pixel - up * 8)));
    };

    const times = (axes) => {
      const area = drawing.area();
      return Array.from({ length: POINTS }, (_, j) => axes.x.back(area.left + ((area.right - area.left) * j) / (POINTS - 1)));
    };
    const series = () => {
      const axes = drawing.axes();
      return drawn && axes ? [{ x: times(axes), y: drawn, colour: "--guess", width: 3, dash: [1, 5], name: "your guess" }] : [];
    };
    // How far off: the typical factor between guess and curve.
    const score = (curve) => {
      const axes = drawing.axes();
      if (!drawn || !curve || !axes) return "";
      const xs = times(axes), gaps = [];
      for (let j = 0; j < POINTS; j++) {
        if (drawn[j] === null || !(drawn[j] > 0)) continue;
        const k = curve.times.findIndex((t) => t >= xs[j]);
        if (k >= 0 && curve.risk.mean[k] > 0) gaps.push([Math.abs(Math.log(drawn[j] / curve.risk.mean[k])), xs[j]]);
      }
      if (!gaps.length) return "Nothing was drawn.";
      const typical = Math.exp(gaps.reduce((sum, [gap]) => sum + gap, 0) / gaps.length), worst = gaps.reduce((a, b) => (b[0] > a[0] ? b : a));
      const name = curve.label || curve.name;
      return typical < 1.15
        ? `Well guessed: within ${Math.round(100 * (typical - 1))} % of ${name} on average.`
        : `Your guess is a factor ${values.short(typical, 2)} from ${name} on average, and a factor ${values.short(Math.exp(worst[0]), 2)} at t = ${values.short(worst[1], 2)}.`;
    };
    return { begin, end, forget, series, score, active: () => active };
  };
  return { create };
})();
