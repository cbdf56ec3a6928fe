// The list of all pairs that have a page, the most similar first, and where a pair stands in it.
(function (n) {
  "use strict";

  const { heading, note, similarity } = n.parts;
  const PATH = "#/pairs";
  let store = null; // columns of all rows that are loaded

  const isCopying = () => n.meta.purpose === "copying"; // then the order is that of the highest share
  const perMille = (value) => `${(value / 10).toFixed(1)}%`;

  function open() {
    const { listed, chunks } = n.meta.pairs;
    const numbers = Object.fromEntries(["similarity", "contained", "share_a", "share_b", "longest", "cluster", "pair", "source_a", "source_b"]
      .map((name) => [name, new Float64Array(listed)]));
    store = { ...numbers, a: [], b: [], hash_a: [], hash_b: [], snippet: [], lower: [] };
    const add = (chunk, first) => {
      for (const name of [...(isCopying() ? ["contained"] : []), "similarity", "share_a", "share_b", "longest", "cluster", "pair"]) store[name].set(chunk[name], first);
      for (let i = 0; i < chunk.a.length; i++) {
        const [a, b] = [chunk.documents[chunk.a[i]], chunk.documents[chunk.b[i]]];
        store.a.push(a);
        store.b.push(b);
        store.hash_a.push(chunk.hashes?.[chunk.a[i]]);
        store.hash_b.push(chunk.hashes?.[chunk.b[i]]);
        store.snippet.push(chunk.snippet[i]);
        store.lower.push(`${a}\n${b}\n${chunk.snippet[i]}`.toLowerCase());
        store.source_a[first + i] = chunk.sources[chunk.a[i]] ?? -1;
        store.source_b[first + i] = chunk.sources[chunk.b[i]] ?? -1;
      }
      return chunk.a.length;
    };
    store.rows = n.rowsOf({ chunks, total: listed, take: n.pairChunk, add });
  }

  // By the text of one document, then by that of the other.
  function byBoth(first, second) {
    const [one, other] = n.ranks(first, second);
    return one.map((place, i) => place * 2 * one.length + other[i]); // there are no more texts than twice the rows
  }

  const named = (column) => Array.from(store[column].subarray(0, store.rows.rows), n.sourceName);
  const byNames = () => byBoth(store.a, store.b);
  const bySources = () => byBoth(named("source_a"), named("source_b"));

  const byVerdict = () => n.ranks(Array.from(store.a, (_, i) => verdict(i)), store.rows.rows);

  function sources(i) {
    const names = [...new Set([n.sourceName(store.source_a[i]), n.sourceName(store.source_b[i])])];
    return n.appendText(n.make("bdi"), names.join(" · "));
  }

  const verdict = (i) => n.verdictText({ id: store.a[i], hash: store.hash_a[i] }, { id: store.b[i], hash: store.hash_b[i] });

  function columnsOf(withSources) {
    const number = (name, label, cell) => ({ name, label, isNumber: true, values: () => store[name], cell });
    const pair = (i) => {
      const box = n.make("span", {}, n.make("a", { href: `#/pair/${store.cluster[i]}/${store.pair[i]}` },
        n.brief(store.a[i]), n.make("span", { class: "soft" }, " and "), n.brief(store.b[i])));
      box.append(n.appendText(n.make("bdi", { class: "opening" }), store.snippet[i]));
      return box;
    };
    return [
      { name: "pair", label: "Pair", values: byNames, cell: pair },
      ...(isCopying() ? [number("contained", "Highest share", (i) => n.share(store.contained[i]))] : []),
      ...(isCopying() && n.meta.measure === "containment" ? [] : [number("similarity", "Similarity", (i) => similarity(store.similarity[i]))]),
      number("share_a", "Of the first", (i) => perMille(store.share_a[i])),
      number("share_b", "Of the second", (i) => perMille(store.share_b[i])),
      number("longest", "Longest passage", (i) => n.count(store.longest[i])),
      ...(isCopying() ? [{ name: "verdict", label: "Verdict", values: byVerdict, cell: (i) => n.appendText(n.make("bdi"), verdict(i)) }] : []),
      ...(withSources ? [{ name: "source", label: "Sources", values: bySources, cell: sources }] : []),
    ];
  }

  const SHARES = "“Of the first” is how much of the first text stands in passages that both texts have, “Of the second” the same for the second text. " +
    "The longest passage is counted in characters.";
  const FIELDS = [
    { name: "from", label: "Similarity at least", step: "any" },
    { name: "below", label: "and below", step: "any" },
    { name: "size", label: "Longest passage at least", unit: "characters" },
  ];
  const SOURCES = [{ name: "source", label: "Source", kind: "source" }, { name: "other", label: "with", kind: "source" }];

  function keeps({ from, below, size, source = null, other = null }) {
    if ([from, below, size, source, other].every((value) => value === null)) return null;
    const { similarity: s, longest, source_a: a, source_b: b } = store;
    const joins = (i, x, y) => (x === null || a[i] === x) && (y === null || b[i] === y);
    return (i) => (from === null || s[i] >= from) && (below === null || s[i] < below) && (size === null || longest[i] >= size) &&
      (joins(i, source, other) || joins(i, other, source));
  }

  function file(withSources) {
    const text = (name) => (i) => store[name][i];
    return {
      name: "pairs",
      columns: [["id_a", text("a")], ["id_b", text("b")], ["similarity", text("similarity")], ...(isCopying() ? [["highest_share", text("contained")]] : []),
        ["share_a", (i) => store.share_a[i] / 1000], ["share_b", (i) => store.share_b[i] / 1000], ["longest_passage", text("longest")],
        ...(withSources ? ["a", "b"].map((side) => [`source_${side}`, (i) => n.sourceName(store[`source_${side}`][i])]) : []),
        ...(isCopying() ? [["verdict", verdict]] : []), ["cluster", (i) => store.cluster[i] + 1], ["passage", text("snippet")]],
    };
  }

  function pairsView(given) {
    const { listed, total, chunk } = n.meta.pairs;
    const view = n.make("article", { class: "pairs" }, heading("Pairs"));
    if (!listed) {
      view.append(note(total ? "Pairs were found, and none has a page: the summary says what was left out." : "No pair was found: no two documents are similar enough."));
      return view;
    }
    if (!store) open();
    const withSources = (n.meta.sources?.names.length ?? 0) > 1;
    view.append(
      n.make("p", { class: "soft" }, SHARES),
      n.listView({
      path: PATH, name: "Pairs", one: "pair", columns: columnsOf(withSources), natural: { by: isCopying() ? "contained" : "similarity", isDown: true },
      fields: withSources ? [...FIELDS, ...SOURCES] : FIELDS, rows: store.rows, chunk, lower: store.lower, keeps,
      rest: total > listed ? `${n.many(total - listed, "pair")} that ${total - listed === 1 ? "was" : "were"} found ${total - listed === 1 ? "has" : "have"} no page and ${total - listed === 1 ? "is" : "are"} not listed: the summary says why.` : "",
      download: file(withSources),
    }, given));
    return view;
  }

  // Where a pair stands in the whole list: its place from 0, and the addresses before and behind it; null: it is not listed.
  async function placeOfPair(value, longest, cluster, pair) {
    const { starts, listed } = n.meta.pairs;
    const before = ([s, l, c, p]) => // by the first of these that is not the same
      s !== value ? s > value : l !== longest ? l > longest : c !== cluster ? c < cluster : p <= pair;
    let number = starts.length - 1;
    while (number > 0 && !before(starts[number])) number--;
    if (number < 0) return null;
    const chunk = await n.pairChunk(number);
    const at = chunk.cluster.findIndex((c, i) => c === cluster && chunk.pair[i] === pair);
    if (at < 0) return null;
    const address = (rows, i) => `#/pair/${rows.cluster[i]}/${rows.pair[i]}`;
    const place = chunk.first + at;
    const last = at === 0 && number > 0 ? await n.pairChunk(number - 1) : null;
    const next = at + 1 === chunk.cluster.length && place + 1 < listed ? starts[number + 1] : null;
    return {
      place,
      before: at > 0 ? address(chunk, at - 1) : last && address(last, last.cluster.length - 1),
      after: next ? `#/pair/${next[2]}/${next[3]}` : at + 1 < chunk.cluster.length ? address(chunk, at + 1) : null,
    };
  }

  Object.assign(n, { pairsView, placeOfPair });
})(window.neardup);
