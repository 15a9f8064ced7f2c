// What a page calls: theories and the chain, from written modules and what Python knew of them.
function followed(module, laws, numbers) {
  laws.forEach(([constant, terms, product], which) => {
    const leaf = module.leaves[which];
    for (let i = 0; i < constant.length; i++) {
      let value = constant[i];
      for (const [path, power, factor] of terms) {
        const term = factor[i] * (power === 1 ? numbers[path] : Math.pow(numbers[path], power));
        value = product ? value * term : value + term;
      }
      leaf[i] = value;
    }
  });
  module.setup();
}
function begun(module, names, start, byDefault) {
  names.forEach((name, which) => module.begin.inputs[which].set(start && start[name] ? start[name] : byDefault[name]));
  module.begin.run();
  return module.begin.output.slice();
}
function observed(module, parts, state) {
  module.observe.inputs[0].set(state);
  module.observe.run();
  const found = {};
  for (const { name, first, count } of parts) found[name] = module.observe.output.slice(first, first + count);
  return found;
}
function theoryOf(about, modules) {
  const byName = Object.fromEntries(about.descriptions.map(one => [one.name, one]));
  const all = given => ({ ...about.numbers, ...given });
  const prepared = (name, given) => {
    const one = byName[name], module = modules[one.module];
    followed(module, one.laws, all(given));
    return [one, module];
  };
  const solve = (name, given, start, times, tolerances = {}) => {
    const [one, module] = prepared(name, given), [time, y] = module.rhs.inputs;
    const rhs = (t, state, out) => { time[0] = t; y.set(state); module.rhs.run(); out.set(module.rhs.output); };
    const size = state => { module.size.inputs[0].set(state); module.size.run(); return module.size.output[0]; };
    module.jumps.run();
    const from0 = times[0] > 0 ? [0, ...times] : Array.from(times);
    const run = integrate(rhs, begun(module, one.start, start, about.start), from0, {
      rtol: one.rtol, atol: one.atol, jumps: module.jumps.output.slice(), size, ...tolerances });
    const skipped = from0.length - times.length;
    const observables = Object.fromEntries(one.parts.map(part => [part.name, new Float64Array(times.length * part.count).fill(NaN)]));
    run.states.slice(skipped).forEach((state, j) => {
      const seen = observed(module, one.parts, state);
      for (const part of one.parts) observables[part.name].set(seen[part.name], j * part.count);
    });
    const { risk, ...others } = observables;
    const at = Number(run.t.toPrecision(3));
    const failed = run.failed === null ? null : { t: run.t, sentence: run.failed === "diverged"
      ? `the ${one.name} diverges at t = ${at}.` : `the ${one.name} could not be integrated past t = ${at} within its tolerance.` };
    return { times, risk, observables: others, failed, evaluations: run.evaluations, steps: run.steps };
  };
  const observe = (name, given, start) => {
    const [one, module] = prepared(name, given);
    return observed(module, one.parts, begun(module, one.start, start, about.start));
  };
  // the state of a start, and how fast it moves at time t
  const velocity = (name, given, start, t) => {
    const [one, module] = prepared(name, given), state = begun(module, one.start, start, about.start);
    module.rhs.inputs[0][0] = t;
    module.rhs.inputs[1].set(state);
    module.rhs.run();
    return { state, velocity: module.rhs.output.slice() };
  };
  return { ...about, solve, observe, velocity };
}
function chainOf(about, module) {
  const { block, freedom, pace } = module, [state, normals, uniforms, chiSquares, first, active] = block.inputs;
  const all = given => ({ ...about.numbers, ...given }), size = state.length;
  // numbers of the model; then timeStep is the time of one step
  const set = given => {
    followed(module, about.laws, all(given));
    freedom.run();
    pace.run();
    chain.timeStep = pace.output[0];
  };
  const begin = start => begun(module, about.startNames, start, about.start);
  // draws are in their places: state after `count` steps from step number `from`
  const learn = (at, from, count) => {
    state.set(at);
    first[0] = from;
    active[0] = count;
    block.run();
    at.set(block.output);
  };
  const draw = rng => {
    for (let i = 0; i < normals.length; i++) normals[i] = rng.normal();
    for (let i = 0; i < uniforms.length; i++) uniforms[i] = rng.uniform();
    for (let i = 0; i < chiSquares.length; i++) chiSquares[i] = rng.chiSquare(freedom.output[i]);
  };
  // one block, or its beginning; the state is changed in place
  const step = (at, rng, from, count = about.steps) => {
    draw(rng);
    learn(at, from, count);
  };
  // from step number `from` to step number `to`
  const run = (at, rng, from, to) => {
    state.set(at);
    for (let now = from; now < to; now += about.steps) {
      draw(rng);
      first[0] = now;
      active[0] = Math.min(about.steps, to - now);
      block.run();
      state.set(block.output);
    }
    at.set(state);
  };
  const observe = at => observed(module, about.parts, at);
  const chain = { ...about, size, set, begin, block: step, run, learn, draws: { normals, uniforms, chiSquares }, freedom: freedom.output, observe, timeStep: NaN };
  return chain;
}
