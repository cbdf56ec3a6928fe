// How similar the pairs are, and what another threshold would do.
(function (n) {
  "use strict";

  const { heading, note, scroller } = n.parts;
  const ROWS = 100; // of the table of numbers
  const MOVED = 4; // pixels from which on a press on a bar is no click
  const KINDS = [["pairs", "Pairs"], ["clusters", "Clusters"], ["removed"]]; // the last is named by what the report is for
  const nameOf = ([kind, name]) => name ?? n.meta.words[kind];
  const state = { at: 0, isLog: null };

  function histogramView() {
    const { meta } = n;
    const { curve, bins } = meta;
    const view = n.make("article", { class: "histogram" }, heading("How similar the pairs are"));
    if (!meta.counts.pairs) {
      view.append(note("No pair was found, so there is nothing to show."));
      return view;
    }
    state.at = Math.min(state.at, curve.t.length - 1);
    state.isLog ??= n.charts.isUneven(bins);
    const told = Object.fromEntries(KINDS.map(([kind]) => [kind, n.make("output", { for: "t" })]));
    const changes = Object.fromEntries(KINDS.map(([kind]) => [kind, n.make("span", { class: "change" })]));
    const now = n.make("output", { class: "t-now", for: "t" });
    const slider = n.make("input", { type: "range", id: "t", min: 0, max: curve.t.length - 1, step: 1, value: state.at });
    const chartPlace = n.make("div", { class: "chart-place" });
    const trackPlace = n.make("div", { class: "track" }, slider);
    const lines = Object.fromEntries(KINDS.map(([kind]) => [kind, n.make("div", { class: "line-place" })]));
    const logarithmic = n.make("input", { type: "checkbox", id: "log", checked: state.isLog });
    const canMove = curve.t.length > 1;
    trackPlace.hidden = !canMove;
    for (const [kind] of KINDS) lines[kind].hidden = !canMove;
    let drawn = null;
    let curves = [];

    const tell = () => {
      const i = state.at;
      const t = curve.t[i];
      now.value = n.cut(t);
      for (const [kind] of KINDS) {
        told[kind].value = n.count(curve[kind][i]);
        const less = curve[kind][i] - curve[kind][0];
        changes[kind].textContent = less === 0 ? "as found" : `${less < 0 ? "−" : "+"}${n.count(Math.abs(less))}`;
      }
      slider.value = i;
      slider.setAttribute("aria-valuetext", `${n.cut(t)}: ${KINDS.map((each) => `${nameOf(each).toLowerCase()} ${n.count(curve[each[0]][i])}`).join(", ")}`);
      drawn?.set(t);
      for (const one of curves) one.set(i);
    };
    const redraw = () => {
      const width = Math.max(300, Math.floor(chartPlace.clientWidth || 900));
      drawn = n.charts.bars(bins, { width, height: width < 500 ? 240 : 320, isLog: state.isLog, label: n.charts.told(meta) });
      chartPlace.replaceChildren(drawn.chart);
      trackPlace.style.setProperty("padding-left", `${drawn.left}px`);
      trackPlace.style.setProperty("padding-right", `${drawn.right}px`);
      curves = KINDS.map((each) => {
        const [kind, name] = [each[0], nameOf(each)];
        const one = n.charts.line(curve[kind], curve.t, { width: Math.max(120, lines[kind].clientWidth || 260), label: `${name} over the threshold` });
        lines[kind].replaceChildren(one.chart);
        return one;
      });
      tell();
    };
    slider.addEventListener("input", () => {
      state.at = Number(slider.value);
      tell();
    });
    logarithmic.addEventListener("change", () => {
      state.isLog = logarithmic.checked;
      redraw();
    });
    // A click on a bar goes to its pairs; a press beside the bars, or one that is drawn along, sets the threshold.
    let pressed = null;
    const point = (event) => {
      if (!(event.buttons & 1)) return;
      if (event.type === "pointerdown") pressed = { x: event.clientX, isBar: Boolean(event.target.closest(".bar-links")), hasMoved: false };
      if (pressed && Math.abs(event.clientX - pressed.x) > MOVED) pressed.hasMoved = true;
      if (pressed?.isBar && !pressed.hasMoved) return;
      const t = drawn.value(event.clientX - chartPlace.getBoundingClientRect().left);
      state.at = nearest(curve.t, t);
      tell();
    };
    chartPlace.addEventListener("pointerdown", point);
    chartPlace.addEventListener("pointermove", point);
    chartPlace.addEventListener("dragstart", (event) => event.preventDefault());
    chartPlace.addEventListener("click", (event) => {
      if (pressed?.hasMoved) event.preventDefault();
      pressed = null;
    }, true);
    view.append(
      n.make("p", { class: "lede" }, `${n.many(meta.counts.pairs, "verified pair")} of similarity ${n.exact(meta.threshold)}${meta.threshold < 1 ? " and more" : ""}, by ${meta.measure === "jaccard" ? "Jaccard" : meta.measure}. ` +
        (canMove ? "Each bar leads to its pairs; move the threshold to see what a stricter search would give." : "No search can be stricter.")),
      n.make("div", { class: "card" },
        n.make("div", { class: "chart-head" },
          n.make("label", { for: "t", class: "t-label" }, "Threshold t = ", now),
          n.make("label", { class: "check" }, logarithmic, " Logarithmic counts")),
        chartPlace, trackPlace,
        n.make("div", { class: "effects" }, ...KINDS.map((each) =>
          n.make("div", { class: "effect" }, n.make("h2", {}, nameOf(each)), n.make("p", { class: "number" }, told[each[0]], changes[each[0]]), lines[each[0]])))),
      meta.curve_note ? n.make("p", { class: "soft" }, meta.curve_note) : "",
      numbers(curve));
    let width = 0;
    new ResizeObserver(() => { // it also calls when the view comes into the page
      if (chartPlace.clientWidth && chartPlace.clientWidth !== width) redraw();
      width = chartPlace.clientWidth;
    }).observe(chartPlace);
    return view;
  }

  function nearest(values, wanted) {
    let best = 0;
    values.forEach((value, i) => { if (Math.abs(value - wanted) < Math.abs(values[best] - wanted)) best = i; });
    return best;
  }

  // The same as a table, made when it is opened.
  function numbers(curve) {
    const step = Math.max(1, Math.ceil(curve.t.length / ROWS));
    const rows = curve.t.map((_, i) => i).filter((i) => i % step === 0 || i === curve.t.length - 1);
    const box = n.make("details", { class: "block" }, n.make("summary", {}, "The numbers as a table"));
    box.addEventListener("toggle", () => {
      if (!box.open || box.querySelector("table")) return;
      const cell = (name, value, extra = {}) => n.make(name, extra, value);
      const head = n.make("tr", {}, ...["t", ...KINDS.map(nameOf)].map((name) => cell("th", name, { scope: "col" })));
      const body = rows.map((i) => n.make("tr", {}, cell("th", n.cut(curve.t[i]), { scope: "row" }), ...KINDS.map(([kind]) => cell("td", n.count(curve[kind][i])))));
      box.append(scroller("Numbers by threshold",
        n.make("table", { class: "plain numbers" }, n.make("thead", {}, head), n.make("tbody", {}, ...body))));
      if (step > 1) box.append(n.make("p", { class: "soft" }, `One of ${n.count(step)} thresholds is listed; the slider has all ${n.count(curve.t.length)}.`));
    });
    return box;
  }

  Object.assign(n, { histogramView });
})(window.neardup);
