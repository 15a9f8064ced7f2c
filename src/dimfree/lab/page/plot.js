"use strict";
// A plot on a canvas: lines, markers, bands and error bars over one pair of axes, a crosshair that reads values, and a layer to draw on.
const plot = (() => {
  const MARGIN = { left: 54, right: 14, top: 10, bottom: 40 };

  const create = (host, { title, onmove }) => {
    const canvas = dom.el("canvas", { class: "plot", role: "img", tabindex: "0", "aria-label": title });
    const reading = dom.el("div", { class: "reading", hidden: true });
    host.append(canvas, reading);
    const context = canvas.getContext("2d");
    let picture = { series: [], x: { log: false, label: "" }, y: { log: false, label: "" } };
    let width = 0, height = 0, axes = null, pointer = null, strokes = null;

    const fit = () => {
      const box = host.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
      width = Math.max(160, Math.floor(box.width));
      height = Math.max(120, Math.floor(box.height));
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = width + "px";
      canvas.style.height = height + "px";
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
    };

    const colours = () => {
      const style = getComputedStyle(document.documentElement);
      return (name) => (name.startsWith("--") ? style.getPropertyValue(name).trim() : name);
    };

    // From the lowest to the highest; on a logarithmic axis a band that falls to nothing is cut off below the lines.
    const heights = (series) => {
      const { log } = picture.y, lines = scales.extent(series.map((one) => one.y), log);
      const bands = scales.extent(series.flatMap((one) => [one.low || [], one.high || []]), log);
      if (!lines || !bands) return lines;
      return [Math.min(lines[0], log ? Math.max(bands[0], lines[0] / 30) : bands[0]), Math.max(lines[1], bands[1])];
    };

    const frame = (pick) => {
      const plain = picture.series.filter((one) => one.scaled !== false);
      const x = picture.x.domain || scales.extent(plain.map((one) => one.x), picture.x.log) || [picture.x.log ? 0.1 : 0, 1];
      const y = heights(plain);
      axes = {
        x: scales.make(x[0] < x[1] ? x : [x[0], x[0] + 1], picture.x.log, MARGIN.left, width - MARGIN.right),
        y: scales.make(picture.y.domain || scales.settled(y, picture.y.log), picture.y.log, height - MARGIN.bottom, MARGIN.top),
      };
      context.clearRect(0, 0, width, height);
      context.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
      context.lineWidth = 1;
      for (const tick of axes.x.ticks) {
        const at = Math.round(axes.x.at(tick.value)) + 0.5;
        context.strokeStyle = pick(tick.major ? "--grid" : "--grid-minor");
        context.beginPath(); context.moveTo(at, MARGIN.top); context.lineTo(at, height - MARGIN.bottom); context.stroke();
      }
      for (const tick of axes.y.ticks) {
        const at = Math.round(axes.y.at(tick.value)) + 0.5;
        context.strokeStyle = pick(tick.major ? "--grid" : "--grid-minor");
        context.beginPath(); context.moveTo(MARGIN.left, at); context.lineTo(width - MARGIN.right, at); context.stroke();
      }
      context.fillStyle = pick("--dim");
      context.textAlign = "center"; context.textBaseline = "top";
      for (const tick of axes.x.ticks)
        if (tick.label) context.fillText(tick.label, Math.min(axes.x.at(tick.value), width - MARGIN.right - 4), height - MARGIN.bottom + 6);
      context.fillText(picture.x.label, (MARGIN.left + width - MARGIN.right) / 2, height - 16);
      context.textAlign = "right"; context.textBaseline = "middle";
      for (const tick of axes.y.ticks) if (tick.label) context.fillText(tick.label, MARGIN.left - 7, axes.y.at(tick.value));
    };

    const drawable = (one, list, j) => {
      const x = one.x[j], y = list[j];
      return x !== null && y !== null && y !== undefined && (!picture.x.log || x > 0) && (!picture.y.log || y > 0);
    };
    const path = (one, list) => {
      let pen = false;
      context.beginPath();
      for (let j = 0; j < one.x.length; j++) {
        if (!drawable(one, list, j)) { pen = pen && one.gaps !== true; continue; }
        const x = axes.x.at(one.x[j]), y = axes.y.at(list[j]);
        if (pen) context.lineTo(x, y);
        else context.moveTo(x, y);
        pen = true;
      }
    };
    const band = (one, colour) => {
      const floor = axes.y.domain[0];
      const low = one.low.map((y) => (y !== null && picture.y.log && y <= 0 ? floor : y));
      const there = one.x.map((_, j) => j).filter((j) => drawable(one, low, j) && drawable(one, one.high, j));
      if (!there.length) return;
      context.fillStyle = colour;
      context.globalAlpha = 0.22;
      context.beginPath();
      for (const j of there) context.lineTo(axes.x.at(one.x[j]), axes.y.at(one.high[j]));
      for (const j of there.reverse()) context.lineTo(axes.x.at(one.x[j]), axes.y.at(low[j]));
      context.fill();
      if (one.bars) {
        const marked = marks(one);
        context.globalAlpha = 0.75;
        context.strokeStyle = colour;
        context.lineWidth = 1.4;
        context.beginPath();
        for (const j of there.filter((j) => marked.includes(j))) {
          const x = axes.x.at(one.x[j]);
          context.moveTo(x, axes.y.at(one.high[j])); context.lineTo(x, axes.y.at(low[j]));
        }
        context.stroke();
      }
      context.globalAlpha = 1;
    };
    // Which points have a marker: those that would cover each other are left out, but never the last one.
    const marks = (one) => {
      const last = one.x.length - 1, kept = [];
      let at = -Infinity;
      for (let j = 0; j <= last; j++) {
        if (!drawable(one, one.y, j)) continue;
        const x = axes.x.at(one.x[j]);
        if (!one.every && x - at < 3.6 * one.size) {
          if (j < last) continue;
          kept.pop();
        }
        at = x;
        kept.push(j);
      }
      return kept;
    };
    const marker = (shape, x, y, r) => {
      context.beginPath();
      if (shape === "diamond") { context.moveTo(x, y - r * 1.3); context.lineTo(x + r * 1.3, y); context.lineTo(x, y + r * 1.3); context.lineTo(x - r * 1.3, y); context.closePath(); }
      else context.arc(x, y, r, 0, 2 * Math.PI);
      context.fill(); context.stroke();
    };

    const draw = () => {
      if (!width) fit();
      if (!picture.series.length) { axes = null; context.clearRect(0, 0, width, height); return; }
      const pick = colours();
      frame(pick);
      context.save();
      context.beginPath();
      context.rect(MARGIN.left - 4, MARGIN.top - 4, width - MARGIN.left - MARGIN.right + 8, height - MARGIN.top - MARGIN.bottom + 8);
      context.clip();
      for (const one of picture.series) {
        const colour = pick(one.colour);
        if (one.low && one.high) band(one, colour);
        if (one.dense) density.shade(context, one, axes, { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom }, colour);
        else if (one.shape) {
          context.fillStyle = colour;
          context.strokeStyle = pick("--card");
          context.lineWidth = 1;
          for (const j of marks(one)) marker(one.shape, axes.x.at(one.x[j]), axes.y.at(one.y[j]), one.size);
        } else {
          context.strokeStyle = colour;
          context.globalAlpha = one.alpha || 1;
          context.lineWidth = one.width || 2;
          context.lineJoin = "round";
          context.setLineDash(one.dash || []);
          path(one, one.y);
          context.stroke();
          context.setLineDash([]);
          context.globalAlpha = 1;
        }
      }
      if (pointer !== null) {
        context.strokeStyle = pick("--dim");
        context.setLineDash([2, 3]);
        context.beginPath(); context.moveTo(pointer, MARGIN.top); context.lineTo(pointer, height - MARGIN.bottom); context.stroke();
        context.setLineDash([]);
      }
      context.restore();
    };

    // Crosshair: by mouse, or by arrow keys when the plot has the focus.
    const read = () => {
      if (pointer === null || !axes) { reading.hidden = true; return; }
      const time = axes.x.back(pointer), rows = [];
      for (const one of picture.series) {
        if (!one.name || rows.length > 9) continue;
        const y = interpolated(one, time, !!one.shape);
        if (y !== null) rows.push(dom.el("div", {}, swatch(one), `${one.name} `, dom.el("b", {}, values.short(y))));
      }
      dom.refill(reading, dom.el("div", { class: "when" }, `t = ${values.short(time)}`), rows);
      reading.hidden = !rows.length;
      const left = pointer > width / 2;
      reading.style.left = left ? "" : pointer + 12 + "px";
      reading.style.right = left ? width - pointer + 12 + "px" : "";
    };
    const interpolated = (one, time, nearest) => {
      for (let j = 1; j < one.x.length; j++) {
        const a = one.x[j - 1], b = one.x[j];
        if (a <= time && time <= b && one.y[j - 1] !== null && one.y[j] !== null) {
          const share = (time - a) / (b - a || 1);
          return nearest ? one.y[share < 0.5 ? j - 1 : j] : one.y[j - 1] + share * (one.y[j] - one.y[j - 1]);
        }
      }
      return null;
    };
    const point = (x) => {
      pointer = x === null ? null : Math.min(width - MARGIN.right, Math.max(MARGIN.left, x));
      draw();
      read();
    };
    canvas.addEventListener("pointermove", (event) => {
      if (strokes) { if (event.buttons && axes) strokes.to(axes, event.offsetX, event.offsetY); return; }
      if (event.pointerType === "mouse" || event.buttons) point(event.offsetX);
    });
    canvas.addEventListener("pointerdown", (event) => {
      if (!strokes || !axes) return;
      canvas.setPointerCapture(event.pointerId);
      strokes.from(axes, event.offsetX, event.offsetY);
      event.preventDefault();
    });
    canvas.addEventListener("pointerleave", () => point(null));
    canvas.addEventListener("blur", () => point(null));
    canvas.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (event.key === "Escape") return point(null);
      if (!way || !axes) return undefined;
      event.preventDefault();
      if (strokes) strokes.key(axes, way);
      else if (way[0]) {
        point((pointer === null ? (MARGIN.left + width) / 2 : pointer) + way[0] * (width / 60));
        onmove(reading.innerText);
      }
      return undefined;
    });

    new ResizeObserver(() => { fit(); draw(); }).observe(host);
    return {
      show: (next) => { picture = next; draw(); if (pointer !== null) read(); },
      redraw: draw,
      // The user draws on the plot: {from, to, key} get the axes and where the pen is; null ends it.
      pen: (next) => { strokes = next; canvas.classList.toggle("drawing", !!next); pointer = null; reading.hidden = true; },
      describe: (text) => canvas.setAttribute("aria-label", text),
      axes: () => axes,
      area: () => ({ left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom }),
    };
  };

  // The sign of a series in a legend.
  const swatch = (one) => {
    const colour = `var(${one.colour})`;
    const sign = dom.svg("svg", { class: "swatch", viewBox: "0 0 22 10", width: 22, height: 10, "aria-hidden": "true" });
    if (one.shape) {
      const mark = one.shape === "diamond" ? dom.svg("path", { d: "M11 0.5L15.5 5L11 9.5L6.5 5Z" }) : dom.svg("circle", { cx: 11, cy: 5, r: 4 });
      mark.style.fill = colour;
      sign.append(mark);
    } else {
      const line = dom.svg("line", { x1: 0, y1: 5, x2: 22, y2: 5, "stroke-width": 2.6, "stroke-dasharray": (one.dash || []).join(" ") || null });
      line.style.stroke = colour;
      sign.append(line);
    }
    return sign;
  };
  return { create, swatch };
})();
