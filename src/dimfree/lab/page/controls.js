"use strict";
// The problem as controls: one row each, made from the backend's list; a change is reported by path and value.
const controls = (() => {
  const POSITIONS = 400;  // of a slider

  // Where a value stands on its slider, and back.
  const position = (control, value) => {
    const { min, max } = control;
    if (value === null || value === undefined) return 0;
    const share = control.scale === "log" ? Math.log(Math.max(value, min) / min) / Math.log(max / min) : (value - min) / (max - min);
    return Math.round(POSITIONS * Math.min(1, Math.max(0, share)));
  };
  const valueAt = (control, at) => {
    const { min, max } = control, share = at / POSITIONS;
    const raw = control.scale === "log" ? min * (max / min) ** share : min + (max - min) * share;
    if (control.type === "integer") return Math.round(raw);
    if (control.step && control.scale !== "log") return +(min + Math.round((raw - min) / control.step) * control.step).toPrecision(12);
    return +raw.toPrecision(3);
  };
  const slides = (control) => Number.isFinite(control.min) && Number.isFinite(control.max) && control.min < control.max && (control.scale !== "log" || control.min > 0);

  const sketch = (curve) => {
    const wide = 38, tall = 22, ys = curve.y.filter((y) => y !== null), low = Math.min(...ys), high = Math.max(...ys), left = curve.x[0], right = curve.x[curve.x.length - 1];
    const points = curve.x.map((x, j) => (curve.y[j] === null ? "" : `${(wide * (x - left)) / (right - left || 1)},${tall - 2 - ((tall - 4) * (curve.y[j] - low)) / (high - low || 1)}`)).join(" ");
    return dom.svg("svg", { class: "sketch", viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, "aria-hidden": "true" }, dom.svg("polyline", { points }));
  };

  const text = (value) => (value === null || value === undefined ? "" : Array.isArray(value) ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value));
  const listed = (written) => {
    const parts = written.split(/[\s,;]+/).filter(Boolean).map(Number);
    return parts.length && parts.every(Number.isFinite) ? parts : undefined;
  };

  const create = (host, { onchange, onhelp }) => {
    const shut = new Set(), opened = new Set();
    let rows = new Map();

    const number = (control, id) => {
      const entry = dom.el("input", { id, class: "entry", type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", value: shown(control), size: 7, placeholder: "none", disabled: !control.enabled });
      const slider = control.enabled && slides(control)
        ? dom.el("input", { id: id + "-slider", type: "range", min: 0, max: POSITIONS, step: 1, disabled: !control.enabled, "aria-label": control.label, "aria-describedby": id + "-help" })
        : null;
      const say = (value) => {
        if (!slider) return;
        const at = position(control, value);
        slider.value = at;
        slider.style.setProperty("--share", (100 * at) / POSITIONS + "%");
        slider.setAttribute("aria-valuetext", values.short(value));
      };
      say(control.value);
      slider && slider.addEventListener("input", (event) => {
        const value = valueAt(control, +slider.value);
        slider.style.setProperty("--share", (100 * slider.value) / POSITIONS + "%");
        slider.setAttribute("aria-valuetext", values.short(value));
        entry.value = shown({ ...control, value });
        onchange(control, value, event);
      });
      entry.addEventListener("change", (event) => {
        const written = entry.value.trim(), value = written === "" ? null : Number(written);
        const wrong = Number.isNaN(value) || (control.type === "integer" && value !== null && !Number.isInteger(value));
        entry.setAttribute("aria-invalid", String(wrong));
        if (wrong) return;
        say(value);
        onchange(control, value, event);
      });
      return { head: entry, body: slider, set: (value) => { entry.value = shown({ ...control, value }); say(value); } };
    };
    const shown = (control) => (control.value === null || control.value === undefined ? "" : control.type === "integer" ? String(control.value) : String(+Number(control.value).toPrecision(6)));

    const choice = (control, id) => {
      const list = control.choices || [];
      const known = list.some((one) => values.same(one.value, control.value));
      const options = known ? list : [{ value: control.value, label: text(control.value) || "none" }, ...list];
      const place = dom.el("span", { class: "sketches" });
      const picture = (value) => {
        const one = options.find((option) => values.same(option.value, value));
        dom.refill(place, one && one.curve ? sketch(one.curve) : null);
      };
      const select = dom.el("select", { id, disabled: !control.enabled, onchange: (event) => { picture(options[select.selectedIndex].value); onchange(control, options[select.selectedIndex].value, event); } },
        options.map((one) => dom.el("option", { selected: values.same(one.value, control.value) }, one.label || text(one.value))));
      picture(control.value);
      const set = (value) => { select.selectedIndex = options.findIndex((one) => values.same(one.value, value)); picture(value); };
      return { head: place, body: select, set };
    };

    const flag = (control, id) => {
      const box = dom.el("input", { id, type: "checkbox", checked: !!control.value, disabled: !control.enabled, onchange: (event) => onchange(control, box.checked, event) });
      return { head: box, body: null, set: (value) => { box.checked = !!value; } };
    };

    const written = (control, id) => {
      const entry = dom.el("input", { id, class: "wide", type: "text", autocomplete: "off", spellcheck: "false", value: text(control.value), placeholder: "none", disabled: !control.enabled });
      entry.addEventListener("change", (event) => {
        const value = entry.value.trim() === "" ? null : control.type === "numbers" ? listed(entry.value) : entry.value.trim();
        entry.setAttribute("aria-invalid", String(value === undefined));
        if (value !== undefined) onchange(control, value, event);
      });
      return { head: null, body: entry, set: (value) => { entry.value = text(value); } };
    };

    const row = (control) => {
      const id = "control-" + control.path.replace(/[^\w-]/g, "-");
      const make = { number, integer: number, choice, flag }[control.type] || written;
      const parts = make(control, id);
      const help = control.enabled ? control.help || "" : `${control.help || ""} ${control.reason}`.trim();
      const node = dom.el("div", { class: `row ${control.type}${control.enabled ? "" : " fixed"}`, "data-path": control.path },
        dom.el("div", { class: "head" }, dom.el("label", { for: id, title: control.path }, control.label), parts.head),
        parts.body,
        dom.el("span", { class: "unseen", id: id + "-help" }, help));
      (node.querySelector(`#${id}`) || node).setAttribute("aria-describedby", id + "-help");
      const explain = () => onhelp(control.label, help);
      node.addEventListener("pointerenter", explain);
      node.addEventListener("focusin", explain);
      rows.set(control.path, parts.set);
      return node;
    };

    // `only`: the paths to show, or null for all.
    const show = (list, only) => {
      const at = document.activeElement && host.contains(document.activeElement) ? document.activeElement.id : null;
      rows = new Map();
      const groups = new Map();
      for (const control of list) {
        if (only && !only.includes(control.path)) continue;
        const name = control.group || "problem";
        groups.set(name, [...(groups.get(name) || []), control]);
      }
      // The main controls of a group stand open, the others behind "more"; without a mark all are main.
      const marked = list.some((control) => control.main);
      const fold = (name, title, kind, nodes, start) => {
        const open = start ? !shut.has(name) : opened.has(name);
        const box = dom.el("details", { class: kind, open, ontoggle: () => { (box.open ? shut : opened).delete(name); (box.open ? opened : shut).add(name); } }, dom.el("summary", {}, title), nodes);
        return box;
      };
      const nodes = [...groups].map(([name, members]) => {
        const main = only || !marked ? members : members.filter((control) => control.main), rest = members.filter((control) => !main.includes(control));
        const more = rest.length ? [fold(`${name} more`, main.length ? `${rest.length} more` : "all", "more", rest.map(row), false)] : [];
        return fold(name, name, "group", [...main.map(row), ...more], true);
      });
      dom.refill(host, nodes);
      if (at && dom.by(at)) dom.by(at).focus();
    };
    const set = (path, value) => rows.has(path) && rows.get(path)(value);
    return { show, set };
  };
  return { create, position, valueAt };
})();
