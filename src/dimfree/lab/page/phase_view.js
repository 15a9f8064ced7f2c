"use strict";
// The phase diagram with the problem as a point, which can be dragged or moved by arrow keys.
const phaseView = (() => {
  const ROOM = { left: 54, right: 10, top: 8, bottom: 36 };

  // Of a convex polygon: its centre, and the length of a line through a point of it, of which the point is the middle.
  const pairs = (corners) => corners.map((one, i) => [one, corners[(i + 1) % corners.length]]);
  const centre = (corners) => {
    const parts = pairs(corners).map(([[a, b], [c, d]]) => [a * d - b * c, a + c, b + d]), size = parts.reduce((sum, [cross]) => sum + cross, 0);
    return [1, 2].map((axis) => parts.reduce((sum, part) => sum + part[0] * part[axis], 0) / (3 * size));
  };
  const room = (corners, [x, y], angle) => {
    const [dx, dy] = [Math.cos(angle), Math.sin(angle)], ways = [];
    for (const [[a, b], [c, d]] of pairs(corners)) {
      const side = dx * (d - b) - dy * (c - a);
      if (Math.abs(side) < 1e-9) continue;
      const share = (dy * (a - x) - dx * (b - y)) / side;
      if (share >= 0 && share <= 1) ways.push(Math.abs((a + share * (c - a) - x) * dx + (b + share * (d - b) - y) * dy));
    }
    return 2 * Math.min(...ways);
  };

  const create = (host, { onmove, onrest }) => {
    let part = null, numbers = {}, found = null, area = null, dragging = false, width = 0, height = 0;

    const across = (x) => area.left + ((area.right - area.left) * (x - found.x[0])) / (found.x[1] - found.x[0]);
    const down = (y) => area.bottom - ((area.bottom - area.top) * (y - found.y[0])) / (found.y[1] - found.y[0]);
    const back = (px, py) => [found.x[0] + ((found.x[1] - found.x[0]) * (px - area.left)) / (area.right - area.left), found.y[0] + ((found.y[1] - found.y[0]) * (area.bottom - py)) / (area.bottom - area.top)];
    const inside = (value, [low, high]) => Math.min(high, Math.max(low, value));
    const move = (x, y) => onmove(dimfreePhase.moved(part, numbers, inside(x, found.x), inside(y, found.y)));

    const text = (x, y, words, more) => dom.svg("text", { x, y, ...more }, words);
    // The name of a region stands across it, or along the borders where it is too narrow; where there is no room it is left out.
    const named = (region, along) => {
      const corners = region.corners.map(([x, y]) => [across(x), down(y)]), middle = centre(corners), long = 6.7 * region.label.length;
      const fits = (angle, size) => room(corners, middle, angle) >= size && room(corners, middle, angle + Math.PI / 2) >= 13;
      const turn = fits(0, long + 40) ? 0 : fits(along, long) ? along : undefined;
      if (turn === undefined) return null;
      return text(middle[0], middle[1] + 4, region.label, { class: "region-name", transform: `rotate(${(turn * 180) / Math.PI} ${middle.join(" ")})` });
    };
    const ticks = ([low, high]) => Array.from({ length: Math.floor(high * 2) - Math.ceil(low * 2) + 1 }, (_, j) => (Math.ceil(low * 2) + j) / 2);

    const draw = () => {
      if (!part || part.sentence) { dom.refill(host); return; }
      found = dimfreePhase.phaseOf(part, numbers);
      const box = host.getBoundingClientRect();
      width = Math.max(200, box.width); height = Math.max(180, box.height);
      area = { left: ROOM.left, right: width - ROOM.right, top: ROOM.top, bottom: height - ROOM.bottom };
      const { point } = found;
      const regions = found.regions.filter((one) => one.corners.length > 2).map((one) => {
        const shape = dom.svg("polygon", { class: "region", points: one.corners.map(([x, y]) => `${across(x)},${down(y)}`).join(" ") });
        shape.style.fill = one.colour;
        shape.append(dom.svg("title", {}, `${one.label}: ${one.meaning}, ${one.where}`));
        return shape;
      });
      const along = Math.atan2(down(0) - down(1), across(1) - across(0));  // where x + y stays the same
      const names = found.regions.filter((one) => one.corners.length > 2).map((one) => named(one, along));
      const lines = found.lines.map(({ from, to, dashed }) => dom.svg("line", { x1: across(from[0]), y1: down(from[1]), x2: across(to[0]), y2: down(to[1]), class: "border", "stroke-dasharray": dashed ? "5 4" : null }));
      const axes = [
        ...ticks(found.x).map((x) => text(across(x), area.bottom + 14, values.short(x), { class: "tick" })),
        ...ticks(found.y).map((y) => text(area.left - 6, down(y) + 4, values.short(y), { class: "tick at-left" })),
        text((area.left + area.right) / 2, height - 5, part.x.label, { class: "tick" }),
        text(12, (area.top + area.bottom) / 2, part.y.label, { class: "tick", transform: `rotate(-90 12 ${(area.top + area.bottom) / 2})` }),
      ];
      const label = `This problem: x = ${values.short(point.x, 2)}, y = ${values.short(point.y, 2)}, ${said()}. Arrow keys move it.`;
      const dot = dom.svg("circle", { class: "here", cx: across(point.x), cy: down(point.y), r: 8, tabindex: 0, role: "img", "aria-label": label, onkeydown: key });
      const frame = dom.svg("clipPath", { id: "phase-frame" }, dom.svg("rect", { x: area.left, y: area.top, width: area.right - area.left, height: area.bottom - area.top }));
      const focused = document.activeElement && document.activeElement.classList.contains("here");
      dom.refill(host, dom.svg("svg", { class: "phase", viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": part.title, role: "group", onpointerdown: grab },
        frame, dom.svg("g", { class: "frame", "clip-path": "url(#phase-frame)" }, regions, lines, names), axes, dot));
      if (focused) host.querySelector(".here").focus();
    };
    // In which region the problem lies, in words.
    const said = () => {
      const here = found.regions.find((one) => one.name === found.point.region);
      return here ? `${here.label}, ${here.meaning}` : "";
    };
    const at = (event) => { const box = host.getBoundingClientRect(); return back(event.clientX - box.left, event.clientY - box.top); };
    const grab = (event) => { dragging = true; host.setPointerCapture(event.pointerId); move(...at(event)); event.preventDefault(); };
    const drag = (event) => { if (dragging) move(...at(event)); };
    const drop = () => { if (dragging) { dragging = false; onrest(); } };
    host.addEventListener("pointermove", drag);
    host.addEventListener("pointerup", drop);
    host.addEventListener("pointercancel", drop);
    const key = (event) => {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!way) return;
      event.preventDefault();
      move(found.point.x + 0.05 * way[0], found.point.y + 0.05 * way[1]);
      onrest();
    };
    new ResizeObserver(draw).observe(host);
    // Draws, and returns what is to be said of it.
    const show = (next, these) => {
      if (part !== next || !values.same(numbers, these) || !host.firstChild) { part = next; numbers = these; draw(); }
      return part.sentence || `Here: ${said()}.`;
    };
    return { show };
  };
  return { create };
})();
