// The times that a problem saves, as Python's Problem.times has them: from 0 to `until`, each a whole number of steps.
// savedTimes(run, timeStep) -> [t, ...]; run is the section [run] of the problem; stepsAt(t, timeStep) is the nearest whole number.
const dimfreeTimes = (() => {
  "use strict";
  const rint = (x) => {  // to the nearest even number when it lies between two
    const below = Math.floor(x), rest = x - below;
    return rest < 0.5 || (rest === 0.5 && below % 2 === 0) ? below : below + 1;
  };
  const stepsAt = (time, timeStep) => rint(time / timeStep);
  const savedTimes = (run, timeStep) => {
    if (run.times) return [0, ...run.times];
    const until = stepsAt(run.until, timeStep), wished = [0];
    if (run.spacing === "linear") for (let j = 1; j < run.points; j++) wished.push(j === run.points - 1 ? until : (j * until) / (run.points - 1));
    else {
      const first = Math.min(Math.max(1, until * 2e-4), until), last = run.points - 2;
      for (let j = last; j >= 0; j--) wished.push(j === 0 ? until : until * (first / until) ** (j / last));
    }
    const steps = wished.map(rint);
    return steps.filter((one, j) => j === 0 || one > steps[j - 1]).map((one) => one * timeStep);
  };
  return { savedTimes, stepsAt };
})();
if (typeof module !== "undefined") module.exports = dimfreeTimes;
