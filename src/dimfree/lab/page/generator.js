// Random numbers for the chain in the page: sfc32, normals by the ziggurat of Marsaglia and Tsang (128 layers, whose
// tables are made here), chi-squares by their rejection. generatorOf(seed, replica) gives streams that do not overlap
// in practice: the three words of the state are hashes of both numbers.
const dimfreeGenerator = (() => {
  "use strict";
  const LAYERS = 128, TAIL = 3.442619855899, AREA = 9.91256303526217e-3; // where the tail begins; area of a layer
  const EDGE = new Float64Array(LAYERS + 1), INNER = new Float64Array(LAYERS), HEIGHT = new Float64Array(LAYERS + 1);
  const bell = (x) => Math.exp(-0.5 * x * x);
  EDGE[0] = AREA / bell(TAIL);
  EDGE[1] = TAIL;
  for (let i = 2; i < LAYERS; i++) EDGE[i] = Math.sqrt(-2 * Math.log(AREA / EDGE[i - 1] + bell(EDGE[i - 1])));
  for (let i = 0; i < LAYERS; i++) INNER[i] = EDGE[i + 1] / EDGE[i];
  for (let i = 0; i <= LAYERS; i++) HEIGHT[i] = bell(EDGE[i]);

  // The finaliser of MurmurHash3: every bit of the number decides about half of the bits of the hash.
  const hash = (number) => {
    let h = number | 0;
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    return h ^ (h >>> 16);
  };

  const generatorOf = (seed, replica = 0) => {
    const low = hash(seed % 4294967296 | 0), high = hash(Math.floor(seed / 4294967296) + 0x9e3779b9);
    let a = hash(low ^ 0x243f6a88), b = hash(high ^ low), c = hash((replica + 0x13198a2e) ^ high), counter = 1;

    const bits = () => {
      const word = (((a + b) | 0) + counter) | 0;
      counter = (counter + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (c << 21) | (c >>> 11);
      c = (c + word) | 0;
      return word;
    };
    for (let i = 0; i < 20; i++) bits();

    // in (0, 1): never an end
    const uniform = () => ((bits() >>> 0) + 0.5) * 2 ** -32;

    const tail = (below) => {
      for (;;) {
        const x = Math.log(uniform()) / TAIL, y = Math.log(uniform());
        if (-2 * y >= x * x) return below ? x - TAIL : TAIL - x;
      }
    };
    const normal = () => {
      for (;;) {
        const word = bits(), layer = word & 127;
        // 25 bits of this word and 27 of another: u on a grid of 2^-51
        const u = ((word >> 7) * 134217728 + (bits() >>> 5)) * 2 ** -51, x = u * EDGE[layer];
        if (u < INNER[layer] && -u < INNER[layer]) return x;
        if (layer === 0) return tail(u < 0);
        if (HEIGHT[layer] + uniform() * (HEIGHT[layer + 1] - HEIGHT[layer]) < bell(x)) return x;
      }
    };

    // of any positive degrees of freedom
    const chiSquare = (freedom) => {
      if (freedom < 2) return chiSquare(freedom + 2) * uniform() ** (2 / freedom);
      const offset = freedom / 2 - 1 / 3, scale = 1 / Math.sqrt(9 * offset);
      for (;;) {
        const x = normal(), root = 1 + scale * x;
        if (root <= 0) continue;
        const v = root * root * root, u = uniform(), square = x * x;
        if (u < 1 - 0.0331 * square * square) return 2 * offset * v;
        if (Math.log(u) < 0.5 * square + offset * (1 - v + Math.log(v))) return 2 * offset * v;
      }
    };
    return { bits, uniform, normal, chiSquare };
  };
  return { generatorOf };
})();
if (typeof module === "object") module.exports = dimfreeGenerator;
