// dimfree's judgement of deterministic theories against replicas of SGD: the rules of comparison/ (docs/verdict.md).
// judge(words, reference, theories) -> {part, rows: [{name, verdict, sentence}], text}
//   words: {phrases, grades} of Python (lab/claims.py);
//   reference: {name, times, risk: [time][replica], observables: {M: [time][replica][entry]}};
//   theory: {name, risk: [time], accuracy, leaves_open, observables: {M: [time][entry]}}.
// What is not a finite number is NaN or null. Observables may be left out; one that is a single number has no entries.
const dimfreeVerdict = (() => {
  "use strict";
  const LIMITS = {
    ALLOWED: 5, ROUNDING: 1e-13, STILL: 1e-3, LEVEL: 0.05, MOST: 1e6, NEAR: 1.25, RESOLVED: 1e-8, AS_BAD: 0.5,
    MARGIN: 20, EQUAL: 0.1, FEW: 0.2, EARLY: 0.1, FLAT: 1.25, LEFT: 0.5, FIRST_SHARE: 1e-3,
  };
  const { abs, sqrt, max, min, log, exp, floor } = Math, finite = Number.isFinite;
  const number = (x) => (x === null ? NaN : x);

  // ---- sums over replicas, in numpy's order: equal numbers then have the same mean and no variance in both
  const sum = (x) => {
    const n = x.length;
    if (n > 128) {
      const half = floor(n / 2) - (floor(n / 2) % 8);
      return sum(x.slice(0, half)) + sum(x.slice(half));
    }
    if (n < 8) return x.reduce((s, one) => s + one, 0);
    const r = x.slice(0, 8), whole = n - (n % 8);
    for (let i = 8; i < whole; i++) r[i % 8] += x[i];
    let s = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
    for (let i = whole; i < n; i++) s += x[i];
    return s;
  };
  const mean = (x) => sum(x) / x.length;
  const variance = (x) => {
    const centre = mean(x);
    return sum(x.map((one) => (one - centre) * (one - centre))) / (x.length - 1);
  };
  const argmax = (x) => x.reduce((best, one, i) => (one > x[best] ? i : best), 0);
  const largest = (list, size) => list.reduce((best, one) => (best && size(best) >= size(one) ? best : one), null);
  const searched = (times, at, right) => {
    const found = times.findIndex((t) => (right ? t > at : t >= at));
    return found < 0 ? times.length : found;
  };
  const median = (x) => {
    const s = [...x].sort((a, b) => a - b), n = s.length;
    return x.some(Number.isNaN) ? NaN : (s[(n - 1) >> 1] + s[n >> 1]) / 2;
  };

  // ---- Student's t
  // Gamma(a + 1/2)/Gamma(a)
  const gammaRatio = (a) => {
    let factor = 1;
    for (; a < 30; a++) factor *= a / (a + 0.5);
    const z = 1 / a;
    return factor * sqrt(a) * (1 + z * (-1 / 8 + z * (1 / 128 + z * (5 / 1024 + z * (-21 / 32768 - (399 / 262144) * z
      + (869 / 4194304) * z * z)))));
  };
  // P(T > t), t >= sqrt(3), by the continued fraction of the incomplete beta function
  const tail = (t, freedom) => {
    const a = freedom / 2, b = 0.5, x = freedom / (freedom + t * t);
    const front = exp(-a * Math.log1p((t * t) / freedom)) * sqrt((t * t) / (freedom + t * t))
      * (gammaRatio(a) / sqrt(Math.PI)) / a;
    let c = 1, d = 1 / (1 - ((a + b) * x) / (a + 1)), h = d;
    for (let m = 1; m < 20000; m++) {
      for (const factor of [
        (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
        (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
      ]) {
        d = 1 / (1 + factor * d);
        c = 1 + factor / c;
        h *= d * c;
      }
      if (abs(d * c - 1) < 1e-16) break;
    }
    return (front * h) / 2;
  };
  const rare = (looks) => 1 - (1 - LIMITS.LEVEL / (2 * looks));
  const known = new Map();
  const student = (freedom, looks) => {
    if (!(freedom > 0)) return NaN;
    const name = freedom + "/" + looks;
    if (!known.has(name)) known.set(name, quantile(freedom, rare(looks)));
    return known.get(name);
  };
  // Newton's rule for log P(T > t) as a function of log t
  const quantile = (freedom, q) => {
    let t = 2;
    for (let step = 0; step < 200; step++) {
      const p = tail(t, freedom);
      const density = gammaRatio(freedom / 2) / sqrt(freedom * Math.PI)
        * exp((-(freedom + 1) / 2) * Math.log1p((t * t) / freedom));
      const next = max(sqrt(3), t * exp((log(p / q) * p) / (t * density)));
      if (abs(next - t) <= 1e-15 * t) return next;
      t = next;
    }
    return t;
  };
  // the standard error of the mean of the replicas, which is that of the difference, and its freedom
  const errorOf = (runs) => {
    if (runs.length < 2) return { error: NaN, freedom: 0 };
    const part = variance(runs) / runs.length, share = (part * part) / ((part * part) / (runs.length - 1));
    return { error: sqrt(part), freedom: Number.isNaN(share) ? runs.length : share };
  };

  // ---- plateaus (readings/landmarks.py)
  const between = (t, c, at, level) => {
    let [before, after] = [c[at - 1], c[at]];
    if (before > 0 && after > 0 && level > 0) [before, after, level] = [log(before), log(after), log(level)];
    return t[at - 1] + ((t[at] - t[at - 1]) * (before - level)) / (before - after);
  };
  const crossing = (t, c, level) => {
    const at = c.findIndex((x) => x <= level);
    return at < 0 ? NaN : at === 0 ? t[0] : between(t, c, at, level);
  };
  const forward = (t, c) => c.flatMap((value, first) => {
    if (!(value > 0)) return [];
    let low = value, high = value, after = first + 1;
    for (; after < c.length && max(c[after], high) <= LIMITS.FLAT * min(c[after], low); after++) {
      low = min(low, c[after]);
      high = max(high, c[after]);
    }
    let end = t[after - 1];
    if (finite(c[after]))
      end = between(t, c, after, c[after] < c[after - 1] ? high / LIMITS.FLAT : low * LIMITS.FLAT);
    return [{ first, last: after - 1, begin: t[first], end }];
  });
  const plateau = (t, c) => {
    const n = t.length - 1;
    const backward = forward([...t].reverse().map((x) => -x), [...c].reverse())
      .map((s) => ({ first: n - s.last, last: n - s.first, begin: -s.end, end: -s.begin }));
    const longest = [...forward(t, c), ...backward].sort((x, y) => x.begin - x.end - (y.begin - y.end));
    for (const one of longest) {
      const length = one.end - one.begin;
      if (!(length > LIMITS.FIRST_SHARE * t[n])) return null;
      const height = mean(c.slice(one.first, one.last + 1));
      const escape = crossing(t.slice(one.first), c.slice(one.first), LIMITS.LEFT * height);
      if (escape - one.end < length) return { begin: one.begin, height };
    }
    return null;
  };

  // ---- stretches of times that fail
  const bounds = (counts) => counts.flatMap((one, first) => {
    if (!one || counts[first - 1]) return [];
    const end = counts.findIndex((other, i) => i > first && !other);
    return [[first, (end < 0 ? counts.length : end) - 1]];
  });
  const stretch = (times, percent, first, last) => {
    const inside = percent.slice(first, last + 1);
    return {
      since: times[max(first - 1, 0)], begin: times[first], end: times[last], worst: inside[argmax(inside.map(abs))],
      last: percent[last], to_the_end: last === times.length - 1,
    };
  };
  const deciding = (times, percent, counts) => {
    const found = bounds(counts).map(([first, last]) => stretch(times, percent, first, last));
    if (!found.length) return [null, null];
    const size = (one) => abs(one.worst), final = found[found.length - 1];
    const main = final.to_the_end ? final : largest(found, size);
    const first = found.find((one) => one.begin <= main.begin && size(one) >= LIMITS.AS_BAD * size(main)) || main;
    const others = found.filter((one) => one.end < first.begin || one.begin > main.end);
    return [
      stretch(times, percent, searched(times, first.begin), searched(times, main.end)), largest(others, size),
    ];
  };

  // ---- what chance leaves open
  const runsFor = (freedoms, runs, distance, spread, opened) => {
    const q = rare(freedoms.length);
    return freedoms.map((freedom, i) => {
      if (!opened[i]) return 1;
      let low = 1, high = LIMITS.MOST;
      while (high - low > 1) {
        const middle = floor((low + high) / 2);
        const free = runs > 1 ? (freedom * (middle - 1)) / (runs - 1) : freedom + middle - 1;
        const t = (distance[i] / spread[i]) * sqrt(middle);
        const enough = spread[i] === 0 || (spread[i] === Infinity ? distance[i] === Infinity
          : t > sqrt(3) && (t === Infinity || tail(t, free) <= q));
        if (enough) high = middle; else low = middle;
      }
      return high;
    });
  };
  const unresolved = (times, band, allowed, claimed, asked) => {
    const { percent, chance, spread, freedoms, runs } = band, seen = percent.map(abs), most = allowed + LIMITS.MARGIN;
    const opened = asked.map((ask, i) =>
      ask && !(Number.isNaN(chance[i]) && seen[i] <= LIMITS.EQUAL) && !(seen[i] + chance[i] <= most));
    const count = (x) => x.filter(Boolean).length;
    if (!opened.some(Boolean)) return [null, true];
    const few = floor(LIMITS.FEW * count(asked.map((ask, i) => ask && chance[i] !== 0)));
    const distance = seen.map((x) => max(most - x, x > allowed ? x - claimed : 0));
    const typical = sqrt(sum(seen.map((x, i) => (asked[i] ? x * x : 0))) / count(asked));
    const spreads = spread.map((x) => (Number.isNaN(x) ? typical : x));
    const needed = runsFor(freedoms, runs, distance, spreads, opened);
    const n = times.length, little = count(opened) <= few && !opened[n - 1];
    const sorted = [...needed].sort((x, y) => x - y);
    const asking = little ? sorted[n - 1] : max(sorted[n - 1 - few], needed[n - 1]);
    const at = chance.some(finite) ? needed.indexOf(asking) : argmax(seen.map((x, i) => (opened[i] ? x : -1)));
    const [first, last] = bounds(opened).find((pair) => pair[0] <= at && at <= pair[1]);
    const found = {
      begin: times[first], end: times[last], time: times[at], percent: percent[at], chance: chance[at], runs: asking,
    };
    return [found, little];
  };

  // ---- what else is compared
  const escapeOff = (times, theory, risk, allowed) => {
    const means = risk.map((row) => mean(row.filter((x) => !Number.isNaN(x))));
    const found = plateau(times, means);
    if (!found) return null;
    const from = searched(times, found.begin), late = times.slice(from), level = found.height / 2;
    const count = risk[0].length, whole = crossing(late, means.slice(from), level);
    const without = (r) => risk.slice(from).map((row, i) => (count * means[from + i] - row[r]) / (count - 1));
    const others = count === 1 ? [whole]
      : risk[0].map((_, r) => count * whole - (count - 1) * crossing(late, without(r), level));
    const one = crossing(late, theory.slice(from), level);
    if ([one, ...others].some(Number.isNaN)) return null;
    const shift = one - mean(others), percent = (100 * shift) / mean(others), { error, freedom } = errorOf(others);
    const counts = abs(percent) > allowed && abs(shift) > student(freedom, times.length) * error;
    return counts ? { amount: percent, time: mean(others) } : null;
  };
  const perCentOf = (difference, size) => (difference === 0 ? 0 : (100 * difference) / size);
  const norm = (x) => sqrt(mean(x.map((one) => one * one)));
  const overlapsOff = (times, theory, reference, allowed) => {
    const worst = [];
    for (const what of Object.keys(theory.observables || {})) {
      const other = (reference.observables || {})[what], one = theory.observables[what];
      if (!other) continue;
      const scalar = !one[0] || one[0].length === undefined, all = (x) => (scalar ? [x] : [...x]).map(number);
      const rows = one.map(all), runs = other.map((row) => [...row].map(all));
      if (rows[0].length !== runs[0][0].length) continue;
      const of = (i, e) => runs[i].map((run) => run[e]);
      const means = rows.map((row, i) => row.map((_, e) => of(i, e).reduce((s, x) => s + x, 0) / runs[i].length));
      if (!scalar && !means[0].every((x, e) => abs(rows[0][e] - x) <= 1e-4 + 1e-5 * abs(x))) continue;
      const off = rows.map((row, i) => norm(row.map((x, e) => x - means[i][e]))), size = max(...means.map(norm));
      const percent = off.map((x) => perCentOf(x, size));
      const noise = rows.map((row, i) => norm(row.map((_, e) => {
        const { error, freedom } = errorOf(of(i, e));
        return student(freedom, times.length) * error;
      })));
      const seen = percent.map((x, i) => (x > allowed && off[i] > noise[i] ? x : 0)), at = argmax(seen);
      if (seen[at] > 0) worst.push({ what, amount: percent[at], time: times[at] });
    }
    return largest(worst, (one) => one.amount);
  };
  const impossible = (times, risk, smallest) => {
    const above = risk.map((row) => mean(row)
      + (row.length > 1 ? student(row.length - 1, risk.length) * sqrt(variance(row)) / sqrt(row.length) : 0));
    if (!above.some((x) => x < -smallest)) return null;
    const at = argmax(above.map((x) => (Number.isNaN(x) ? -Infinity : -x)));
    return { amount: mean(risk[at]), time: times[at] };
  };

  // ---- the judgement of one theory, in numbers
  const judgement = (reference, theory) => {
    const times = [...reference.times], risk = reference.risk.map((row) => [...row].map(number));
    const one = [...theory.risk].map((x) => 0 + number(x)), other = risk.map(mean), errors = risk.map(errorOf);
    const runs = risk[0].length, looks = times.length;
    const seen = other.filter(finite).map(abs), highest = max(0, ...seen);
    const smallest = max(LIMITS.RESOLVED * highest, LIMITS.ROUNDING);
    const size = other.map((x) => max(finite(x) ? abs(x) : highest, smallest));
    const percent = one.map((x, i) => {
      if (finite(x)) return finite(other[i]) ? perCentOf(x - other[i], size[i]) : -Infinity;
      return finite(other[i]) ? Infinity : 0;
    });
    const relative = errors.map(({ error }, i) => (100 * error) / size[i]);
    const error = percent.map((x, i) => {
      if (!finite(x)) return 0;
      const near = relative.slice(
        searched(times, times[i] / LIMITS.NEAR), searched(times, times[i] * LIMITS.NEAR, true));
      const ratio = abs(one[i]) / size[i], higher = max(1, finite(ratio) ? ratio : 1), widest = max(...near);
      return sqrt(widest * widest + (higher * higher - 1) * widest * widest);
    });
    const chance = error.map((x, i) => student(errors[i].freedom, looks) * x);
    const claimed = 100 * (theory.accuracy || 0), allowed = LIMITS.ALLOWED + claimed;
    const counts = percent.map((x, i) => abs(x) > allowed && abs(x) - claimed > chance[i]);
    const [fails, also] = deciding(times, percent, counts);
    const asked = counts.map((bad, i) => !bad && (!fails || times[i] < fails.begin || times[i] > fails.end));
    const band = {
      percent, chance, spread: error.map((x) => x * sqrt(runs)), freedoms: errors.map((x) => x.freedom), runs,
    };
    const [open, resolved] = unresolved(times, band, allowed, claimed, asked);
    const inside = percent.map((x, i) =>
      (abs(x) > chance[i] && abs(x) <= allowed && abs(x) > LIMITS.ALLOWED ? abs(x) : 0));
    const within = argmax(inside), worst = argmax(percent.map(abs)), last = looks - 1;
    const difference = one[last] - other[last], sigma = errors[last].error;
    return {
      final_risk: one[last],
      final_sigmas: difference === 0 ? 0 : sigma === 0 ? Math.sign(difference) * Infinity : difference / sigma,
      final_percent: percent[last],
      worst_percent: percent[worst],
      worst_time: times[worst],
      allowed_percent: allowed,
      chance_percent: median(chance),
      fails,
      also,
      unresolved: open,
      resolved,
      within: inside[within] > 0 ? { amount: percent[within], time: times[within] } : null,
      leaves_open: theory.leaves_open || "",
      impossible: impossible(times, risk, smallest) ? null : impossible(times, one.map((x) => [x]), smallest),
      escape: resolved ? escapeOff(times, one, risk, allowed) : null,
      overlaps: overlapsOff(times, theory, reference, allowed),
      moves: !seen.length || max(...other) - min(...other) > max(LIMITS.STILL * highest, LIMITS.ROUNDING),
    };
  };

  // ---- words (comparison/words.py); templates are those of Python, and so are the formats of numbers: .3g and .0f
  const digitsOf = (x, count) => {
    // count digits, rounded half to even on the exact decimal expansion
    const [, lead, rest, e] = /^(\d)\.(\d+)e([+-]\d+)$/.exec(x.toExponential(60));
    const kept = BigInt((lead + rest).slice(0, count)), dropped = (lead + rest).slice(count);
    const half = "5".padEnd(dropped.length, "0"), up = dropped > half || (dropped === half && kept % 2n === 1n);
    const digits = String(up ? kept + 1n : kept).padStart(count, "0");
    return digits.length > count ? [digits.slice(0, count), +e + 1] : [digits, +e];
  };
  const general = (x, count) => {
    if (!finite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
    if (x === 0) return Object.is(x, -0) ? "-0" : "0";
    const [digits, e] = digitsOf(abs(x), count), sign = x < 0 ? "-" : "";
    const trimmed = (whole, rest) => whole + (rest.replace(/0+$/, "") && "." + rest.replace(/0+$/, ""));
    if (e < -4 || e >= count)
      return sign + trimmed(digits[0], digits.slice(1)) + "e" + (e < 0 ? "-" : "+") + String(abs(e)).padStart(2, "0");
    return sign + (e < 0 ? trimmed("0", "0".repeat(-e - 1) + digits) : trimmed(digits.slice(0, e + 1), digits.slice(e + 1)));
  };
  const whole = (x) => {
    if (!finite(x)) return general(x, 1);
    const down = floor(x);
    return String(BigInt(x - down > 0.5 || (x - down === 0.5 && down % 2) ? down + 1 : down));
  };
  const speaker = ({ phrases, grades }) => {
    const [HOLDS, WITHIN, IN_PART, OPEN, UNTIL, FAILS] = grades;
    const say = (name, parts = {}) => phrases[name].replace(/\{(\w+)(?::\.(\d)([gf]))?\}/g, (_, key, count, format) =>
      (format === "g" ? general(parts[key], +count) : format === "f" ? whole(parts[key]) : parts[key]));
    const perCent = (x) => say(abs(x) >= 10 ? "whole per cent" : "per cent", { amount: abs(x) });
    const off = (x) => {
      if (abs(x) === Infinity) return say(x > 0 ? "not finite" : "only finite");
      return x > 1000 ? say("times", { factor: 1 + x / 100 }) : say(x > 0 ? "high" : "low", { amount: perCent(x) });
    };
    const offBy = (x) => (x > 1000 ? say("factor", { factor: 1 + x / 100 }) : perCent(x));
    const when = ({ begin, end }) => say(end > begin ? "between" : "at", { begin, end });
    const rounded = (count) => {
      const unit = 10 ** max(String(count).length - 2, 0);
      return Math.ceil(count / unit) * unit;
    };
    const chance = (open) => say(Number.isNaN(open.chance) ? "no error bar" : "chance",
      { off: off(open.percent), time: open.time, chance: offBy(open.chance) });
    const within = (found) => say("within", {
      allowed: perCent(found.allowed_percent), where: found.leaves_open && " " + found.leaves_open,
      off: off(found.within.amount), time: found.within.time,
    });
    const parts = (found) => {
      const said = [];
      if (found.also) said.push(say("also", { off: off(found.also.worst), when: when(found.also) }));
      if (found.escape)
        said.push(say(found.escape.amount > 0 ? "late" : "early", { amount: perCent(found.escape.amount) }));
      if (found.overlaps)
        said.push(say("overlaps", { ...found.overlaps, amount: perCent(found.overlaps.amount) }));
      return said;
    };
    const openParts = (found) => {
      const open = found.unresolved;
      if (!open || (!found.fails && !found.resolved && !found.impossible)) return [];
      if (!found.resolved) return [say("rest open", { chance: chance(open) })];
      return [say("part open", { when: when(open), chance: offBy(open.chance) })];
    };
    const grade = (found, until) => {
      const fails = found.fails;
      if (found.impossible) return FAILS;
      if (!fails) {
        if (!found.resolved) return OPEN;
        return parts(found).length ? IN_PART : found.within ? WITHIN : HOLDS;
      }
      if (!found.resolved) return FAILS;
      if (!fails.to_the_end) return IN_PART;
      return fails.since <= LIMITS.EARLY * until ? FAILS : UNTIL;
    };
    const failing = (word, fails) => {
      const end = off(fails.last), worst = off(fails.worst);
      const alike = fails.worst * fails.last > 0
        && (abs(fails.last) === Infinity || abs(fails.worst) < 1.5 * abs(fails.last));
      const both = alike ? end : say("both", { end, worst });
      if (word === UNTIL) return say("until", { since: fails.since, both });
      if (fails.to_the_end) return say("from", { begin: fails.begin, both });
      if (word === IN_PART && fails.since === 0 && fails.end > 0) return say("only after", { end: fails.end, worst });
      return say(word === FAILS ? "fails for" : "but for",
        { when: say(fails.end > fails.begin ? "when" : "when once", fails), worst });
    };
    const phrase = (found, word) => {
      if (found.impossible) return say("impossible", found.impossible);
      if (found.fails) return failing(word, found.fails);
      if (word === OPEN) {
        const { runs } = found.unresolved, what = "replicas";
        const remedy = runs >= LIMITS.MOST ? say("never", { what }) : say("about", { count: rounded(runs), what });
        return say("open", { chance: chance(found.unresolved), remedy });
      }
      if (word === WITHIN) return within(found);
      if (word === IN_PART) return found.within ? say("risk within", { within: within(found) }) : say("risk holds");
      return found.moves ? say("holds") : say("still", { risk: found.final_risk });
    };
    const sentence = (found, until) =>
      [phrase(found, grade(found, until)), ...openParts(found), ...parts(found)].join("; ");
    return { say, grade, sentence };
  };

  const judge = (words, reference, theories) => {
    const { say, grade, sentence } = speaker(words), until = reference.times[reference.times.length - 1];
    const rows = theories.map((theory) => {
      const found = judgement(reference, theory);
      return { name: theory.name, verdict: grade(found, until), sentence: sentence(found, until), found };
    });
    const order = (row) => words.grades.indexOf(row.verdict);
    const best = rows.reduce((one, row) => (!one || order(row) < order(one)
      || (order(row) === order(one) && abs(row.found.worst_percent) < abs(one.found.worst_percent)) ? row : one), null);
    const open = best && best.verdict === words.grades[3];
    const closest = !best ? say("alone") : (open ? say("none closest", { best: best.name }) : say("closest", { reference: reference.name, best: best.name }));
    const text = rows.map((row) => `${row.name} ${row.sentence}. `).join("") + closest;
    return { part: "verdict", rows: rows.map(({ name, verdict, sentence }) => ({ name, verdict, sentence })), text };
  };
  // what a theory claims at other numbers, by the law of lab/claims.py: {accuracy, leaves_open}
  const claimOf = ({ accuracy: { constant, moving, powers, at }, leaves_open }, numbers) => {
    const of = (path) => (path in numbers ? numbers[path] : at[path]);
    const factor = Object.keys(powers).reduce((x, path) => x * (of(path) / at[path]) ** powers[path], 1);
    const words = leaves_open.replace(/\{(.+?)\}/g, (_, path) => of(path).toLocaleString("en-US"));
    return { accuracy: constant + moving * factor, leaves_open: words };
  };
  return { judge, claimOf, judgement, student, general, LIMITS };
})();
if (typeof module === "object") module.exports = dimfreeVerdict;
