// Parts that several views of the report share: headings, bars of similarity, scales, tables of choice.
(function (n) {
  "use strict";

  function heading(...children) {
    return n.make("h1", { tabindex: -1 }, ...children);
  }

  // A similarity as a number with a bar.
  function similarity(value) {
    const width = Math.max(0, Math.min(1, value));
    return n.make("span", { class: "sim" },
      n.make("span", { class: "sim-bar", "aria-hidden": "true" }, n.make("span", { style: { width: `${width * 100}%` } })),
      n.cut(value));
  }

  function figures(list) {
    return n.make("dl", { class: "figures" },
      ...list.map(([label, value]) => n.make("div", {}, n.make("dt", {}, label), n.make("dd", {}, value))));
  }

  function note(text, kind = "") {
    return n.make("p", { class: `note ${kind}`.trim() }, text);
  }

  // A region that scrolls by itself and can be reached with the keyboard.
  function scroller(label, ...children) {
    return n.make("div", { class: "scroller", role: "region", tabindex: 0, "aria-label": label }, ...children);
  }

  // Background of a cell by a value from 0 to 1: `--heat` is mixed in by the style sheet.
  const heat = (value) => ({ "--heat": `${(100 * Math.max(0, Math.min(1, value))).toFixed(1)}%` });

  // Round steps of an axis from 0 to a most.
  function ticks(most, about = 4) {
    if (most <= 0) return [0];
    const raw = most / about;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = Math.max(1, [1, 2, 5, 10].find((one) => one * power >= raw) * power);
    const found = [];
    for (let at = 0; at <= most + step * 1e-9; at += step) found.push(at);
    return found;
  }

  Object.assign(n, { parts: { heading, similarity, figures, note, scroller, heat, ticks } });
})(window.neardup);
