// What the index holds in numbers: calm tables, and a chart of how probably a query finds what is less similar.
(function (n) {
  "use strict";

  const { ask, byId, count, explain, make, percent } = n;
  const { figures, scroller } = n.parts;

  const units = ["bytes", "kB", "MB", "GB", "TB"];
  function size(bytes) {
    let at = 0;
    while (bytes >= 1000 && at < units.length - 1) {
      bytes /= 1000;
      at++;
    }
    return `${at && bytes < 100 ? bytes.toFixed(1) : count(Math.round(bytes))} ${units[at]}`;
  }

  function facts(title, rows) {
    const list = rows.filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
    return make("section", {}, make("h2", {}, title), make("dl", { class: "facts" }, ...list));
  }

  function table(label, heads, rows) {
    return scroller(label, make("table", { class: "plain numbers" },
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map(([name, ...cells]) =>
        make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((cell) => make("td", {}, cell)))))));
  }

  function curve(points, threshold) {
    const at = points.findLastIndex((one) => one.similarity <= threshold + 1e-9);
    const label = `Probability that a query finds a document, by its similarity: ${percent(points[at].probability)} at ${percent(points[at].similarity)}.`;
    const width = Math.min(640, Math.max(260, byId("main").clientWidth - 80));
    const { chart, set } = n.charts.line(points.map((one) => one.probability), points.map((one) => one.similarity), { width, height: 150, label });
    set(at);
    const rows = points.map((one) => [percent(one.similarity), percent(one.probability)]);
    return make("section", { class: "block" },
      make("h2", {}, "How probably a document is found, by its similarity"),
      make("div", { class: "card curve-card" },
        make("p", { class: "axis soft", "aria-hidden": "true" }, "100% of such documents are found"), chart,
        make("p", { class: "axis soft", "aria-hidden": "true" }, make("span", {}, "0%"), make("span", {}, "similarity"), make("span", {}, "100%"))),
      make("p", { class: "soft" }, "The dot is the threshold of the index, for which its bands are chosen. Below it a query by bands finds ever fewer."),
      make("details", {}, make("summary", {}, "The values"), table("Probability by similarity", ["Similarity", "Found with"], rows)));
  }

  function draw(info, told) {
    const view = byId("statistics-view");
    const perDocument = told.documents ? told.total_bytes / told.documents : 0;
    const files = Object.entries(info.bytes).map(([name, bytes]) => [name, size(bytes)]);
    const segments = told.segments.map((one, i) => [count(i + 1), count(one.documents), size(one.bytes)]);
    view.replaceChildren(
      make("h1", { tabindex: -1 }, "Statistics"),
      figures([
        ["Documents", count(told.documents)], ["Distinct texts", count(told.distinct)],
        ["With a copy", count(told.copied)], ["On the disk", size(told.total_bytes)],
      ]),
      curve(told.recall_curve, info.threshold),
      make("div", { class: "columns block" },
        facts("Documents", [
          ["Sharing a band", told.sharing === null ? "not counted: the index is too large"
            : `${count(told.sharing)}, with one of another text. Asked about any of the others, the index finds nothing but copies.`],
          ["Largest group", `${count(told.largest_group)} of one text`],
          ["Without shingle", told.empty ? count(told.empty) : null],
          ["Removed", info.removed ? `${count(info.removed)} whose space is not freed yet` : null],
          ["Bytes each", size(perDocument)],
          ["At the start", `${count(told.documents_at_start)} when the service began, ${count(told.changes_since_start)} changes since`],
        ]),
        facts("Setting", [
          ["Threshold", percent(info.threshold)], ["Recall", `${percent(info.recall)} promised at the threshold`], ["Bands", info.bands],
          ["Shingles", info.shingle], ["Normalised by", info.normalize], ["Spec", info.spec_id],
          ["Format", `${info.format}, made by neardup ${info.created_by}`],
          ["Healed", info.healed ? `${count(info.healed)} files since the service began` : null], ["Trouble", info.trouble],
        ])),
      make("div", { class: "columns block" },
        make("section", {}, make("h2", {}, "Segments, in order of addition"),
          table("Segments", ["", "Documents", "Size"], [...segments, ...(told.tail_documents ? [["in none yet", count(told.tail_documents), "–"]] : [])])),
        files.length ? make("section", {}, make("h2", {}, "Files"), table("Files", ["File", "Size"], files)) : null));
    return view.querySelector("h1");
  }

  async function show() {
    const view = byId("statistics-view");
    const heading = make("h1", { tabindex: -1 }, "Statistics");
    const status = make("p", { class: "soft", role: "status" }, "Counting…");
    view.replaceChildren(heading, status);
    try {
      return draw(await n.query.readInfo(), await ask("statistics"));
    } catch (error) {
      status.textContent = explain(error);
      return heading;
    }
  }

  Object.assign(n, { statistics: { show } });
})(window.neardup);
