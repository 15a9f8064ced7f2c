"use strict";
// Theories as lines over one number of the problem, such as a learning curve, and the problem's own value with what SGD has there.
const sketches = (() => {
  const series = ({ path, x, lines: known }, store, problem) => {
    const at = values.get(problem, path), run = store.all().find((one) => one.real), last = run && run.times.length - 1;
    const lines = Object.entries(known).map(([name, y]) => [{ ...curves.styleOf(name, false), x, y, width: 2.2 }, name]);
    const ends = scales.extent(lines.map(([one]) => one.y), true) || [1, 1];
    const ours = [{ x: [at, at], y: ends, colour: "--dim", dash: [2, 3], width: 1.4 }, "this problem"];
    const of = (list) => list && [list[last]];
    const end = run ? [[{ ...curves.MARK, x: [at], y: of(run.risk.mean), low: of(run.risk.low), high: of(run.risk.high), bars: true, size: 4.5 }, panels.experiment(run)]] : [];
    const legend = [...lines, ours, ...end];
    return { shown: legend.map(([one]) => one), legend };
  };
  return { series };
})();
