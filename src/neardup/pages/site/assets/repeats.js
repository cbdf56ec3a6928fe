// Repeated passages: the list of them, those first whose places have most bytes together, and one with its places.
(function (n) {
  "use strict";

  const { heading, note, figures } = n.parts;
  const PATH = "#/passages";
  const NUMBERS = ["start", "spans", "documents", "bytes", "weight", "most", "page"];
  let store = null; // columns of all rows that are loaded

  function open() {
    const { listed, chunks } = n.meta.passages;
    store = { ...Object.fromEntries(NUMBERS.map((name) => [name, new Float64Array(listed)])), id: [], opening: [], lower: [] };
    const add = (chunk, first) => {
      for (const name of NUMBERS) store[name].set(chunk[name], first);
      chunk.id.forEach((id, i) => {
        store.id.push(id);
        store.opening.push(chunk.opening[i]);
        store.lower.push(`${id}\n${chunk.opening[i]}`.toLowerCase());
      });
      return chunk.id.length;
    };
    store.rows = n.rowsOf({ chunks, total: listed, take: (number) => n.repeatedChunk("repeats", number), add });
  }

  const openingOf = (text) => n.appendText(n.make("bdi", { class: "opening" }), text || "(white space)");

  function columns() {
    const number = (name, label, cell = (i) => n.count(store[name][i])) => ({ name, label, isNumber: true, values: () => store[name], cell });
    const passage = (i) => {
      const words = openingOf(store.opening[i]);
      const box = n.make("span", {}, store.page[i] < 0 ? words : n.make("a", { href: `#/passage/${i}` }, words));
      box.append(n.make("span", { class: "soft" }, n.meta.passages.is_across ? "stands in " : "first in ", n.brief(store.id[i]), `, from character ${n.count(store.start[i])}`));
      return box;
    };
    return [
      { name: "passage", label: "Passage", values: () => n.ranks(store.opening)[0], cell: passage },
      number("spans", "Places"),
      number("documents", "Documents"),
      number("bytes", "Bytes"),
      number("weight", "Bytes in all places"),
    ];
  }

  const FIELDS = [
    { name: "from", label: "Bytes at least" },
    { name: "below", label: "and below" },
    { name: "places", label: "Places at least" },
    { name: "documents", label: "Documents at least" },
  ];

  function keeps({ from, below, places, documents }) {
    if ([from, below, places, documents].every((value) => value === null)) return null;
    const { bytes, spans, documents: holders } = store;
    return (i) => (from === null || bytes[i] >= from) && (below === null || bytes[i] < below) && (places === null || spans[i] >= places) &&
      (documents === null || holders[i] >= documents);
  }

  const text = (name) => (i) => store[name][i];
  const FILE = { passage: "opening", places: "spans", documents: "documents", bytes: "bytes", bytes_in_all: "weight", first_id: "id", first_start: "start" };

  function repeatsView(given) {
    const { listed, total, chunk } = n.meta.passages;
    const view = n.make("article", { class: "repeats" }, heading("Repeated passages"));
    if (!listed) {
      view.append(note("No passage was found."));
      return view;
    }
    if (!store) open();
    view.append(
      n.make("p", { class: "soft" }, n.meta.passages.is_across
          ? "A passage is named by the place of the other collection where it stands; its places are those of the inputs, and may have a part of it only. "
          : "A passage is named by the place where it stands first; its places may have a part of it only. ",
        n.make("a", { href: "#/documents" }, n.meta.passages.cut.is_made ? "Documents that lost most" : "Documents that would lose most")),
      n.listView({
        path: PATH, name: "Passages", one: "passage", columns: columns(), natural: { by: "weight", isDown: true }, fields: FIELDS,
        rows: store.rows, chunk, lower: store.lower, keeps,
        rest: total > listed ? `${n.many(total - listed, "lighter passage")} ${total - listed === 1 ? "is" : "are"} not listed.` : "",
        download: { name: "passages", columns: Object.entries(FILE).map(([head, name]) => [head, text(name)]) },
      }, given));
    return view;
  }

  async function repeatView(number) {
    const { listed, chunk } = n.meta.passages;
    if (!(number < listed)) return null;
    const rows = await n.repeatedChunk("repeats", Math.floor(number / chunk));
    const at = number - rows.first;
    const row = Object.fromEntries(["spans", "documents", "bytes", "weight", "most", "opening", "page"].map((name) => [name, rows[name][at]]));
    const name = `Passage ${n.count(number + 1)}`;
    const view = n.make("article", { class: "repeat" }, n.make("div", { class: "pair-head" }, heading(name), crossing(number)),
      figures([
        ["Places", n.count(row.spans)], ["Documents", n.count(row.documents)], ["Bytes", n.count(row.bytes)], ["Bytes in all places", n.count(row.weight)]]),
      row.most > row.spans ? n.make("p", { class: "soft" }, `Parts of it stand at up to ${n.count(row.most)} places: the others are in longer stretches, which are places of other passages.`) : "");
    const found = { title: `${name}: ${n.plain(row.opening, 60)}`, crumbs: [[n.listPlace(PATH), "Passages"], [null, name]], view, keys: keys(number) };
    if (row.page < 0) {
      view.append(openingOf(row.opening), note("The places of this passage are not on this page: the summary says what was left out. The table of spans has them."));
      return found;
    }
    const { text: whole, places } = (await n.repeatedChunk("places", row.page)).passages[number];
    const pane = new n.Pane(whole, [], { label: name, colours: [], partners: [] });
    const more = row.spans - places.length;
    view.append(
      n.make("div", { class: "texts is-one" }, n.make("div", { class: "side" }, pane.render().box)),
      n.make("section", { class: "block", "aria-labelledby": "h-places" }, n.make("h2", { id: "h-places" }, "Where it stands"),
        n.make("ol", { class: "places" }, ...places.map(placeOf)),
        more > 0 ? note(`${n.many(more, "more place")} ${more === 1 ? "is" : "are"} not on this page. The table of spans has ${more === 1 ? "it" : "them"}.`) : null));
    return found;
  }

  // A place in its context: some words before and behind, and of a long passage its beginning and its end.
  function placeOf({ id, document: number, start, end, before, opening, closing, behind }) {
    const name = n.brief(id);
    const words = n.make("p", { class: "context", dir: "auto" });
    n.appendText(words, before);
    const mark = words.appendChild(n.make("mark", { class: "mark k0" }));
    n.appendText(mark, opening);
    if (closing) {
      mark.append(n.make("span", { class: "gap is-left-out" }, "…"));
      n.appendText(mark, closing);
    }
    n.appendText(words, behind);
    return n.make("li", {},
      n.make("p", { class: "about" }, number >= 0 ? n.make("a", { href: `#/document/${number}/${Math.floor((start + end) / 2)}` }, name) : name,
        ` characters ${n.count(start)} to ${n.count(end)}`), words);
  }

  const keys = (number) => ({
    n: () => number + 1 < n.meta.passages.listed && n.go(`#/passage/${number + 1}`),
    p: () => number > 0 && n.go(`#/passage/${number - 1}`),
  });

  function crossing(number) {
    const { listed } = n.meta.passages;
    const link = (to, name) => (to >= 0 && to < listed ? n.make("a", { class: "button", href: `#/passage/${to}` }, name) : n.make("span", { class: "button is-off", "aria-disabled": "true" }, name));
    return n.make("nav", { class: "crossing", "aria-label": "Other passages" },
      n.make("span", { class: "soft" }, `${n.count(number + 1)} of ${n.count(listed)}`), link(number - 1, "‹ Previous"), link(number + 1, "Next ›"));
  }

  Object.assign(n, { repeatsView, repeatView });
})(window.neardup);
