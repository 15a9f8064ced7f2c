"use strict";
// Numbers as text, and values of a problem by dotted path.
const values = (() => {
  const short = (x, digits = 3) => {
    if (x === null || x === undefined || Number.isNaN(x)) return "–";
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (size >= 1e5 || size < 1e-3) {
      const [head, power] = x.toExponential(digits - 1).split("e");
      return `${+head}e${+power}`;
    }
    return String(+x.toPrecision(size >= 1e3 && Number.isInteger(x) ? 6 : digits));
  };
  const many = (n) => {
    if (!(n >= 1e3)) return String(Math.round(n || 0));
    const [unit, letter] = n >= 1e9 ? [1e9, "G"] : n >= 1e6 ? [1e6, "M"] : [1e3, "k"];
    return `${+(n / unit).toPrecision(3)} ${letter}`;
  };
  const raised = (power) => String(power).replace(/./g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));
  // As it is set in print.
  const set = (x, digits) => short(x, digits).replace(/e(.+)$/, (_, power) => "·10" + raised(power)).replace("-", "−");

  const get = (problem, path) => path.split(".").reduce((at, key) => (at === null || at === undefined ? undefined : at[key]), problem);
  const put = (problem, path, value) => {
    const [key, ...rest] = path.split(".");
    const below = rest.length ? put(isTable(problem[key]) ? problem[key] : {}, rest.join("."), value) : value;
    return { ...problem, [key]: below };
  };
  const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  return { short, many, raised, set, get, put, isTable, same };
})();
