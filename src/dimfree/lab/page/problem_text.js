"use strict";
// A problem as TOML, and as Python that reads it: what the saved page copies without a server.
const problemText = (() => {
  const key = (name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));
  // A number that Python reads back as a float keeps its point; `whole` says which paths hold integers.
  const inline = (value, float) => {
    if (Array.isArray(value)) return `[${value.map((one) => inline(one, float)).join(", ")}]`;
    if (values.isTable(value)) return `{${Object.entries(value).filter(([, one]) => one !== null).map(([name, one]) => `${key(name)} = ${inline(one, float)}`).join(", ")}}`;
    if (typeof value === "number" && float && Number.isInteger(value) && Math.abs(value) < 1e15) return value.toFixed(1);
    return typeof value === "number" ? String(value).replace("e+", "e") : JSON.stringify(value);
  };
  // `floats`: the paths whose numbers are not whole by nature.
  const toml = (problem, floats = new Set()) => {
    const lines = [], later = [];
    for (const [name, value] of Object.entries(problem)) {
      if (value === null || value === undefined) continue;
      if (values.isTable(value)) later.push([name, value]);
      else lines.push(`${key(name)} = ${inline(value, floats.has(name))}`);
    }
    later.sort(([one], [other]) => Number(one === "run") - Number(other === "run"));
    for (const [name, section] of later) {
      lines.push("", `[${key(name)}]`);
      for (const [inner, value] of Object.entries(section))
        if (value !== null && value !== undefined) lines.push(`${key(inner)} = ${inline(value, floats.has(`${name}.${inner}`))}`);
    }
    return lines.join("\n") + "\n";
  };
  const python = (problem, floats) => `import dimfree as df\n\nproblem = df.loads("""\n${toml(problem, floats).replace(/\\/g, "\\\\").replace(/"""/g, '\\"""')}""")\ncomparison = df.compare(problem)\nprint(comparison.summary())\ncomparison.plot("comparison.png")\n`;
  return { toml, python };
})();
