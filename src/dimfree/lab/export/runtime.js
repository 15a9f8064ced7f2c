// What written code calls. H is the heap; T, A, B are tables of addresses; o is where the result goes.
function makeRuntime(H) {
  const asin = x => Math.asin(x > 1 ? 1 : x < -1 ? -1 : x);
  const copysign = (a, b) => { a = Math.abs(a); return b < 0 || Object.is(b, -0) ? -a : a; };
  const power = (x, n) => { let r = 1; while (n) { if (n & 1) r *= x; x *= x; n >>= 1; } return r; };
  const even = x => { const r = Math.round(x); return r - x === 0.5 && r % 2 !== 0 ? r - 1 : r; };
  const away = x => Math.sign(x) * Math.floor(Math.abs(x) + 0.5);
  const table = (first, ...loops) => {
    let found = [first];
    for (let n = 0; n < loops.length; n += 2) {
      const next = [];
      for (const x of found) for (let i = 0; i < loops[n]; i++) next.push(x + i * loops[n + 1]);
      found = next;
    }
    return Int32Array.from(found);
  };
  const runs = (...given) => {
    const found = [];
    for (let n = 0; n < given.length; n += 3) for (let i = 0; i < given[n + 1]; i++) found.push(given[n] + i * given[n + 2]);
    return Int32Array.from(found);
  };
  // rows of S and T end in zeros after so many entries
  const dot = (o, B, M, N, K, S, T, lengthS, lengthT) => {
    for (let b = 0; b < B; b++) for (let m = 0; m < M; m++) for (let n = 0; n < N; n++) {
      const p = (b * M + m) * K, q = (b * N + n) * K, length = Math.min(lengthS[b * M + m], lengthT[b * N + n]);
      let s = 0;
      for (let k = 0; k < length; k++) s += H[S[p + k]] * H[T[q + k]];
      H[o++] = s;
    }
  };
  // both factors at equal distances
  const product = (o, B, M, N, K, first, outer, row, inner, firstT, outerT, rowT, innerT) => {
    for (let b = 0; b < B; b++) for (let m = 0; m < M; m++) for (let n = 0; n < N; n++) {
      let p = first + b * outer + m * row, q = firstT + b * outerT + n * rowT, s = 0;
      for (let k = 0; k < K; k++) { s += H[p] * H[q]; p += inner; q += innerT; }
      H[o++] = s;
    }
  };
  const reduce_sum = (o, n, m, T) => { for (let i = 0, q = 0; i < n; i++) { let s = 0; for (let j = 0; j < m; j++) s += H[T[q++]]; H[o + i] = s; } };
  const reduce_prod = (o, n, m, T) => { for (let i = 0, q = 0; i < n; i++) { let s = 1; for (let j = 0; j < m; j++) s *= H[T[q++]]; H[o + i] = s; } };
  const reduce_max = (o, n, m, T) => { for (let i = 0, q = 0; i < n; i++) { let s = -Infinity; for (let j = 0; j < m; j++) s = Math.max(s, H[T[q++]]); H[o + i] = s; } };
  const reduce_min = (o, n, m, T) => { for (let i = 0, q = 0; i < n; i++) { let s = Infinity; for (let j = 0; j < m; j++) s = Math.min(s, H[T[q++]]); H[o + i] = s; } };
  const reduce_and = (o, n, m, T) => { for (let i = 0, q = 0; i < n; i++) { let s = 1; for (let j = 0; j < m; j++) s &= H[T[q++]]; H[o + i] = s; } };
  const reduce_or = (o, n, m, T) => { for (let i = 0, q = 0; i < n; i++) { let s = 0; for (let j = 0; j < m; j++) s |= H[T[q++]]; H[o + i] = s; } };
  const reduce_argmax = (o, n, m, T) => { for (let i = 0; i < n; i++) { let s = 0; for (let j = 1; j < m; j++) if (H[T[i * m + j]] > H[T[i * m + s]]) s = j; H[o + i] = s; } };
  const reduce_argmin = (o, n, m, T) => { for (let i = 0; i < n; i++) { let s = 0; for (let j = 1; j < m; j++) if (H[T[i * m + j]] < H[T[i * m + s]]) s = j; H[o + i] = s; } };
  // rows of several arrays, all of them by the first
  const sorted = (o, many, n, m, T) => {
    for (let i = 0; i < n; i++) {
      const order = Array.from({ length: m }, (_, j) => j).sort((x, y) => H[T[i * m + x]] - H[T[i * m + y]]);
      for (let k = 0; k < many; k++) order.forEach((from, j) => { H[o + (k * n + i) * m + j] = H[T[(k * n + i) * m + from]]; });
    }
  };
  const triangular = (o, many, n, m, lower, unit, A, B) => {
    for (let b = 0; b < many; b++) for (let c = 0; c < m; c++) for (let r = 0; r < n; r++) {
      const i = lower ? r : n - 1 - r, at = o + b * n * m;
      let s = H[B[b * n * m + i * m + c]];
      for (let j = lower ? 0 : i + 1; j < (lower ? i : n); j++) s -= H[A[b * n * n + i * n + j]] * H[at + j * m + c];
      H[at + i * m + c] = unit ? s : s / H[A[b * n * n + i * n + i]];
    }
  };
  const cholesky = (o, many, n, T) => {
    for (let b = 0, at = o; b < many; b++, at += n * n) for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
      if (j > i) { H[at + i * n + j] = 0; continue; }
      let s = (H[T[b * n * n + i * n + j]] + H[T[b * n * n + j * n + i]]) / 2;
      for (let k = 0; k < j; k++) s -= H[at + i * n + k] * H[at + j * n + k];
      H[at + i * n + j] = i === j ? Math.sqrt(s) : s / H[at + j * n + j];
    }
  };
  // Jacobi's rotations: vectors in columns, then rising values
  const eigenpairs = (o, many, n, T) => {
    for (let b = 0; b < many; b++) {
      const A = Float64Array.from({ length: n * n }, (_, i) => H[T[b * n * n + i]]), V = new Float64Array(n * n);
      for (let i = 0; i < n; i++) V[i * n + i] = 1;
      for (let sweep = 0; sweep < 60; sweep++) {
        let off = 0, all = 0;
        for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) { const x = A[i * n + j] ** 2; all += x; if (i !== j) off += x; }
        if (!(off > 1e-32 * all)) break;
        for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) {
          const x = A[p * n + q];
          if (x === 0) continue;
          const h = (A[q * n + q] - A[p * n + p]) / (2 * x), t = (h < 0 ? -1 : 1) / (Math.abs(h) + Math.sqrt(h * h + 1));
          const c = 1 / Math.sqrt(t * t + 1), s = t * c;
          for (let k = 0; k < n; k++) { const u = A[k * n + p], v = A[k * n + q]; A[k * n + p] = c * u - s * v; A[k * n + q] = s * u + c * v; }
          for (let k = 0; k < n; k++) { const u = A[p * n + k], v = A[q * n + k]; A[p * n + k] = c * u - s * v; A[q * n + k] = s * u + c * v; }
          for (let k = 0; k < n; k++) { const u = V[k * n + p], v = V[k * n + q]; V[k * n + p] = c * u - s * v; V[k * n + q] = s * u + c * v; }
        }
      }
      const order = Array.from({ length: n }, (_, i) => i).sort((x, y) => A[x * n + x] - A[y * n + y]);
      order.forEach((from, j) => {
        H[o + many * n * n + b * n + j] = A[from * n + from];
        for (let k = 0; k < n; k++) H[o + b * n * n + k * n + j] = V[k * n + from];
      });
    }
  };
  // the error function by the rational approximations of fdlibm (Sun Microsystems, freely licensed)
  const tail = a => {
    const t = 1 / (a * a), z = Math.fround(a);
    let R, S;
    if (a < 2.857142857142857) {
      R = -9.86494403484714822705e-03 + t * (-6.93858572707181764372e-01 + t * (-1.05586262253232909814e+01 + t * (-6.23753324503260060396e+01 + t * (-1.62396669462573470355e+02 + t * (-1.84605092906711035994e+02 + t * (-8.12874355063065934246e+01 + t * -9.81432934416914548592e+00))))));
      S = 1 + t * (1.96512716674392571292e+01 + t * (1.37657754143519042600e+02 + t * (4.34565877475229228821e+02 + t * (6.45387271733267880336e+02 + t * (4.29008140027567833386e+02 + t * (1.08635005541779435134e+02 + t * (6.57024977031928170135e+00 + t * -6.04244152148580987438e-02)))))));
    } else {
      R = -9.86494292470009928597e-03 + t * (-7.99283237680523006574e-01 + t * (-1.77579549177547519889e+01 + t * (-1.60636384855821916062e+02 + t * (-6.37566443368389627722e+02 + t * (-1.02509513161107724954e+03 + t * -4.83519191608651397019e+02)))));
      S = 1 + t * (3.03380607434824582924e+01 + t * (3.25792512996573918826e+02 + t * (1.53672958608443695994e+03 + t * (3.19985821950859553908e+03 + t * (2.55305040643316442583e+03 + t * (4.74528541206955367215e+02 + t * -2.24409524465858183362e+01))))));
    }
    return Math.exp(-z * z - 0.5625) * Math.exp((z - a) * (z + a) + R / S) / a;
  };
  const erf = x => {
    const a = Math.abs(x);
    if (a < 0.84375) {
      const z = a * a;
      return x + x * (((((-2.37630166566501626084e-05 * z - 5.77027029648944159157e-03) * z - 2.84817495755985104766e-02) * z - 3.25042107247001499370e-01) * z + 1.28379167095512558561e-01) / (1 + z * (3.97917223959155352819e-01 + z * (6.50222499887672944485e-02 + z * (5.08130628187576562776e-03 + z * (1.32494738004321644526e-04 + z * -3.96022827877536812320e-06))))));
    }
    if (a < 1.25) {
      const t = a - 1;
      return Math.sign(x) * (8.45062911510467529297e-01 + (-2.36211856075265944077e-03 + t * (4.14856118683748331666e-01 + t * (-3.72207876035701323847e-01 + t * (3.18346619901161753674e-01 + t * (-1.10894694282396677476e-01 + t * (3.54783043256182359371e-02 + t * -2.16637559486879084300e-03)))))) / (1 + t * (1.06420880400844228286e-01 + t * (5.40397917702171048937e-01 + t * (7.18286544141962662868e-02 + t * (1.26171219808761642112e-01 + t * (1.36370839120290507362e-02 + t * 1.19844998467991074170e-02)))))));
    }
    return a < 6 ? Math.sign(x) * (1 - tail(a)) : Math.sign(x);
  };
  const erfc = x => x < 1.25 ? 1 - erf(x) : x < 28 ? tail(x) : 0;
  return { asin, copysign, power, even, away, table, runs, dot, product, reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or,
    reduce_argmax, reduce_argmin, sorted, triangular, cholesky, eigenpairs, erf, erfc };
}
