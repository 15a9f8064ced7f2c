// Dormand and Prince's steps of order 5(4) with dense output; errors are measured as diffrax does, by the root of their mean square.
// f(t, y, out) is the right-hand side, size(y) a number that grows without bound when the equations do; at jumps a step ends.
function integrate(f, y0, times, { rtol = 1e-7, atol = 1e-10, jumps = [], size = null, most = 200000 } = {}) {
  const n = y0.length, make = () => new Float64Array(n), BLOW_UP = 1e6;
  let y = Float64Array.from(y0), z = make(), k1 = make(), k7 = make();
  const k2 = make(), k3 = make(), k4 = make(), k5 = make(), k6 = make(), u = make(), states = [];
  const end = times[times.length - 1], stops = Array.from(jumps).filter(x => x > times[0] && x < end);
  let t = times[0], next = 0, stop = 0, evaluations = 1, steps = 0;
  const norm = (v, w) => {
    let sum = 0;
    for (let j = 0; j < n; j++) { const e = v[j] / (atol + rtol * Math.abs(w[j])); sum += e * e; }
    return Math.sqrt(sum / n);
  };
  while (next < times.length && times[next] <= t) { states.push(y.slice()); next++; }
  f(t, y, k1);
  const d0 = norm(y, y), d1 = norm(k1, y);
  let h = d0 < 1e-5 || !(d1 >= 1e-5) ? 1e-6 : 0.01 * d0 / d1;
  const failed = why => ({ states, evaluations, steps, t, failed: why });
  if (!Number.isFinite(d1)) return failed("diverged");
  while (next < times.length) {
    if (++steps > most) return failed("steps");
    const until = stop < stops.length ? stops[stop] : end;
    let s = Math.min(h, until - t);
    if (s > 0.9999999 * (until - t)) s = until - t;
    for (let j = 0; j < n; j++) u[j] = y[j] + s * 0.2 * k1[j];
    f(t + s / 5, u, k2);
    for (let j = 0; j < n; j++) u[j] = y[j] + s * (3 / 40 * k1[j] + 9 / 40 * k2[j]);
    f(t + 0.3 * s, u, k3);
    for (let j = 0; j < n; j++) u[j] = y[j] + s * (44 / 45 * k1[j] - 56 / 15 * k2[j] + 32 / 9 * k3[j]);
    f(t + 0.8 * s, u, k4);
    for (let j = 0; j < n; j++) u[j] = y[j] + s * (19372 / 6561 * k1[j] - 25360 / 2187 * k2[j] + 64448 / 6561 * k3[j] - 212 / 729 * k4[j]);
    f(t + 8 / 9 * s, u, k5);
    for (let j = 0; j < n; j++) u[j] = y[j] + s * (9017 / 3168 * k1[j] - 355 / 33 * k2[j] + 46732 / 5247 * k3[j] + 49 / 176 * k4[j] - 5103 / 18656 * k5[j]);
    // a step that ends at a jump sees the right-hand side before it
    const last = until < end && s === until - t ? until - 1e-12 * Math.abs(until) : t + s;
    f(last, u, k6);
    for (let j = 0; j < n; j++) z[j] = y[j] + s * (35 / 384 * k1[j] + 500 / 1113 * k3[j] + 125 / 192 * k4[j] - 2187 / 6784 * k5[j] + 11 / 84 * k6[j]);
    f(last, z, k7);
    evaluations += 6;
    let sum = 0;
    for (let j = 0; j < n; j++) {
      const e = s * (71 / 57600 * k1[j] - 71 / 16695 * k3[j] + 71 / 1920 * k4[j] - 17253 / 339200 * k5[j] + 22 / 525 * k6[j] - k7[j] / 40);
      const scaled = e / (atol + rtol * Math.max(Math.abs(y[j]), Math.abs(z[j])));
      sum += scaled * scaled;
    }
    const error = Math.sqrt(sum / n);
    if (!(error <= 1)) {
      h = s * (error < Infinity ? Math.max(0.2, 0.9 * Math.pow(error, -0.2)) : 0.1);
      if (!(h > 1e-13 * end)) return failed("diverged");
      continue;
    }
    const ends = t + s >= until ? until : t + s;
    while (next < times.length && times[next] <= ends) {
      const x = (times[next] - t) / s, o = make();
      if (x >= 1) o.set(z);
      else for (let j = 0; j < n; j++) {
        const dy = z[j] - y[j], b = s * k1[j] - dy;
        const r = s * (-12715105075 / 11282082432 * k1[j] + 87487479700 / 32700410799 * k3[j] - 10690763975 / 1880347072 * k4[j] + 701980252875 / 199316789632 * k5[j] - 1453857185 / 822651844 * k6[j] + 69997945 / 29380423 * k7[j]);
        o[j] = y[j] + x * (dy + (1 - x) * (b + x * (dy - s * k7[j] - b + (1 - x) * r)));
      }
      states.push(o);
      next++;
    }
    t = ends;
    [y, z] = [z, y];
    if (size !== null && !(size(y) < BLOW_UP)) return failed("diverged");
    const grown = s * (error > 0 ? Math.min(5, Math.max(0.2, 0.9 * Math.pow(error, -0.2))) : 5);
    if (stop < stops.length && t >= stops[stop]) {
      stop++;
      f(t, y, k1);
      evaluations++;
      h = Math.min(h, grown);
    } else {
      [k1, k7] = [k7, k1];
      h = s < h ? Math.max(h, grown) : grown;
    }
  }
  return { states, evaluations, steps, t, failed: null };
}
