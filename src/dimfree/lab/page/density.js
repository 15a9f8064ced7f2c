"use strict";
// The density of points in a plane as shades: a Gaussian around every point, as wide as so many points allow.
const density = (() => {
  const CELL = 4, NARROW = 3;  // pixels
  const LEVELS = 12;

  // By Scott's rule, but for half the spread: units gather in a few places.
  const width = (list, weights, many) => {
    const mean = list.reduce((sum, x, i) => sum + weights[i] * x, 0), spread = Math.sqrt(list.reduce((sum, x, i) => sum + weights[i] * (x - mean) ** 2, 0));
    return Math.max(NARROW, 0.5 * spread * many ** (-1 / 6));
  };
  const bell = (at, size, from, count) => Array.from({ length: count }, (_, j) => Math.exp(-0.5 * ((from + (j + 0.5) * CELL - at) / size) ** 2) / (size * Math.sqrt(2 * Math.PI)));

  // Points in pixels; an area {left, top, columns, rows} of cells: the density in every cell, which sums to 1 over pixels of the plane.
  const of = (x, y, weights, { left, top, columns, rows }) => {
    const sum = weights.reduce((a, b) => a + b, 0), shares = weights.map((w) => w / sum), many = 1 / shares.reduce((a, w) => a + w * w, 0);
    const [wide, high] = [width(x, shares, many), width(y, shares, many)], found = new Float64Array(columns * rows);
    x.forEach((_, i) => {
      const across = bell(x[i], wide, left, columns), down = bell(y[i], high, top, rows);
      for (let r = 0; r < rows; r++) if (down[r] > 1e-9) for (let c = 0; c < columns; c++) found[r * columns + c] += shares[i] * down[r] * across[c];
    });
    return found;
  };

  // Shades the plot of these axes between its corners.
  const shade = (context, { x, y, weights }, axes, { left, right, top, bottom }, colour) => {
    const there = x.map((_, i) => i).filter((i) => Number.isFinite(x[i] + y[i]) && x[i] !== null && y[i] !== null), pick = (list) => there.map((i) => list[i]);
    if (!there.length) return;
    const area = { left, top, columns: Math.ceil((right - left) / CELL), rows: Math.ceil((bottom - top) / CELL) };
    const found = of(pick(x).map(axes.x.at), pick(y).map(axes.y.at), pick(weights), area), most = found.reduce((a, b) => Math.max(a, b), 0);
    context.fillStyle = colour;
    for (let j = 0; j < found.length; j++) {
      const level = Math.ceil(LEVELS * Math.sqrt(found[j] / most) - 0.5);  // the square root shows tails, too
      if (level < 1) continue;
      context.globalAlpha = (0.65 * level) / LEVELS;
      context.fillRect(left + CELL * (j % area.columns), top + CELL * Math.floor(j / area.columns), CELL, CELL);
    }
    context.globalAlpha = 1;
  };
  return { of, shade };
})();
if (typeof module === "object") module.exports = density;
