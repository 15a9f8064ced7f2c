"use strict";
// The backend of the saved page: theories in one worker, SGD in another, slow theories in a third when the sliders rest.
const makeBackend = () => {
  const RESTING = 300;  // ms without a change after which slow theories are solved
  const solved = new Map();  // the newest curve of every theory, which the verdict is about
  let hello = null, about = null, next = 1, source = null, theories = null, film = null, slow = null, slowly = 0;

  // What the page knows first, and what its workers run, stand in it as compressed data.
  const unpacked = async () => {
    const bytes = Uint8Array.from(atob(dom.by("packed").textContent), (c) => c.charCodeAt(0));
    const found = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
    hello = found.hello;
    source = URL.createObjectURL(new Blob([found.worker], { type: "text/javascript" }));
  };

  const worker = () => {
    const made = { thread: new Worker(source), asked: new Map() };
    made.thread.onmessage = ({ data }) => { const receive = made.asked.get(data.id); if (receive) receive(data); };
    made.thread.onerror = (event) => { for (const receive of made.asked.values()) { receive({ part: "error", sentence: event.message }); receive({ part: "done" }); } };
    made.ask = (frame, receive) => {
      const id = next++;
      made.asked.set(id, (part) => { if (part.part === "done") made.asked.delete(id); receive(part); });
      made.thread.postMessage({ ...frame, id });
      return id;
    };
    return made;
  };
  const known = unpacked().then(() => new Promise((resolve, reject) => {
    theories = worker();
    theories.ask({ ask: "about" }, (part) => {
      if (part.part === "about") { about = part.about; resolve(); }
      else if (part.part === "error") reject({ sentence: part.sentence });
    });
  }));

  const live = () => hello.controls.filter((control) => control.live).map((control) => control.path);
  const numbersOf = (problem) => Object.fromEntries(live().map((path) => [path, values.get(problem, path)]));
  // The structure of this page is fixed: a problem that differs from it in more than numbers needs the server.
  const fitted = (wanted) => {
    let problem = hello.problem;
    for (const path of live()) {
      const value = values.get(wanted, path), control = hello.controls.find((one) => one.path === path);
      if (value === undefined || value === null) continue;
      if (!fits(control, value)) throw { sentence: `${path} is ${JSON.stringify(value)}, which is not what its control holds: move the control.` };
      problem = values.put(problem, path, value);
    }
    for (const [path, value] of leaves(wanted))
      if (!live().includes(path) && values.get(problem, path) !== undefined && !values.same(values.get(problem, path), value))
        throw { sentence: `This page was made for ${path} = ${JSON.stringify(values.get(problem, path))}; another value needs the server: dimfree lab.` };
    return problem;
  };
  const fits = (control, value) => {
    if (control.type === "numbers") return Array.isArray(value) && value.length === control.value.length && value.every(Number.isFinite);
    return typeof value === "number" && Number.isFinite(value) && (control.type !== "integer" || Number.isInteger(value));
  };
  const leaves = (table, path = "") => Object.entries(table).flatMap(([key, value]) => (values.isTable(value) ? leaves(value, `${path}${key}.`) : [[path + key, value]]));
  const controlsOf = (problem) => hello.controls.map((control) => ({ ...control, value: control.live ? values.get(problem, control.path) : control.value }));

  const solve = (problem, onPart) => {
    let off = false;
    const numbers = numbersOf(problem), names = (resting) => about.descriptions.filter((one) => !!one.resting === resting).map((one) => one.name);
    const take = (part) => {
      if (off) return;
      if (part.part === "curve") { solved.set(part.name, part); beside(); }
      if (part.part === "refusal") solved.delete(part.name);
      onPart(part);
    };
    clearTimeout(slowly);
    solved.clear();
    if (slow && slow.asked.size) { slow.thread.terminate(); slow = null; }
    if (hello.phase) take(hello.phase);
    const tables = hello.grid ? tabulated.parts(hello.grid, problem, hello.problem, live()) : [], listed = new Set(tables.map((part) => part.name));
    for (const { name, sentence } of about.refused) if (!listed.has(name)) take({ part: "refusal", name, sentence });
    if (!hello.recipe) { [...tables, { part: "done" }].forEach(take); return { cancel: () => {} }; }
    theories.ask({ ask: "solve", numbers, section: problem.run, recipe: hello.recipe, names: names(false) }, (part) => {
      if (part.part === "done") tables.forEach(take);
      if (part.part !== "done" || !names(true).length) return take(part);
      slowly = setTimeout(() => {
        if (off) return;
        slow = slow || worker();
        slow.ask({ ask: "solve", numbers, section: problem.run, recipe: hello.recipe, names: names(true) }, take);
      }, RESTING);
      return undefined;
    });
    return { cancel: () => { off = true; } };
  };

  // What SGD is judged against: the curves that are known by now.
  const beside = () => {
    if (!film) return;
    const theories = [...solved.values()].filter((one) => one.judged).map(({ name, judged, risk, observables }) =>
      ({ name, ...judged, risk: risk.mean, observables: Object.fromEntries(Object.entries(observables).map(([key, seen]) => [key, seen.values])) }));
    film.thread.postMessage({ ask: "beside", theories });
  };
  const simulate = (problem, onPart) => {
    let off = false;
    film = film || worker();
    const thread = film;
    beside();
    const id = thread.ask({
      ask: "simulate", numbers: numbersOf(problem), section: problem.run, recipe: hello.recipe, words: hello.words,
    }, (part) => { if (!off) onPart(part); });
    const send = (ask) => thread.thread.postMessage({ ask });
    return { cancel: () => { off = true; thread.asked.delete(id); send("stop"); }, pause: () => send("pause"), resume: () => send("resume") };
  };

  const floats = () => new Set(hello.controls.filter((one) => one.type === "number" || one.type === "numbers").map((one) => one.path));
  return {
    hello: async () => { await known; return { ...hello, served: false }; },
    controls: async (wanted, change) => {
      await known;
      let changed = wanted;
      for (const [path, value] of Object.entries(change || {})) changed = values.put(changed, path, value);
      const problem = fitted(changed);
      return { problem, controls: controlsOf(problem), remark: hello.remark || "", slow: !!about.chain };
    },
    solve, simulate,
    slow: (problem, run, onStep) => film.ask({ ask: "slow" }, (part) => { if (part.part === "slow") onStep(part.step); }),
    text: async (problem, as) => problemText[as](problem, floats()),
    download: null,
  };
};
