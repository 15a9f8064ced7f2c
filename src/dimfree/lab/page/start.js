// The start that `dimfree compare` draws for a seed: jax's threefry and normals, then the overlaps of weights.
// startOf(recipe, numbers) -> {Q, M, a, bias[, Omega]}: row-major Float64Arrays. The recipe is written by Python
// (onepass/recipe.py); numbers holds values of controls, such as "dimension", which replace those of the recipe.
const dimfreeStart = (() => {
  "use strict";
  const INNER = [
    1.6536545626831027, 0.24015818242558962, -0.006033670871430149, -0.000740702534166267, 0.00018673420803405714,
    -1.3882523362786469e-05, -1.3654692000834679e-06, 4.2347877827932404e-07, -2.9070369957882005e-08,
    -4.112633980346984e-09, 1.0512122733215323e-09, -5.415412054294628e-11, -1.2975133253453532e-11,
    2.6335093153082323e-12, -8.151934197605472e-14, -4.054566272975207e-14, 6.637638134358324e-15,
    2.0972767875968562e-17, -1.333171662854621e-16, 1.1157877678025181e-17, 1.28584807152564e-18,
    -1.6850591381820166e-19, -3.64441206401782e-21];
  const MIDDLE = [
    3.0838856104922208, 1.0052589676941592, 0.005370914553590064, -0.003751208507569241, 0.002491442096107851,
    -0.0016882755560235047, 0.0009532893797373805, -0.0003550375203628475, 2.4031110387097894e-05,
    6.828485145957318e-05, -4.7318229009055734e-05, 1.2475304481671779e-05, 2.9234449089955446e-06,
    -4.013867526981546e-06, 1.5027403968909828e-06, 1.8239629214389228e-08, -2.7517406297064545e-07,
    9.075656193888539e-08, 2.2137376921775787e-09];
  const OUTER = [
    4.849906401408584, 1.0103004648645344, -0.00013871931833623122, -0.00021503011930044477, 7.599527703001776e-05,
    -1.968177810553167e-05, 4.526062597223154e-06, -9.9298272942317e-07, 2.2900482228026655e-07,
    -6.771199775845234e-08, 2.914795345090108e-08, -1.496002662714924e-08, 7.61570120807834e-09,
    -3.789465440126737e-09, 1.5076572693500548e-09, -2.555641816996525e-10, -2.7109920616438573e-11];

  const horner = (c, w) => {
    let sum = c[c.length - 1];
    for (let i = c.length - 2; i >= 0; i--) sum = sum * w + c[i];
    return sum;
  };

  // The inverse of erf by Giles' polynomials in w = -log(1 - x²), as XLA has it.
  const erfInv = (x) => {
    const w = -Math.log1p(-x * x);
    if (w < 6.25) return x * horner(INNER, w - 3.125);
    return x * (w < 16 ? horner(MIDDLE, Math.sqrt(w) - 3.25) : horner(OUTER, Math.sqrt(w) - 5));
  };

  // threefry2x32 of a key [k0, k1] and a counter; the two words are left in `word`.
  const word = new Int32Array(2);
  const threefry = (k0, k1, x0, x1) => {
    const k2 = k0 ^ k1 ^ 0x1bd11bda;
    let a = (x0 + k0) | 0, b = (x1 + k1) | 0;
    const four = (r, s, t, u) => {
      a = (a + b) | 0; b = a ^ ((b << r) | (b >>> (32 - r)));
      a = (a + b) | 0; b = a ^ ((b << s) | (b >>> (32 - s)));
      a = (a + b) | 0; b = a ^ ((b << t) | (b >>> (32 - t)));
      a = (a + b) | 0; b = a ^ ((b << u) | (b >>> (32 - u)));
    };
    four(13, 15, 26, 6); a = (a + k1) | 0; b = (b + k2 + 1) | 0;
    four(17, 29, 16, 24); a = (a + k2) | 0; b = (b + k0 + 2) | 0;
    four(13, 15, 26, 6); a = (a + k0) | 0; b = (b + k1 + 3) | 0;
    four(17, 29, 16, 24); a = (a + k1) | 0; b = (b + k2 + 4) | 0;
    four(13, 15, 26, 6); word[0] = (a + k2) | 0; word[1] = (b + k0 + 5) | 0;
  };
  // jax.random.fold_in(key, number), and with the numbers 0, 1, ... jax.random.split(key)
  const folded = (key, number) => {
    threefry(key[0], key[1], 0, number);
    return [word[0], word[1]];
  };
  const startKey = (seed) => folded([Math.floor(seed / 4294967296) | 0, seed % 4294967296 | 0], 0);

  // jax.random.normal(key, (count,)) in float64
  const normals = (key, count) => {
    const drawn = new Float64Array(count), low = -1 + 2 ** -53, root = Math.SQRT2;
    for (let i = 0; i < count; i++) {
      threefry(key[0], key[1], 0, i);
      const unit = ((word[0] >>> 0) * 1048576 + (word[1] >>> 12)) * 2 ** -52;
      drawn[i] = root * erfInv(Math.max(low, unit * 2 + low));
    }
    return drawn;
  };

  // The orthonormal columns of a (d x k) by Householder's reflections with LAPACK's signs, as k rows of length d.
  const orthonormal = (a, d, k) => {
    const columns = Array.from({ length: k }, (_, j) => Float64Array.from({ length: d }, (_, i) => a[i * k + j]));
    const reflect = (v, tau, x, from) => {
      let sum = 0;
      for (let i = from; i < d; i++) sum += v[i] * x[i];
      for (let i = from; i < d; i++) x[i] -= tau * sum * v[i];
    };
    const taus = columns.map((v, j) => {
      let rest = 0;
      for (let i = j + 1; i < d; i++) rest += v[i] * v[i];
      let tau = 0;
      if (rest > 0) {
        const beta = -Math.sign(v[j] || 1) * Math.sqrt(v[j] * v[j] + rest);
        tau = (beta - v[j]) / beta;
        for (let i = j + 1; i < d; i++) v[i] /= v[j] - beta;
      }
      v[j] = 1;
      for (let later = j + 1; later < k; later++) reflect(v, tau, columns[later], j);
      return tau;
    });
    return columns.map((_, j) => {
      const e = new Float64Array(d);
      e[j] = 1;
      for (let i = k - 1; i >= 0; i--) reflect(columns[i], taus[i], e, i);
      return e;
    });
  };

  const product = (x, y, from, to) => {
    let sum = 0;
    for (let i = from; i < to; i++) sum += x[i] * y[i];
    return sum;
  };
  // sum_j T_ij row_j, for a lower triangular T
  const mixed = (T, rows) => T.map((factors, i) => rows[0].map((_, x) => {
    let sum = 0;
    for (let j = 0; j <= i; j++) sum += factors[j] * rows[j][x];
    return sum;
  }));
  const cholesky = (K) => {
    const L = K.map((row) => row.map(() => 0));
    for (let j = 0; j < K.length; j++)
      for (let i = j; i < K.length; i++) {
        const rest = K[i][j] - product(L[i], L[j], 0, j);
        L[i][j] = i === j ? Math.sqrt(rest) : rest / L[j][j];
      }
    return L;
  };

  // rows with the overlaps 1 of preactivations: L⁻¹ rows, row after row, where L Lᵀ = rows S rowsᵀ/d
  const whitened = (rows, s, d) => {
    const K = rows.map((x) => rows.map((y) => x.reduce((sum, value, i) => sum + value * y[i] * s[i], 0) / d));
    const L = cholesky(K), own = [];
    rows.forEach((row, i) => own.push(row.map((value, x) =>
      own.reduce((rest, earlier, j) => rest - L[i][j] * earlier[x], value) / L[i][i])));
    return own;
  };

  const studentsOf = (recipe, key, d, scale) => {
    const drawn = normals(key, recipe.width * d);
    return Array.from({ length: recipe.width }, (_, i) => {
      const row = drawn.subarray(i * d, (i + 1) * d);
      const size = recipe.kind === "sphere" ? scale * Math.sqrt(d / product(row, row, 0, d)) : scale;
      return row.map((x) => size * x);
    });
  };

  const teachersOf = (recipe, key, d) => {
    const k = recipe.units, drawn = normals(key, d * k);
    if (!recipe.levels)
      return mixed(recipe.teacher_factor.map((row) => row.map((x) => x * Math.sqrt(d))), orthonormal(drawn, d, k));
    const s = recipe.levels.flatMap(([value, count]) => new Array(count).fill(value));
    const rows = Array.from({ length: k }, (_, i) => drawn.subarray(i * d, (i + 1) * d));
    return mixed(recipe.teacher_factor, whitened(rows, s, d));
  };

  const startOf = (recipe, numbers = {}) => {
    const { width: p, units: k } = recipe;
    const of = (name, usual) => (recipe.live.includes(name) && name in numbers ? numbers[name] : usual);
    const state = {
      a: Float64Array.from(recipe.second_layer),
      bias: new Float64Array(p).fill(of("network.bias_start", recipe.bias)),
    };
    const a = of("network.second_layer_start", null);
    if (a !== null) state.a.fill(a * recipe.stretch);
    if (recipe.kind === "given")
      return { ...state, Q: Float64Array.from(recipe.Q.flat()), M: Float64Array.from(recipe.M.flat()) };
    const d = of("dimension", recipe.dimension);
    if (d * (p + k) > recipe.most) throw new Error(recipe.too_many);
    const key = startKey(of("run.seed", recipe.seed));
    const rows = [
      ...studentsOf(recipe, folded(key, 0), d, of("start.scale", recipe.scale)),
      ...teachersOf(recipe, folded(key, 1), d),
    ];
    const overlaps = (ones, others, from = 0, to = d) =>
      Float64Array.from(ones.flatMap((x) => others.map((y) => product(x, y, from, to) / d)));
    if (!recipe.levels) {
      const students = rows.slice(0, p);
      return { ...state, Q: overlaps(students, students), M: overlaps(students, rows.slice(p)) };
    }
    const Omega = new Float64Array(recipe.levels.length * (p + k) ** 2);
    let from = 0;
    recipe.levels.forEach(([, count], b) => {
      Omega.set(overlaps(rows, rows, from, from + count), b * (p + k) ** 2);
      from += count;
    });
    return { ...state, Omega };
  };

  return { startOf, normals, startKey, erfInv };
})();
if (typeof module === "object") module.exports = dimfreeStart;
