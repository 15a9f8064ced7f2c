// What runs in a worker of the saved page, after the emitted theory and chain, the start, the generator and the verdict.
// A worker is asked {id, ask: "about" | "solve" | "simulate" | "beside" | "slow" | "pause" | "resume" | "stop", ...} and answers with parts.
const dimfreeWorker = (() => {
  "use strict";
  const SLICE = 25;     // ms of SGD between two looks at the messages
  const SHOWN = 120;    // ms of SGD after which its points are shown
  const JUDGED = 600;   // ms of SGD after which they are judged
  const ORDER = 4096;   // steps of one call of the chain
  let theory = null, chain = null, run = 0, newest = 0, paused = false, wake = null, theories = [], now = null;
  const say = (id, part) => postMessage({ ...part, id });
  const fail = (id, failure) => { say(id, { part: "error", sentence: failure.message || String(failure) }); say(id, { part: "done" }); };
  const ready = (numbers) => {
    theory = theory || makeTheory();
    chain = chain || makeChain();
    if (chain) chain.set(numbers);
    return chain ? chain.timeStep : 0;
  };

  const about = () => {
    ready({});
    return {
      descriptions: theory.descriptions.map(({ name, label, resting }) => ({ name, label: label || name, resting: !!resting })),
      refused: theory.refused, chain: chain && chain.name,
    };
  };

  const plain = (x) => (Number.isFinite(x) ? x : null);
  const meanings = (parts) => Object.fromEntries(parts.map(({ name, meaning, units }) => [name, { meaning, units }]));
  const rows = (flat, count) => {
    const size = flat.length / count;
    return Array.from({ length: count }, (_, j) => Array.from(flat.subarray(j * size, (j + 1) * size), plain));
  };
  const timesOf = (section, timeStep) => (timeStep ? dimfreeTimes.savedTimes(section, timeStep) : dimfreeTimes.savedTimes(section, section.until / 1e6));

  const solve = async ({ id, numbers, section, recipe, names }) => {
    newest = id;
    const timeStep = ready(numbers), start = dimfreeStart.startOf(recipe, numbers), times = timesOf(section, timeStep);
    for (const one of theory.descriptions) {
      if (!names.includes(one.name)) continue;
      await breathe();
      if (newest !== id) break;
      const from = performance.now(), solved = theory.solve(one.name, numbers, start, times), milliseconds = performance.now() - from;
      const observables = {};
      for (const { name, dims, shape } of one.parts)
        if (solved.observables[name]) observables[name] = { dims, shape, values: rows(solved.observables[name], times.length) };
      say(id, {
        part: "curve", name: one.name, label: one.label || one.name, real: false, resting: !!one.resting, times, milliseconds, variables: meanings(one.parts), observables,
        risk: { mean: Array.from(solved.risk, plain), low: null, high: null },
        judged: typeof one.claim === "string" ? null : dimfreeVerdict.claimOf(one.claim, numbers),
      });
      if (typeof one.claim === "string") say(id, { part: "warning", name: one.name, sentence: one.claim });
      if (solved.failed) say(id, { part: "warning", name: one.name, sentence: solved.failed.sentence });
    }
    say(id, { part: "done" });
  };

  // Yields to messages: a message port is answered at once, a timer is not.
  const breathe = () => new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); done(); };
    port2.postMessage(0);
  });
  const resumed = () => new Promise((done) => { wake = done; });

  const simulate = async ({ id, numbers, section, recipe, words }) => {
    const mine = ++run;
    paused = false;
    const timeStep = ready(numbers);
    if (!chain) throw new Error("Real SGD of this problem needs the server: open it with dimfree lab.");
    const start = dimfreeStart.startOf(recipe, numbers), times = timesOf(section, timeStep), seed = section.seed;
    const states = Array.from({ length: section.replicas }, () => chain.begin(start));
    const rngs = states.map((_, replica) => dimfreeGenerator.generatorOf(seed, replica));
    now = { numbers, states, seed, steps: 0, looks: 0 };
    const record = { name: chain.name, times: [], risk: [], observables: {} };
    let done = 0, total = 0, busy = 0, from = 0, shown = performance.now(), judged = shown, waiting = blank();

    for (let j = 0; j < times.length; j++) {
      const goal = dimfreeTimes.stepsAt(times[j], timeStep), last = j === times.length - 1;
      for (let replica = 0; replica < states.length; replica++) {
        for (let at = done; at < goal;) {
          const began = performance.now();
          while (at < goal && performance.now() < began + SLICE) {
            const to = Math.min(goal, at + ORDER);
            chain.run(states[replica], rngs[replica], at, to);
            total += to - at;
            at = to;
          }
          const ended = performance.now();
          busy += ended - began;
          if (at < goal || ended - shown > SLICE) {
            await breathe();
            if (mine !== run) return;
            if (paused) { await resumed(); if (mine !== run) return; chain.set(numbers); }
          }
        }
      }
      done = now.steps = Math.max(done, goal);
      note(waiting, record, states, times[j]);
      const time = performance.now();
      if (!last && time - shown < SHOWN) continue;
      say(id, { part: "points", name: chain.name, label: chain.label, real: true, from, ...waiting, variables: meanings(chain.parts), steps: total, steps_per_second: busy > 0 ? (1e3 * total) / busy : null });
      if (last || time - judged > JUDGED) { say(id, verdict(words, record, !last)); judged = time; }
      from = j + 1;
      waiting = blank();
      shown = time;
    }
    say(id, { part: "done" });
  };
  const blank = () => ({ times: [], risk: { mean: [], low: [], high: [] }, observables: {} });
  const note = (waiting, record, states, time) => {
    const looks = states.map((state) => chain.observe(state)), risks = looks.map((look) => look.risk[0]);
    waiting.times.push(time);
    waiting.risk.mean.push(plain(risks.reduce((sum, one) => sum + one, 0) / risks.length));
    waiting.risk.low.push(plain(Math.min(...risks)));
    waiting.risk.high.push(plain(Math.max(...risks)));
    record.times.push(time);
    record.risk.push(risks);
    for (const { name, dims, shape } of chain.parts) {
      if (name === "risk") continue;
      waiting.observables[name] = waiting.observables[name] || { dims, shape, values: [] };
      waiting.observables[name].values.push(Array.from(looks[0][name], (_, i) => plain(looks.reduce((sum, look) => sum + look[name][i], 0) / looks.length)));
      (record.observables[name] = record.observables[name] || []).push(looks.map((look) => Array.from(look[name])));
    }
  };
  // The theories come from the page, which has them; the judgement is dimfree's own.
  const verdict = (words, record, running) => {
    const count = record.times.length, until = (list) => list.slice(0, count);
    const beside = theories.map((one) => ({ ...one, risk: until(one.risk), observables: Object.fromEntries(Object.entries(one.observables).map(([name, values]) => [name, until(values)])) }));
    return { ...dimfreeVerdict.judge(words, record, beside), running };
  };

  // One step from where the first run is: every time another sample, and the run itself stays where it is.
  const slow = ({ id }) => {
    const rng = dimfreeGenerator.generatorOf(now.seed, 1e6 + now.looks++);
    say(id, { part: "slow", step: dimfreeSlow.slowStep(chain, now.numbers, now.states[0], rng, { first: now.steps, samples: 128 }) });
    say(id, { part: "done" });
  };

  const awake = () => { if (wake) wake(); wake = null; };
  onmessage = ({ data }) => {
    const { id, ask } = data;
    if (ask === "about") { try { say(id, { part: "about", about: about() }); } catch (failure) { fail(id, failure); } }
    else if (ask === "solve") solve(data).catch((failure) => fail(id, failure));
    else if (ask === "simulate") { awake(); simulate(data).catch((failure) => fail(id, failure)); }
    else if (ask === "slow") { try { slow(data); } catch (failure) { fail(id, failure); } }
    else if (ask === "beside") theories = data.theories;
    else if (ask === "pause") paused = true;
    else if (ask === "resume") { paused = false; awake(); }
    else if (ask === "stop") { run++; paused = false; awake(); }
  };
})();
