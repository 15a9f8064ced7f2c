"use strict";
// The page: one problem, what is asked of the backend when it changes, and who shows the answers.
const lab = (() => {
  const REST = 250;      // ms without a change after which SGD starts
  const PATIENCE = 400;  // ms after which a solution in flight is given up for a newer position
  const backend = makeBackend();
  const store = curves.create();
  const first = address.read(location.hash);
  const embed = first.embed || (document.documentElement.dataset.embed || "").split(",").filter(Boolean);
  const view = { observable: null, account: null, logTime: null, logRisk: null, ...first.view };
  const PHASE = "phase diagram";
  const measured = [];   // of every drag: {wall, main} in ms

  let hello = null, problem = null, list = [], solving = null, waiting = false;
  let spent = 0, moving = null, arrived = null;  // ms of work; the oldest change that is not asked yet; the one that is answered
  let dirty = false, resting = 0, saving = 0, guessed = "", opened = { open: false }, phase = null, sketch = null, slowly = false;
  let initial = new Map();  // values of controls where the page began
  let steps = false;  // whether one step can be shown
  let slowest = "", going = "";  // what is said of a theory that takes long, before its first points and after them

  // ---- how long the page's own thread works for one change
  const timed = (work) => (...given) => {
    const from = performance.now();
    try { return work(...given); } finally { spent += performance.now() - from; }
  };

  // ---- plots
  const risk = plot.create(dom.by("risk-plot"), { title: "Risk against time", onmove: announce });
  const side = plot.create(dom.by("side-plot"), { title: "Observable against time", onmove: announce });
  const pen = guess.create(risk, () => paint());
  function announce(text) { dom.by("announce").textContent = text; }

  const paint = () => {
    if (dirty) return;
    dirty = true;
    requestAnimationFrame(timed(draw));
  };
  // Times in equal steps, or within few decades, have a linear axis; the first of times in powers are whole steps of SGD, often equal ones.
  const even = (times) => {
    const t = times.filter((x) => x > 0), n = t.length;
    return n < 4 || t[n - 1] / t[0] < 20 || t[n - 1] - t[n - 2] < 2 * (t[1] - t[0]);
  };
  const draw = () => {
    const from = performance.now();
    dirty = false;
    const all = store.all(), longest = all.reduce((a, b) => (!a || b.times.length > a.times.length ? b : a), null);
    const logTime = view.logTime === null ? !!longest && !even(longest.times) : view.logTime;
    const every = store.risks(), most = (scales.extent(every.map((one) => one.y)) || [0, 0])[1];
    const positive = every.length > 0 && every.every((one) => one.y.every((y) => y === null || y >= -1e-9 * most));  // but for rounding errors
    const logRisk = view.logRisk === null ? positive : view.logRisk;
    const until = scales.extent(all.map((one) => one.times), logTime);
    const x = { log: logTime, label: "time t", domain: until && until[0] < until[1] ? until : undefined };
    const hidden = pen.active();
    const series = [...(hidden ? every.map((one) => ({ ...one, alpha: 0, shape: null, low: null, high: null, colour: "transparent", name: "" })) : every), ...pen.series()];
    risk.show({ series, x, y: { log: logRisk, label: "risk" } });
    dom.by("log-time").setAttribute("aria-pressed", String(logTime));
    dom.by("log-risk").setAttribute("aria-pressed", String(logRisk));
    panels.legend(dom.by("legend"), store, { log: logRisk, ontoggle: (name) => { store.toggle(name); paint(); } });
    panels.refusals(dom.by("refusals"), store, opened);
    dom.by("thaw").hidden = !store.frozen().length;
    wait(all);
    drawSide(x, hidden);
    describe(hidden ? [] : all);
    if (arrived) measured.push({ wall: performance.now() - arrived.since, main: spent - arrived.spent + performance.now() - from });
    arrived = null;
  };

  // While there is nothing to see, what is waited for, or where it says why.
  const wait = (all) => {
    const box = dom.by("waiting"), text = solving ? slowest || "Solving. Equations of a new structure are compiled first, which takes some seconds." : "No curve can be drawn here. Below, every description says why.";
    box.hidden = all.length > 0 || (!solving && !store.refusals.size);
    if (!box.hidden && !solving && !opened.open) { opened.open = true; panels.refusals(dom.by("refusals"), store, opened); }
    if (!box.hidden && box.textContent !== text) box.textContent = text;
  };

  const drawSide = (x, hidden) => {
    const known = panels.observables(store), names = [...known.keys()];
    const plane = units.name(store);
    if (plane) names.push(plane);
    if (sketch) names.push(sketch.title);
    if (phase && (names.length || !phase.sentence)) names.push(PHASE);
    const name = names.includes(view.observable) ? view.observable : panels.first(store, names, sketch && sketch.title);
    choices(dom.by("observable"), names, name, (one) => one);
    const sketched = !!sketch && name === sketch.title;
    showSide(name === PHASE, name === plane || sketched);
    dom.by("side").classList.toggle("empty", !name);
    if (name === PHASE) {
      dom.by("account").hidden = true;
      dom.by("meaning").textContent = panels.together(diagram.show(phase, Object.fromEntries(Object.keys(phase.numbers || {}).map((path) => [path, values.get(problem, path)]))));
      return;
    }
    if (!name) return;
    if (name === plane) { drawUnits(hidden); return; }
    if (sketched) { drawSketch(hidden); return; }
    const { meaning, shape } = known.get(name);
    const { shown, legend, left, theory } = panels.series(store, name, view.account);
    const having = shape.reduce((n, m) => n * m, 1) > 1 ? store.all().filter((one) => !one.real && (one.observables || {})[name]).map((one) => one.name) : [];
    choices(dom.by("account"), having, theory, (one) => one);
    dom.by("account").hidden = slowly || !having.length;
    const about = (meaning || "") + (left ? ` (${left} more are not drawn)` : "");
    if (dom.by("meaning").textContent !== about) dom.by("meaning").textContent = about;
    side.show({ series: hidden ? [] : shown, x, y: { log: false, label: "" } });
    explain(legend);
  };
  const explain = (legend) => {
    if (panels.news(dom.by("side-legend"), legend)) dom.refill(dom.by("side-legend"), legend.map(([sign, text]) => dom.el("span", { class: "chip" }, plot.swatch(sign), text)));
  };
  const drawUnits = (hidden) => {
    const { shown, legend, theory, theories, time, meaning, axes } = units.series(store, view.account);
    choices(dom.by("account"), theories, theory, (one) => one);
    dom.by("account").hidden = !theories.length;
    dom.by("meaning").textContent = `every unit at t = ${values.short(time)}: ${meaning}`;
    side.show({ series: hidden ? [] : shown, x: axes[0], y: axes[1] });
    explain(legend);
  };
  const drawSketch = (hidden) => {
    const { shown, legend } = sketches.series(sketch, store, problem);
    dom.by("account").hidden = true;
    dom.by("meaning").textContent = sketch.meaning;
    side.show({ series: hidden ? [] : shown, x: { log: true, label: sketch.label }, y: { log: true, label: "" } });
    explain(legend);
  };
  const showSide = (asPhase, other) => {
    const slow = slowly && !asPhase && !other;
    const shown = { phase: asPhase, "slow-steps": slow, "side-plot": !asPhase && !slow, "side-legend": !asPhase && !slow };
    for (const [id, on] of Object.entries(shown)) if (dom.by(id).hidden === on) dom.by(id).hidden = !on;
    dom.by("slow-bar").hidden = asPhase || other || !steps;
    dom.by("slow-next").hidden = !slow;
  };
  // The point of the phase diagram moves numbers at once, and the structure when it is put down.
  let later = {};
  const diagram = phaseView.create(dom.by("phase"), {
    onmove: timed((changes) => {
      for (const [path, wished] of Object.entries(changes)) {
        const control = list.find((one) => one.path === path);
        if (!control || !control.enabled) continue;
        const value = Math.min(control.max, Math.max(control.min, wished));
        if (control.live) { problem = values.put(problem, path, value); list = list.map((one) => (one === control ? { ...one, value } : one)); panel.set(path, value); moved(); }
        else if (value !== values.get(problem, path)) later[path] = value;
      }
    }),
    onrest: () => { if (Object.keys(later).length) restructure(problem, "", later); later = {}; },
  });
  const choices = (select, names, chosen, label) => {
    if (select.dataset.names !== names.join("\n")) {
      select.dataset.names = names.join("\n");
      dom.refill(select, names.map((name) => dom.el("option", { value: name }, label(name))));
    }
    if (chosen) select.value = chosen;
  };
  const describe = (all) => {
    const last = (list) => [...list].reverse().find((y) => y !== null);
    risk.describe("Risk against time. " + all.map((one) => `${one.label || one.name}: ${values.short(one.risk.mean[0])} at first, ${values.short(last(one.risk.mean))} at t = ${values.short(last(one.times))}.`).join(" ") + " Arrow keys read values.");
  };

  // ---- what a solution says
  const status = { ms: new Map(), steps: null, speed: null };  // ms of every theory
  const report = () => {
    const ms = [...status.ms.values()].reduce((sum, one) => sum + one, 0);
    const spent_ = !ms ? "" : ms < 1000 ? `theories in ${values.short(ms, 2)} ms` : `theories in ${values.short(ms / 1000, 2)} s`;
    const sgd = status.steps ? `SGD: ${values.many(status.steps)} steps${status.speed ? `, ${values.many(status.speed)} a second` : ""}` : "";
    dom.by("status").textContent = [solving ? going || "solving …" : "", spent_, sgd].filter(Boolean).join("  ·  ");
  };
  const take = timed((part) => {
    store.take(part);
    if (part.part === "pending") {
      const about = `about ${values.short(part.seconds, 2)} seconds on a quiet machine`;
      slowest = `${part.name} takes ${about}; its curve is drawn as it comes.`;
      going = `solving ${part.name}, ${about} …`;  // also when SGD is there already
    }
    if (part.part === "curve") {
      status.ms.set(part.name, part.milliseconds || 0);
      going = part.share < 1 ? `solving ${part.name}, ${Math.round(100 * part.share)} % …` : "";
    }
    if (part.part === "points") { status.steps = part.steps; status.speed = part.steps_per_second; }
    if (part.part === "phase") phase = part;
    if (part.part === "sketch") sketch = part;
    if (part.part === "verdict") panels.verdict(dom.by("verdict"), part);
    if (part.part === "error") say(part.sentence);
    report();
    paint();
  });
  const say = (sentence) => {
    const box = dom.by("notice");
    box.hidden = !sentence;
    if (box.textContent !== (sentence || "")) box.textContent = sentence || "";
  };

  // At most one solution is in flight. A newer position waits for its first curve, so that a drag shows curves on its way,
  // then cancels the rest of it: the last position wins.
  const solve = () => {
    waiting = false;
    status.ms.clear();
    slowest = going = "";
    store.begin();
    const mine = { at: performance.now(), handle: null, change: moving, shown: false };
    moving = null;
    solving = mine;
    report();
    mine.handle = backend.solve(problem, (part) => {
      if (solving !== mine) return;
      if (part.part === "done") { store.finish(); solving = null; report(); paint(); if (waiting) solve(); return; }
      take(part);
      mine.shown = mine.shown || part.part === "curve";
      if (part.part === "curve" && mine.change) { arrived = mine.change; mine.change = null; }
      if (waiting && part.part === "curve") { mine.handle && mine.handle.cancel(); solve(); }
    });
  };
  const ask = () => {
    if (!solving) return solve();
    waiting = true;
    if (solving.shown || performance.now() - solving.at > PATIENCE) { solving.handle && solving.handle.cancel(); solve(); }
    return undefined;
  };

  // ---- SGD
  let unable = [];  // why experiments were not run
  const film = playback.create(backend, {
    show: (part) => {
      const none = !store.all().some((one) => one.real);
      if (part.part === "refusal" || (part.part === "error" && none)) unable.push([part.name || "", part.sentence]);
      if (part.part !== "error" || !none) take(part);
      if (part.part === "done" && none) panels.unrun(dom.by("verdict"), unable);
    },
    onstate: () => buttons(),
  });
  // The place of the verdict keeps its height while SGD runs again, so that the plots stand still.
  const judge = (text) => {
    const box = dom.by("verdict");
    box.style.minHeight = `${box.offsetHeight}px`;
    dom.refill(box, dom.el("p", { class: "quiet" }, text));
  };
  const buttons = () => {
    const going = film.playing() && film.running();
    dom.by("play").textContent = going ? "Pause" : film.running() ? "Play" : "Run SGD";
    dom.by("play").setAttribute("aria-label", going ? "Pause SGD" : "Run SGD");
  };
  const rest = () => {
    clearTimeout(resting);
    film.stop();
    if (slowly) magnify(false);
    store.dropReal();
    status.steps = null;
    unable = [];
    judge(film.playing() ? "SGD is running …" : "SGD is paused: Run SGD, or Step.");
    resting = setTimeout(() => { if (film.playing() && !pen.active()) film.start(problem); }, REST);
  };

  // ---- changes
  const remember = () => {
    clearTimeout(saving);
    saving = setTimeout(() => {
      const looked = Object.fromEntries(Object.entries(view).filter(([, value]) => value !== null));
      history.replaceState(null, "", address.write({ problem, view: looked, embed: embed.length ? embed : null }));
      kept.links();
    }, 150);
  };
  let frame = 0;
  const moved = () => { if (!frame) frame = requestAnimationFrame(timed(() => { frame = 0; ask(); rest(); remember(); paint(); })); };
  const change = timed((control, value, event) => {
    const before = problem;
    if (control.live) problem = values.put(problem, control.path, value);
    list = list.map((one) => (one.path === control.path ? { ...one, value } : one));
    say("");
    if (!control.live) { restructure(before, "", { [control.path]: value }); return; }
    moving = moving || { since: event.timeStamp, spent };
    moved();
  });

  // Another structure: the backend checks the problem and says which controls it has.
  let asked = 0;
  const restructure = async (wanted, why, changed) => {
    const mine = ++asked;
    try {
      const answer = await backend.controls(wanted, changed);
      if (mine !== asked) return;
      const other = problem === null || structure(answer) !== structure({ problem, controls: list });
      problem = answer.problem;
      list = answer.controls.map((one) => ({ ...one, enabled: !one.readonly && (hello.served || one.live), reason: one.reason || "Changing it needs the server: dimfree lab." }));
      if (!initial.size) initial = new Map(list.map((one) => [one.path, one.value]));
      dom.by("remark").textContent = answer.remark || "";
      dom.by("remark").hidden = !answer.remark;
      steps = !!answer.slow;
      dom.by("why").hidden = !why;
      dom.by("why").textContent = why || "";
      opened.open = !!why;  // a problem that is opened for what fails shows what is said of it
      say("");
      panel.show(list, embed.length ? embed : null);
      if (other) { dom.by("verdict").style.minHeight = ""; dom.refill(dom.by("verdict")); store.clear(); phase = sketch = null; view.logTime = view.logRisk = null; Object.assign(view, first.view); first.view = {}; }
      moved();
    } catch (refused) {
      if (mine === asked) say(refused.sentence || String(refused.message || refused));
    }
  };
  const structure = ({ controls: all }) => JSON.stringify(all.filter((one) => !one.live).map((one) => [one.path, one.value]));

  const panel = controls.create(dom.by("controls"), {
    onchange: change,
    onhelp: (label, text) => dom.refill(dom.by("help"), dom.el("b", {}, label), document.createTextNode(text ? ": " + text : "")),
  });

  // ---- buttons
  const press = (id, work) => dom.by(id).addEventListener("click", work);
  press("play", () => {
    if (film.playing() && film.running()) film.pause();
    else { const new_one = !film.running(); film.play(); if (new_one) { store.dropReal(); film.start(problem); } }
  });
  press("step", () => film.step(problem));
  press("freeze", () => { store.freeze(title()); paint(); announce("The curves are frozen in grey."); });
  press("thaw", () => { store.thaw(); paint(); });
  press("log-time", (event) => { view.logTime = event.currentTarget.getAttribute("aria-pressed") !== "true"; remember(); paint(); });
  press("log-risk", (event) => { view.logRisk = event.currentTarget.getAttribute("aria-pressed") !== "true"; remember(); paint(); });
  press("guess", () => {
    const button = dom.by("guess"), task = dom.by("task");
    if (!pen.active() && !guessed) {
      pen.begin();
      film.stop();
      store.dropReal();
      judge("SGD waits for your guess.");
      task.textContent = "Draw the risk that you expect: with mouse or finger, or with the arrow keys. Then press Show.";
      guessed = "drawing";
      risk_focus();
    } else if (pen.active()) {
      pen.end();
      task.textContent = pen.score(store.all().find((one) => !one.real));
      guessed = "shown";
      rest();
    } else { pen.forget(); guessed = ""; task.textContent = ""; }
    button.textContent = { "": "Guess first", drawing: "Show", shown: "Clear guess" }[guessed];
    button.setAttribute("aria-pressed", String(!!guessed));
    task.hidden = !guessed;
    paint();
  });
  const risk_focus = () => dom.by("risk-plot").querySelector("canvas").focus();
  // A frozen curve is named by the controls that can be dragged and differ from where the page began.
  const title = () => {
    const live = list.filter((one) => one.live), main = live.some((one) => one.main) ? live.filter((one) => one.main) : live;
    const changed = live.filter((one) => !values.same(one.value, initial.has(one.path) ? initial.get(one.path) : one.value));
    return (changed.length ? changed : main).slice(0, 2).map((one) => `${one.label} ${values.short(one.value)}`).join(", ") || "before";
  };
  dom.by("observable").addEventListener("change", (event) => { view.observable = event.target.value; remember(); paint(); });
  dom.by("account").addEventListener("change", (event) => { view.account = event.target.value; remember(); paint(); });

  const kept = keep.create({ backend, problem: () => problem, say, announce });

  // ---- one step, magnified: only where SGD is followed in overlaps
  const lens = slowMotion.create(dom.by("slow-steps"), {
    ask: (run, onStep, onFail) => backend.slow(problem, run, onStep, onFail),
    run: () => store.all().find((one) => one.real),
    observable: () => panels.observables(store).get(dom.by("observable").value),
  });
  let played = false;  // whether SGD ran when it was paused for a look at one step
  const magnify = (on) => {
    slowly = on;
    dom.by("slow").setAttribute("aria-pressed", String(on));
    if (on) { played = film.playing(); film.pause(); lens.ask(); }
    else if (played) film.play();
    paint();
  };
  press("slow", () => magnify(!slowly));
  press("slow-next", lens.ask);
  dom.by("observable").addEventListener("change", lens.show);

  // ---- problems to open
  const shelves = () => {
    const select = dom.by("open"), shelf = new Map(), all = [];
    for (const one of hello.settings) shelf.set(one.group, [...(shelf.get(one.group) || []), one]);
    shelf.set("figures of the gallery", hello.gallery).set("problems that fail on purpose", hello.presets);
    for (const [name, members] of shelf) {
      if (!members.length) continue;
      select.append(dom.el("optgroup", { label: name }, members.map((one) => dom.el("option", { value: String(all.push(one) - 1) }, one.title || one.name))));
    }
    select.hidden = !all.length;
    select.addEventListener("change", () => {
      const one = all[+select.value];
      if (select.value !== "" && one) restructure(one.problem, one.why);
      select.value = "";
    });
  };

  // ---- begin
  const begin = async () => {
    document.documentElement.classList.toggle("embed", embed.length > 0);
    buttons();
    try { hello = await backend.hello(); } catch (refused) { say(refused.sentence || String(refused)); return; }
    shelves();
    await restructure(first.problem || hello.problem);
    if (problem === null) { const refused = dom.by("notice").textContent; await restructure(hello.problem); say(refused); }
    kept.links();
  };
  addEventListener("hashchange", () => {
    const next = address.read(location.hash);
    if (next.problem && !values.same(next.problem, problem)) restructure(next.problem);
  });
  const repaint = () => { risk.redraw(); side.redraw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  const ready = begin();
  return { ready, measured, problem: () => problem, store, film, risk, take };
})();
