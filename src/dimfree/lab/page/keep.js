"use strict";
// What can be taken along: the problem as an address, as TOML, as Python; and the files that a server writes for it.
const keep = (() => {
  const copy = async (text) => {
    try { await navigator.clipboard.writeText(text); }
    catch {
      const area = dom.el("textarea", { class: "unseen" });
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  const copied = (button) => { const word = button.textContent; button.textContent = "copied"; setTimeout(() => { button.textContent = word; }, 900); };

  const create = ({ backend, problem, say, announce }) => {
    const copier = (id, what, text) => dom.by(id).addEventListener("click", async (event) => {
      const button = event.currentTarget;
      try { await copy(await text()); announce(`${what} is copied.`); copied(button); } catch (refused) { say(refused.sentence || String(refused)); }
    });
    copier("copy-link", "The address", async () => location.href.split("#")[0] + address.write({ problem: problem() }));
    copier("copy-toml", "The problem as TOML", () => backend.text(problem(), "toml"));
    copier("copy-python", "The problem as Python", () => backend.text(problem(), "python"));
    const links = () => {
      dom.by("downloads").hidden = !backend.download;
      if (!backend.download) return;
      dom.by("download-netcdf").href = backend.download(problem(), "netcdf");
      dom.by("download-figure").href = backend.download(problem(), "figure");
    };
    return { links };
  };
  return { create };
})();
