"use strict";
// Theories that came as a table: curves at values of one number, between which neighbours are mixed (lab/tabulated.py).
const tabulated = (() => {
  // Number by number; positive ones at equal ratios.
  const mixed = (one, other, share) => {
    if (one === other) return one;
    if (typeof one === "number" && typeof other === "number") return one > 0 && other > 0 ? Math.exp((1 - share) * Math.log(one) + share * Math.log(other)) : (1 - share) * one + share * other;
    if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length ? one.map((value, j) => mixed(value, other[j], share)) : null;
    if (one && other && typeof one === "object" && typeof other === "object") return Object.fromEntries(Object.entries(one).map(([key, value]) => [key, mixed(value, other[key], share)]));
    return null;
  };

  // One theory where the number is x: its curve with a note on how far that may be off, or why there is none.
  const at = ({ path, at: grid }, { name, curves, refused, errors }, x) => {
    const below = grid.findLastIndex((one) => one <= x), here = grid[below], next = grid[below + 1];
    const refusal = (sentence) => ({ part: "refusal", name, sentence });
    if (below < 0 || (here < x && next === undefined)) return refusal(`its table is for ${path} from ${values.short(grid[0])} to ${values.short(grid[grid.length - 1])}; move the slider there.`);
    if (here === x) return curves[below] ? { ...curves[below], milliseconds: 0, note: "from a table" } : refusal(refused[below]);
    const error = errors[below];
    if (!curves[below] || !curves[below + 1] || error === null) return refusal(refused[below] || refused[below + 1] || `its table has no values close to ${path} = ${values.short(x)}; open the problem with dimfree lab.`);
    const share = grid[0] > 0 ? Math.log(x / here) / Math.log(next / here) : (x - here) / (next - here);
    const off = error < 1e-4 ? "less than 0.01" : values.short(100 * error, 2);
    return { ...mixed(curves[below], curves[below + 1], share), milliseconds: 0, note: `from a table, off by ${off} %` };
  };

  // Of all theories of a table; it was made for one problem, of which only that number may differ.
  const parts = (table, problem, made, paths) => {
    const moved = paths.find((path) => path !== table.path && !values.same(values.get(problem, path), values.get(made, path)));
    return table.theories.map((one) => (moved === undefined ? at(table, one, values.get(problem, table.path))
      : { part: "refusal", name: one.name, sentence: `it is a table over ${table.path} alone; set ${moved} back to ${JSON.stringify(values.get(made, moved))}, or open the problem with dimfree lab.` }));
  };
  return { mixed, at, parts };
})();
if (typeof module !== "undefined") module.exports = tabulated;
