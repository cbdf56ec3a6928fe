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
    const { names, documents, pairs } = sources;
    const total = (i) => pairs[i].reduce((sum, number) => sum + number, 0);
    const across = names.reduce((sum, _, i) => sum + total(i) - pairs[i][i], 0) / 2;
    const within = names.reduce((sum, _, i) => sum + pairs[i][i], 0);
    const most = Math.max(1, ...pairs.flat());
    const name = (i) => n.named(n.plain(names[i], 60));
    const head = n.make("tr", {}, n.make("th", { scope: "col", class: "corner" }, "Source"), n.make("th", { scope: "col", class: "of" }, "Documents"),
      ...names.map((_, j) => n.make("th", { scope: "col" }, name(j))));
    const cell = (i, j) => {
      const number = pairs[i][j];
      const title = i === j ? `${n.many(number, "pair")} inside ${n.plain(names[i])}` : `${n.many(number, "pair")} between ${n.plain(names[i])} and ${n.plain(names[j])}`;
      return n.make("td", { class: [i === j ? "is-inside" : "", number ? "" : "is-zero"].join(" ").trim(), title, style: heat(Math.log1p(number) / Math.log1p(most)) }, number ? n.count(number) : "–");
    };
    const rows = names.map((_, i) => n.make("tr", {}, n.make("th", { scope: "row" }, name(i)), n.make("td", { class: "of" }, n.count(documents[i])),
      ...names.map((_, j) => cell(i, j))));
    view.append(
      n.make("p", { class: "lede" }, `${n.many(across, "pair")} of ${n.count(counts.pairs)} ${across === 1 ? "is" : "are"} between sources, ${n.count(within)} within one.`),
      scroller("Pairs between sources", n.make("table", { class: "heat between" }, n.make("caption", {}, "Pairs between sources; on the diagonal, inside one."),
        n.make("thead", {}, head), n.make("tbody", {}, ...rows))));
    if (typeof sources.inside === "string" && sources.inside) view.append(n.make("p", { class: "soft" }, sources.inside));
    if (sources.left_out) view.append(n.make("p", { class: "soft" }, `The last row and column are for ${n.many(sources.left_out, "more source")} together.`));
    return view;
  }

  Object.assign(n, { sourcesView });
})(window.neardup);
