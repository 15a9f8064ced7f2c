// The phase diagram of one-pass SGD (docs/theory/committee.md, section 4), from the part {part: "phase"} of Python.
// phaseOf(part, numbers) -> {x: [low, high], y: [low, high], regions: [{name, colour, label, meaning, where, corners}],
//   lines: [{from, to, dashed}], point: {x, y, s, region}}; numbers are values of controls, which replace those of the part.
// moved(part, numbers, x, y) -> the values of controls that put the point there: {"network.width": ..., ...}.
const dimfreePhase = (() => {
  "use strict";
  const { log, max, min } = Math;

  // What of a polygon lies where side(x + y) is not negative.
  const cut = (corners, side) => corners.flatMap((one, i) => {
    const next = corners[(i + 1) % corners.length], a = side(one[0] + one[1]), b = side(next[0] + next[1]);
    const kept = a >= 0 ? [one] : [];
    if (a * b < 0) kept.push([0, 1].map((axis) => one[axis] + (a / (a - b)) * (next[axis] - one[axis])));
    return kept;
  });
  const short = (x) => String(+x.toPrecision(2)).replace("-", "−");

  const of = (part, numbers) => {
    const all = { ...part.numbers, ...numbers };
    return {
      d: all.dimension, width: all["network.width"], rate: all["training.learning_rate"], batch: all["training.batch"],
    };
  };

  const phaseOf = (part, numbers = {}) => {
    const { d, width, rate, batch } = of(part, numbers), scale = log(d), room = 1 - log(batch) / scale;
    const band = log(part.factor) / scale, edge = max(-room / 2, -room);
    const x = log(width) / scale, y = -log(rate / batch) / scale, s = -log(rate / (width * batch)) / scale;
    const right = max(1, x + 0.2), low = min(-1.2, y - 0.2), high = max(1, y + 0.2);
    const box = [[0, low], [right, low], [right, high], [0, high]];
    const strips = [
      ["gradient_flow", max(band, edge), Infinity, `s > ${short(max(edge, 0))}`],
      ["saad_solla", max(-band, edge), band, `s = 0 (band: within a factor ${part.factor})`],
      ["noise_dominated", edge, -band, `${short(edge)} < s < 0`],
      ["no_ode", -Infinity, edge, `s ≤ ${short(edge)}`],
    ].filter(([, from, to]) => from < to);
    const regions = strips.map(([name, from, to, where]) => {
      const above = from === -Infinity ? box : cut(box, (sum) => sum - from);
      const corners = to === Infinity ? above : cut(above, (sum) => to - sum);
      const { colour, name: label, meaning } = part.regions[name];
      return { name, colour, label, meaning, where, corners };
    });
    const line = (sum, dashed) => ({ from: [0, sum], to: [right, sum - right], dashed });
    const region = s <= edge ? "no_ode" : s > band ? "gradient_flow" : s < -band ? "noise_dominated" : "saad_solla";
    return {
      x: [0, right], y: [low, high], regions, lines: [...(edge < 0 ? [line(0, false)] : []), line(edge, true)],
      point: { x, y, s, region },
    };
  };

  const moved = (part, numbers, x, y) => {
    const { d, batch } = of(part, numbers);
    return { [part.x.path]: max(1, Math.round(d ** x)), [part.y.path]: +(batch * d ** -y).toPrecision(4) };
  };
  return { phaseOf, moved };
})();
if (typeof module === "object") module.exports = dimfreePhase;
