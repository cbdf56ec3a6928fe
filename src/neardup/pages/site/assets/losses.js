// Documents and what is cut of them: the list, those that lose most first, and the text of one before and after.
(function (n) {
  "use strict";

  const { heading, note, figures } = n.parts;
  const PATH = "#/documents";
  const NUMBERS = ["bytes", "lost", "left", "page"];
  const CUT = "is-cut"; // the class of what is cut
  let store = null; // columns of all rows that are loaded

  const isMade = () => n.meta.passages.cut.is_made;

  function open() {
    const { listed, chunks } = n.meta.passages.documents;
    store = { ...Object.fromEntries([...NUMBERS, "share"].map((name) => [name, new Float64Array(listed)])), id: [], lower: [] };
    const add = (chunk, first) => {
      for (const name of NUMBERS) store[name].set(chunk[name], first);
      chunk.id.forEach((id, i) => {
        store.share[first + i] = chunk.bytes[i] ? chunk.lost[i] / chunk.bytes[i] : 0;
        store.id.push(id);
        store.lower.push(id.toLowerCase());
      });
      return chunk.id.length;
    };
    store.rows = n.rowsOf({ chunks, total: listed, take: (number) => n.repeatedChunk("losses", number), add });
  }

  function columns() {
    const number = (name, label, cell = (i) => n.count(store[name][i])) => ({ name, label, isNumber: true, values: () => store[name], cell });
    return [
      { name: "id", label: "Document", values: () => n.ranks(store.id)[0], cell: (i) => (store.page[i] < 0 ? n.brief(store.id[i]) : n.make("a", { href: `#/document/${i}` }, n.brief(store.id[i]))) },
      number("bytes", "Bytes"),
      number("lost", isMade() ? "Cut" : "Would be cut"),
      number("share", "Share", (i) => n.partOf(store.lost[i], store.bytes[i])),
      number("left", "Characters left"),
    ];
  }

  const FIELDS = [{ name: "lost", label: "Cut at least", unit: "bytes" }, { name: "left", label: "Characters left, at most" }];

  function keeps({ lost, left }) {
    if (lost === null && left === null) return null;
    return (i) => (lost === null || store.lost[i] >= lost) && (left === null || store.left[i] <= left);
  }

  function lossesView(given) {
    const { listed, total, chunk } = n.meta.passages.documents;
    const view = n.make("article", { class: "losses" }, heading(`Documents that ${isMade() ? "lost" : "would lose"} most`));
    if (!listed) {
      view.append(note("No document has anything that is repeated."));
      return view;
    }
    if (!store) open();
    const text = (name) => (i) => store[name][i];
    view.append(
      n.make("p", { class: "soft" }, `${n.many(total, "document")} ${isMade() ? "lost" : "would lose"} something. Those that lose nothing are here because a passage stands in them for the first time.`),
      n.listView({
        path: PATH, name: "Documents", one: "document", columns: columns(), natural: { by: "lost", isDown: true }, fields: FIELDS,
        rows: store.rows, chunk, lower: store.lower, keeps, rest: "",
        download: { name: "documents", columns: [["id", text("id")], ["bytes", text("bytes")], ["cut_bytes", text("lost")], ["left", text("left")]] },
      }, given));
    return view;
  }

  // A text with its repeated passages marked, and what is cut of it struck through, or gone.
  class CutPane extends n.Pane {
    constructor(text, { marks, cuts }, label) {
      const spans = marks.map(([start, end]) => [start, end]);
      const families = new Map();
      for (const [, , passage, isCut] of marks) if (!isCut && !families.has(passage)) families.set(passage, families.size);
      super(text, spans, { label, colours: marks.map(([, , passage, isCut]) => (isCut ? CUT : families.get(passage))), partners: spans.map(() => -1) });
      this.passages = marks.map(([, , passage]) => passage);
      this.cutAt = new Map(cuts.map(([start, end, joint]) => [start, { size: end - start, joint }]));
    }

    drawPart(parent, one, start, end) {
      const cut = one.span >= 0 && start === one.from ? this.cutAt.get(one.start) : null;
      if (cut) parent.append(n.make("span", { class: "joint", role: "img", "aria-label": `${n.many(cut.size, "character")} cut here` }, cut.joint));
      super.drawPart(parent, one, start, end);
    }

    mark(one, start, end) {
      const part = super.mark(one, start, end);
      const passage = this.passages[one.span];
      part.setAttribute("title", passage < -1 ? "white space beside what is cut" : passage < 0 ? "repeated; its passage is not listed" : `Passage ${n.count(passage + 1)}: see where it stands`);
      if (passage >= 0) part.setAttribute("role", "link");
      return part;
    }

    jump(i, { stay = false } = {}) {
      const passage = this.passages[i];
      if (stay || passage < 0) this.show(i, { focus: true });
      else n.go(`#/passage/${passage}`);
    }
  }

  async function lossView(number, place) {
    const { listed, chunk } = n.meta.passages.documents;
    if (!(number < listed)) return null;
    const rows = await n.repeatedChunk("losses", Math.floor(number / chunk));
    const at = number - rows.first;
    const [id, bytes, lost, left, page] = ["id", "bytes", "lost", "left", "page"].map((name) => rows[name][at]);
    const view = n.make("article", { class: "loss" }, heading(n.named(n.plain(id, 300))),
      figures([["Bytes", n.count(bytes)], [isMade() ? "Cut" : "Would be cut", lost ? n.make("span", {}, `${n.count(lost)} `, n.make("small", {}, n.partOf(lost, bytes))) : "nothing"],
        ["Characters left", n.count(left)]]));
    const found = { title: n.plain(id, 60), crumbs: [[n.listPlace(PATH), "Documents"], [null, n.plain(id, 60)]], view };
    if (page < 0) {
      view.append(note("The text of this document is not on this page: the summary says what was left out."));
      return found;
    }
    const data = (await n.repeatedChunk("documents", page)).documents[number];
    const pane = new CutPane(data.text, data, "The text, repeated passages marked");
    const box = n.make("div", { class: "texts is-one" }, n.make("div", { class: "side" }, pane.strip(), lost === bytes ? n.make("p", { class: "soft nothing" }, "Nothing is left.") : null, pane.render().box));
    const choice = (value, name, isChosen) => n.make("label", { class: "check" },
      n.make("input", { type: "radio", name: "shown", value, checked: isChosen, onchange: () => box.classList.toggle("is-after", value === "after") }), name);
    const { min_left: least } = n.meta.passages.cut;
    view.append(
      n.make("div", { class: "tools", role: "group", "aria-label": "What is shown" }, choice("before", "Before", true), choice("after", "After: what is left", false),
        n.make("span", { class: "soft legend" }, n.make("span", { class: "mark k0" }, "repeated, stays"), " ", n.make("span", { class: `mark ${CUT}` }, isMade() ? "was cut" : "would be cut"))),
      lost && left < least ? note(`Fewer than ${n.many(least, "character")} ${least === 1 ? "is" : "are"} left, so the document is left out of the copies.`) : "",
      box,
      data.left_out ? note(`${n.many(data.left_out, "more mark")} behind the last one ${data.left_out === 1 ? "is" : "are"} not shown.`) : "");
    const to = place === null ? -1 : pane.spans.findIndex(([start, end]) => start <= place && place < end);
    if (to >= 0) requestAnimationFrame(() => pane.show(to));
    return found;
  }

  Object.assign(n, { lossesView, lossView });
})(window.neardup);
