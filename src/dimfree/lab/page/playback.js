"use strict";
// SGD as a film: play, pause, one frame. Parts that come while it is paused wait in a queue.
const playback = (() => {
  const create = (backend, { show, onstate }) => {
    let handle = null, queue = [], playing = true, owed = 0, running = false;

    const receive = (part) => {
      if (playing) return pass(part);
      queue.push(part);
      if (owed > 0) release();
      return undefined;
    };
    const pass = (part) => {
      if (part.part === "done" || part.part === "error") { running = false; onstate(); }
      show(part);
    };
    // Shows what waits, up to the next points of SGD.
    const release = () => {
      while (queue.length && owed > 0) {
        const part = queue.shift();
        if (part.part === "points") owed -= 1;
        pass(part);
      }
      if (owed === 0) hold(true);
    };
    const hold = (still) => {
      const verb = still ? "pause" : "resume";
      if (handle && handle[verb]) handle[verb]();
    };

    const stop = () => { if (handle) handle.cancel(); handle = null; queue = []; owed = 0; running = false; onstate(); };
    const start = (problem) => { stop(); running = true; handle = backend.simulate(problem, receive); if (!playing) hold(true); onstate(); };
    const play = () => { playing = true; const waiting = queue; queue = []; waiting.forEach(pass); hold(false); onstate(); };
    const pause = () => { playing = false; owed = 0; hold(true); onstate(); };
    const step = (problem) => {
      if (playing) pause();
      if (!running) start(problem);
      owed += 1;
      hold(false);
      release();
      onstate();
    };
    return { start, stop, play, pause, step, playing: () => playing, running: () => running };
  };
  return { create };
})();
