// The summary stands in the page; here it gets its histogram, whose bars lead to their pairs.
(function (n) {
  "use strict";

  const HEIGHT = 170;

  function openSummary() {
    const { meta } = n;
    if (!meta.counts.pairs) return;
    const section = n.byId("first-histogram");
    const place = n.make("div", { class: "chart-place is-small" });
    section.append(place, n.make("p", { class: "soft" }, "Each bar leads to its pairs. ", n.make("a", { href: "#/histogram" }, "What another threshold would give")));
    section.hidden = false;
    n.charts.fitted(place, (width) => n.charts.bars(meta.bins, { width, height: HEIGHT, isLog: n.charts.isUneven(meta.bins), label: n.charts.told(meta) }).chart);
  }

  Object.assign(n, { openSummary });
})(window.neardup);
