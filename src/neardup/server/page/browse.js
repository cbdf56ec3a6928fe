// The documents of the index page by page, and one of them with its text.
(function (n) {
  "use strict";

  const { appendText, ask, brief, byId, count, documentPath, explain, make, many, named } = n;
  const SIZE = 50;
  const MOST_REQUESTS = 40; // for one page: of an id that is nowhere, so many times 50,000 documents are looked through

  // What the pages so far came after; the last is the page that is shown.
  let cursors = [null];
  let following = null;
  let running = null;

  const told = (message) => { byId("browsed").textContent = message; };

  // As many documents as a page has, of answers that may be short; what the next page comes after.
  async function fill(after, signal) {
    const documents = [];
    let next = after;
    for (let i = 0; i < MOST_REQUESTS && documents.length < SIZE; i++) {
      const asked = new URLSearchParams({ size: SIZE - documents.length, prefix: byId("prefix").value, order: byId("order").value });
      if (next !== null) asked.set("after", next);
      const answer = await ask(`documents?${asked}`, { signal });
      documents.push(...answer.documents);
      next = answer.next ?? null;
      if (next === null) break;
    }
    return { documents, next };
  }

  function row(one) {
    const cell = (name, label, ...content) => make("td", { role: "cell", class: `c-${name}`, "data-label": label }, ...content);
    return make("tr", { role: "row" },
      cell("keeper", "Id", make("a", { href: `#/document/${encodeURIComponent(one.id)}` }, brief(one.id))),
      cell("size", "Characters", count(one.characters)),
      cell("opening", "Opening words", appendText(make("bdi", { class: "opening" }), one.opening)));
  }

  async function show() {
    running?.abort();
    const mine = (running = new AbortController());
    told("Reading…");
    try {
      const { documents, next } = await fill(cursors.at(-1), mine.signal);
      following = next;
      byId("rows").replaceChildren(...documents.map(row));
      byId("listed").hidden = documents.length === 0;
      byId("pager").hidden = cursors.length === 1 && next === null;
      byId("first").disabled = byId("back").disabled = cursors.length === 1;
      byId("next").disabled = next === null;
      byId("place").textContent = `page ${count(cursors.length)}`;
      const prefix = byId("prefix").value;
      const such = prefix ? ` whose id begins with ${prefix}` : "";
      if (documents.length) told(`${many(documents.length, "document")}${such}${next === null && cursors.length === 1 ? "" : " on this page"}.`);
      else told(next === null ? `There is no document${such}.` : `No document${such} so far. The next page looks further.`);
    } catch (error) {
      if (error.name !== "AbortError") told(explain(error));
    }
  }

  function turn(pages) {
    cursors = pages;
    show().then(() => byId("browse-view").scrollIntoView({ block: "start" }));
  }

  async function showDocument(id) {
    const view = byId("document-view");
    const heading = make("h1", { tabindex: -1 }, named(id));
    const crumbs = make("nav", { class: "crumbs", "aria-label": "Where you are" },
      make("ol", {}, make("li", {}, make("a", { href: "#/browse" }, "Browse")), make("li", {}, brief(id))));
    view.replaceChildren(crumbs, heading);
    try {
      const one = await ask(documentPath(id));
      const text = make("div", { class: "text", dir: "auto", role: "group", tabindex: 0, "aria-label": "Text of the document" });
      view.append(
        make("p", { class: "soft" }, many(n.points(one.text), "character")),
        make("p", {}, make("button", { type: "button", onclick: () => n.query.searchFor(one.text) }, "Look for what is like it")),
        make("div", { class: "card whole" }, appendText(text, one.text)));
    } catch (error) {
      view.append(make("p", { class: "message is-error", role: "status" }, explain(error)));
    }
    return heading;
  }

  byId("browse").addEventListener("submit", (event) => {
    event.preventDefault();
    turn([null]);
  });
  byId("prefix").addEventListener("input", n.later(() => turn([null]), 200));
  byId("order").addEventListener("change", () => turn([null]));
  byId("first").addEventListener("click", () => turn([null]));
  byId("back").addEventListener("click", () => turn(cursors.slice(0, -1)));
  byId("next").addEventListener("click", () => turn([...cursors, following]));

  Object.assign(n, { browse: { show, showDocument } });
})(window.neardup);
