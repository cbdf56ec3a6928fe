// People: who shares how much, all pairs of one person with the highest share first, and all of it to print.
(function (n) {
  "use strict";

  const { heading, note, figures } = n.parts;
  const DRAWN = 500; // pairs of a person that are drawn
  const PRINTED = 300; // pairs, and people, that are printed
  const ROLES = ["", "original", "earlier"];

  // The rows of the list of pairs that `keeps` wants, at most so many, in their order.
  async function pairs(keeps, most) {
    const found = [];
    for (let chunk = 0; chunk < n.meta.pairs.chunks && found.length < most; chunk++) {
      const rows = await n.pairChunk(chunk);
      const end = (number) => ({ id: rows.documents[number], hash: rows.hashes[number], person: rows.people[number], role: rows.roles[number] });
      for (let i = 0; i < rows.a.length && found.length < most; i++) {
        const [a, b] = [end(rows.a[i]), end(rows.b[i])];
        if (!keeps(a, b)) continue;
        found.push({ a, b, share_a: rows.share_a[i], share_b: rows.share_b[i], contained: rows.contained[i], similarity: rows.similarity[i],
          longest: rows.longest[i], snippet: rows.snippet[i], to: `#/pair/${rows.cluster[i]}/${rows.pair[i]}` });
      }
    }
    return found;
  }

  const perMille = (value) => `${(value / 10).toFixed(1)}%`;
  const document_ = ({ id, role }) => n.make("span", {}, n.brief(id), ROLES[role] ? n.make("small", { class: "soft" }, ` ${ROLES[role]}`) : null);

  function table(label, columns, rows) {
    return n.make("table", { class: "rows", role: "table", "aria-label": label },
      n.make("thead", { role: "rowgroup" }, n.make("tr", { role: "row" }, ...columns.map(([kind, name]) => n.make("th", { scope: "col", role: "columnheader", class: `c-${kind}` }, name)))),
      n.make("tbody", { role: "rowgroup" }, ...rows.map((row) => n.make("tr", { role: "row" },
        ...columns.map(([kind, name, cell]) => n.make("td", { role: "cell", class: `c-${kind}`, "data-label": name }, cell(row)))))));
  }

  // Pairs with the person's own document first, where it is one person's table.
  function pairTable(rows, number = null) {
    const turned = rows.map((row) => (number !== null && row.b.person === number ? { ...row, a: row.b, b: row.a, share_a: row.share_b, share_b: row.share_a } : row));
    const pair = ({ a, b, to, snippet }) => n.make("span", {}, n.make("a", { href: to }, document_(a), n.make("span", { class: "soft" }, " and "), document_(b)),
      n.appendText(n.make("bdi", { class: "opening" }), snippet));
    return table("Pairs", [
      ["pair", "Pair, and what both have", pair],
      ["share", "Highest share", (row) => n.share(row.contained)],
      ["share", "Of the first", (row) => perMille(row.share_a)],
      ["share", "Of the second", (row) => perMille(row.share_b)],
      ["longest", "Longest passage", (row) => n.count(row.longest)],
      ["verdict", "Verdict", (row) => n.appendText(n.make("bdi"), n.verdictText(row.a, row.b))],
    ], turned);
  }

  async function everyone() {
    const rows = await n.peopleChunk();
    return rows.number.map((number, i) => ({ number, name: rows.name[i], documents: rows.documents[i], pairs: rows.pairs[i], highest: rows.highest[i] }));
  }

  const link = ({ number, name }) => n.make("a", { href: `#/person/${number}` }, n.brief(name));

  async function peopleView() {
    const people = await everyone();
    const view = n.make("article", { class: "people" }, heading("People"),
      n.make("p", { class: "lede" }, `${n.count(people.length)} of ${n.many(n.meta.people.count, "person", "people")} ${people.length === 1 ? "has" : "have"} a pair with another document.`));
    if (people.length) {
      view.append(table("People", [
        ["pair", "Person", link],
        ["share", "Highest share", (one) => n.share(one.highest)],
        ["share", "Pairs", (one) => n.count(one.pairs)],
        ["share", "Documents", (one) => n.count(one.documents)],
      ], people));
    }
    return view;
  }

  async function personView(number) {
    const person = (await everyone()).find((one) => one.number === number);
    if (!person) return null;
    const rows = await pairs((a, b) => a.person === number || b.person === number, DRAWN);
    const view = n.make("article", { class: "person" }, heading(n.named(n.plain(person.name, 120))),
      figures([["Highest share", n.share(person.highest)], ["Pairs", n.count(person.pairs)], ["Documents", n.count(person.documents)]]),
      pairTable(rows, number));
    if (person.pairs > rows.length) view.append(note(`The first ${n.count(rows.length)} of ${n.many(person.pairs, "pair")} are shown.`));
    return { title: n.plain(person.name, 60), crumbs: [["#/people", "People"], [null, n.plain(person.name, 60)]], view };
  }

  // One page for all, and one for each person: what was compared, by which settings, the pairs and their verdicts.
  async function printView() {
    const { meta } = n;
    const rows = await pairs(() => true, PRINTED);
    const people = await everyone();
    const facts = n.make("dl", { class: "facts" }, ...meta.facts.map(([label, text]) =>
      n.make("div", {}, n.make("dt", {}, label), n.appendText(n.make("dd", {}), text))));
    const view = n.make("article", { class: "to-print" }, heading("To print"),
      n.make("p", { class: "tools no-print" }, n.make("button", { type: "button", onclick: () => window.print() }, "Print"), n.verdictExporter()),
      n.make("section", {}, n.make("h2", {}, n.named(n.plain(meta.title, 200))),
        n.make("p", {}, `${n.many(meta.counts.documents, "document")}; ${n.many(meta.pairs.total, "pair")} of similarity ${n.exact(meta.threshold)} or more; ${meta.version}, spec ${meta.spec_id}.`),
        facts, rows.length ? pairTable(rows) : note("No pair was found: no two documents are similar enough.")));
    if (meta.pairs.total > rows.length) view.append(note(`The first ${n.count(rows.length)} of ${n.many(meta.pairs.total, "pair")} are printed.`));
    for (const person of people.slice(0, PRINTED)) {
      const theirs = rows.filter(({ a, b }) => a.person === person.number || b.person === person.number);
      if (!theirs.length) continue;
      const more = theirs.length < person.pairs ? ` The first ${n.count(theirs.length)} are printed.` : "";
      view.append(n.make("section", { class: "new-page" }, n.make("h2", {}, n.named(n.plain(person.name, 120))),
        n.make("p", {}, `${n.many(person.documents, "document")}, ${n.many(person.pairs, "pair")}, highest share ${n.share(person.highest)}.${more}`),
        pairTable(theirs, person.number)));
    }
    return view;
  }

  Object.assign(n, { peopleView, personView, printView });
})(window.neardup);
