"use strict";
// The backend of the served page: one websocket, frames of JSON, answers by id.
const makeBackend = () => {
  const open = new Map();  // id -> what to do with a frame
  let socket = null, next = 1, unsent = [];

  const connect = () => {
    socket = new WebSocket((location.protocol === "https:" ? "wss://" : "ws://") + location.host + "/socket");
    socket.onopen = () => { const waiting = unsent; unsent = []; waiting.forEach((text) => socket.send(text)); };
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(data), receive = open.get(frame.id);
      if (receive) receive(frame);
    };
    socket.onclose = () => {
      const lost = { part: "error", sentence: "The connection to the server is closed: start dimfree lab again, or reload the page." };
      const asked = [...open.values()];
      open.clear();
      asked.forEach((receive) => { receive(lost); receive({ part: "done" }); });
      socket = null;
    };
  };
  const send = (frame) => {
    const text = JSON.stringify(frame);
    if (!socket) connect();
    if (socket.readyState === WebSocket.OPEN) socket.send(text);
    else unsent.push(text);
  };
  const once = (frame) => new Promise((resolve, reject) => {
    const id = next++;
    open.set(id, (answer) => {
      open.delete(id);
      if (answer.part === "error") reject({ sentence: answer.sentence });
      else resolve(answer.answer);
    });
    send({ ...frame, id });
  });
  const stream = (frame, onPart) => {
    const id = next++;
    open.set(id, (part) => {
      if (part.part === "done") open.delete(id);
      onPart(part);
    });
    send({ ...frame, id });
    return { cancel: () => { if (open.delete(id)) send({ id: next++, ask: "cancel", target: id }); } };
  };

  // One step of SGD is computed in the page, by a worker that the server writes for the problem.
  let lens = null;
  const slow = (problem, run, onStep, onFail) => {
    const text = JSON.stringify(problem);
    if (!lens || lens.text !== text) {
      if (lens) lens.worker.terminate();
      lens = { text, worker: new Worker(`/magnifier?problem=${encodeURIComponent(text)}`) };
    }
    lens.worker.onmessage = ({ data }) => (data.step ? onStep(data.step) : onFail(data.sentence));
    lens.worker.onerror = () => onFail("One step could not be computed: the server does not answer, or this browser runs no workers.");
    const last = run.times.length - 1, seen = Object.fromEntries(Object.entries(run.observables).map(([name, one]) => [name, one.values[last]]));
    lens.worker.postMessage({ seen, time: run.times[last], seed: problem.run.seed });
  };

  return {
    hello: () => once({ ask: "hello" }),
    controls: (problem, change) => once({ ask: "controls", problem, ...(change ? { change } : {}) }),
    solve: (problem, onPart) => stream({ ask: "solve", problem }, onPart),
    simulate: (problem, onPart) => stream({ ask: "simulate", problem }, onPart),
    slow,
    text: (problem, as) => once({ ask: "text", problem, as }),
    download: (problem, what) => `/download/${what}?problem=${encodeURIComponent(JSON.stringify(problem))}`,
  };
};
