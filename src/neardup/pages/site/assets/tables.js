// The list of clusters.
(function (n) {
  "use strict";

  const { heading, note, similarity } = n.parts;
  const PATH = "#/clusters";
  const NUMBERS = ["size", "highest", "least", "mean", "source"];
  let store = null;

  function open() {
    const { listed, chunks } = n.meta.clusters;
    store = { keeper: [], opening: [], lower: [], ...Object.fromEntries(NUMBERS.map((name) => [name, new Float64Array(listed)])) };
    const add = (chunk, first) => {
      for (const name of NUMBERS) store[name].set(chunk[name], first);
      chunk.keeper.forEach((keeper, i) => {
        store.keeper.push(keeper);
        store.opening.push(chunk.opening[i]);
        store.lower.push(`${keeper}\n${chunk.opening[i]}`.toLowerCase());
      });
      return chunk.keeper.length;
    };
    store.rows = n.rowsOf({ chunks, total: listed, take: n.clusterChunk, add });
  }

  // A bare number tells a reader nothing: the words of the text lead then.
  const isBare = (id) => /^[\d\s.:_/-]*$/.test(id);

  function columnsOf(withSources, wordsLead) {
    const text = (name, label, texts, cell) => ({ name, label, values: () => n.ranks(texts())[0], cell });
    const number = (name, label, cell) => ({ name, label, isNumber: true, values: () => store[name], cell });
    const link = (i, child) => n.make("a", { href: `#/cluster/${i}` }, child);
    const words = (i) => n.appendText(n.make("bdi", { class: "opening" }), store.opening[i]);
    const keeper = n.meta.words.keeper;
    const names = text("keeper", keeper[0].toUpperCase() + keeper.slice(1), () => store.keeper,
      (i) => (wordsLead && store.opening[i] ? n.brief(store.keeper[i]) : link(i, n.brief(store.keeper[i]))));
    const openings = text("opening", "Opening words", () => store.opening, (i) => (wordsLead && store.opening[i] ? link(i, words(i)) : words(i)));
    return [
      ...(wordsLead ? [openings, names] : [names, openings]),
      number("size", "Documents", (i) => n.count(store.size[i])),
      number("highest", "Highest pair", (i) => similarity(store.highest[i])),
      number("least", "Least", (i) => n.cut(store.least[i])),
      number("mean", "Mean", (i) => n.cut(store.mean[i])),
      ...(withSources ? [text("source", "Source", () => Array.from(store.source.subarray(0, store.rows.rows), n.sourceName), (i) => n.appendText(n.make("bdi"), n.sourceName(store.source[i])))] : []),
    ];
  }

  const FIELDS = [
    { name: "from", label: "Highest pair at least", step: "any" },
    { name: "below", label: "and below", step: "any" },
    { name: "size", label: "Documents at least" },
  ];
  const SOURCE = { name: "source", label: "Source", kind: "source" };

  function keeps({ from, below, size, source = null }) {
    if ([from, below, size, source].every((value) => value === null)) return null;
    return (i) => (from === null || store.highest[i] >= from) && (below === null || store.highest[i] < below) &&
      (size === null || store.size[i] >= size) && (source === null || store.source[i] === source);
  }

  async function clustersView(given) {
    const { listed, total, chunk } = n.meta.clusters;
    const view = n.make("article", { class: "clusters" }, heading("Clusters"));
    if (!listed) {
      view.append(note("No cluster was found: no two documents are similar enough."));
      return view;
    }
    if (!store) open();
    const first = await n.clusterChunk(0);
    const withSources = (n.meta.sources?.names.length ?? 0) > 1;
    view.append(
      n.make("p", { class: "soft" }, `Least and mean are the similarities of the members to the ${n.meta.words.keeper}.`),
      n.listView({
        path: PATH, name: "Clusters", one: "cluster", columns: columnsOf(withSources, first.keeper.every(isBare)), natural: { by: "size", isDown: true },
        fields: withSources ? [...FIELDS, SOURCE] : FIELDS, rows: store.rows, chunk, lower: store.lower, keeps,
        rest: total > listed ? `${n.count(total - listed)} smaller clusters are not listed.` : "",
        download: null,
      }, given));
    return view;
  }

  Object.assign(n, { clustersView });
})(window.neardup);
