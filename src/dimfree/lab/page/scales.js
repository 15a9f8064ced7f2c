"use strict";
// Axes: from numbers to pixels, linear or logarithmic, with ticks that a reader expects.
const scales = (() => {
  const extent = (lists, positive) => {
    let low = Infinity, high = -Infinity;
    for (const list of lists)
      for (const x of list)
        if (x !== null && Number.isFinite(x) && (!positive || x > 0)) {
          if (x < low) low = x;
          if (x > high) high = x;
        }
    return low <= high ? [low, high] : null;
  };

  const logarithmic = ([low, high], from, to) => {
    const a = Math.log10(low), b = Math.log10(high), slope = (to - from) / (b - a);
    const ticks = [], wide = Math.abs(slope);  // pixels of a decade
    const heads = wide < 130 ? [1] : wide < 420 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 8];
    const every = Math.max(1, Math.ceil((Math.floor(b) - Math.ceil(a)) / (Math.abs(to - from) / 46)));
    for (let power = Math.floor(a); power <= Math.ceil(b); power++) {
      for (let head = 1; head < (wide < 24 ? 2 : 10); head++) {  // no grid within a decade of few pixels
        const value = head * 10 ** power;
        if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
        const named = heads.includes(head) && power % every === 0;
        ticks.push({ value, major: head === 1, label: named ? tag(value, head, power) : "" });
      }
    }
    return { domain: [low, high], log: true, ticks, at: (x) => from + (Math.log10(x) - a) * slope, back: (pixel) => 10 ** (a + (pixel - from) / slope) };
  };
  const tag = (value, head, power) => (power >= -2 && power <= 3 ? String(+value.toPrecision(2)) : (head === 1 ? "" : head + "·") + "10" + values.raised(power));

  const linear = ([low, high], from, to) => {
    const slope = (to - from) / (high - low), ticks = [];
    const wanted = Math.max(2, Math.abs(to - from) / 58), raw = (high - low) / wanted, unit = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((n) => n * unit).find((n) => n >= raw * 0.999);
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) {
      const value = n * step;
      ticks.push({ value, major: true, label: values.set(+value.toPrecision(10), 4) });
    }
    return { domain: [low, high], log: false, ticks, at: (x) => from + (x - low) * slope, back: (pixel) => low + (pixel - from) / slope };
  };

  // Ends that move in jumps of half a decade (or of a tick), so that an axis stands still during most of a drag.
  const settled = (range, log) => {
    if (!range) return log ? [1e-3, 1] : [0, 1];
    let [low, high] = range;
    if (log) {
      low = Math.max(low, Math.min(high, 1) * 1e-14);  // smaller ones are rounding errors; what diverges is shown from where it began
      low = 10 ** (Math.floor(2 * Math.log10(low) + 0.05) / 2);
      high = 10 ** (Math.ceil(2 * Math.log10(high) - 0.05) / 2);
      return high > low * 1.01 ? [low, high] : [low / 3, high * 3];
    }
    if (high - low < 1e-12 * Math.max(1, Math.abs(high))) return [low - 0.5, high + 0.5];
    const pad = 0.04 * (high - low), unit = 10 ** Math.floor(Math.log10(high - low)) / 5;
    const floor = low >= 0 && low < 0.5 * (high - low) ? 0 : Math.floor((low - pad) / unit) * unit;
    return [floor, Math.ceil((high + pad) / unit) * unit];
  };
  const make = (range, log, from, to) => (log ? logarithmic : linear)(range, from, to);
  return { extent, settled, make };
})();
