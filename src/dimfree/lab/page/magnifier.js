// What runs in a worker of the served page, after the emitted chain, the generator and slow motion: one step of SGD from the
// overlaps that are shown. It is asked {seen, time, seed} and answers {step} or {sentence}; every time with another sample.
const dimfreeMagnifier = (() => {
  "use strict";
  let chain = null, looks = 0;
  const step = ({ seen, time, seed }) => {
    chain = chain || makeChain();
    chain.set({});
    const rng = dimfreeGenerator.generatorOf(seed, 1e6 + looks++), first = Math.round(time / chain.timeStep);
    return dimfreeSlow.slowStep(chain, {}, chain.begin(seen), rng, { first, samples: 128 });
  };
  onmessage = ({ data }) => {
    try { postMessage({ step: step(data) }); } catch (failure) { postMessage({ sentence: failure.message }); }
  };
})();
