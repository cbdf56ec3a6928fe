// Pairs between sources: how many pairs tie one file or label to another.
(function (n) {
  "use strict";

  const { heading, note, heat, scroller } = n.parts;

  function sourcesView() {
    const { sources, counts } = n.meta;
    const view = n.make("article", { class: "sources" }, heading("Pairs between sources"));
    if (!sources || sources.names.length < 2) {
      view.append(note("All documents are of one source, so there is nothing to compare. Give several inputs, or --sources with a pattern that finds the source in each id, to see which of them share documents."));
      return view;
    }
    const { names, documents, pairs, sharing } = sources;
    const total = (i) => pairs[i].reduce((sum, number) => sum + number, 0);
    const across = names.reduce((sum, _, i) => sum + total(i) - pairs[i][i], 0) / 2;
    const within = names.reduce((sum, _, i) => sum + pairs[i][i], 0);
    const most = Math.max(1, ...pairs.flat());
    const name = (i) => n.named(n.plain(names[i], 60));
    const head = n.make("tr", {}, n.make("th", { scope: "col", class: "corner" }, "Source"), n.make("th", { scope: "col", class: "of" }, "Documents"),
      ...names.map((_, j) => n.make("th", { scope: "col" }, name(j))));
    const cell = (i, j) => {
      const number = pairs[i][j];
      const shade = heat(Math.log1p(number) / Math.log1p(most));
      const kind = i === j ? "is-inside" : "";
      if (!number) return n.make("td", { class: `${kind} is-zero`.trim(), style: shade }, "–");
      const told = i === j ? `${n.many(number, "pair")} inside ${n.plain(names[i])}, of ${n.count(sharing[i][j])} of its ${n.many(documents[i], "document")}`
        : `${n.many(number, "pair")} between ${n.plain(names[i])} and ${n.plain(names[j])}, of ${n.count(sharing[i][j])} of the ${n.many(documents[i], "document")} of ${n.plain(names[i])}`;
      return n.make("td", { class: kind, style: shade, title: told },
        n.make("a", { href: n.listAddress("#/pairs", { source: i, other: j }), "aria-label": told },
          n.make("span", { class: "many" }, n.count(number)), n.make("small", {}, `${n.count(sharing[i][j])} of ${n.count(documents[i])}`)));
    };
    const rows = names.map((_, i) => n.make("tr", {}, n.make("th", { scope: "row" }, name(i)), n.make("td", { class: "of" }, n.count(documents[i])),
      ...names.map((_, j) => cell(i, j))));
    view.append(
      n.make("p", { class: "lede" }, `${n.many(across, "pair")} of ${n.count(counts.pairs)} ${across === 1 ? "is" : "are"} between sources, ${n.count(within)} within one.`),
      scroller("Pairs between sources", n.make("table", { class: "heat between" },
        n.make("caption", {}, "Pairs of documents of two sources, and how many documents of the row's source are in them. A cell leads to its pairs."),
        n.make("thead", {}, head), n.make("tbody", {}, ...rows))));
    if (typeof sources.inside === "string" && sources.inside) view.append(n.make("p", { class: "soft" }, sources.inside));
    if (sources.left_out) view.append(n.make("p", { class: "soft" }, `The last row and column are for ${n.many(sources.left_out, "more source")} together.`));
    return view;
  }

  Object.assign(n, { sourcesView });
})(window.neardup);
