// Which view is shown, as the address says. Behind the scripts that the pages of a report have too, and the views.
(function (n) {
  "use strict";

  const { byId, token } = n;
  const VIEWS = ["query", "browse", "document", "statistics"];

  // An address that was typed may be none.
  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  function named() {
    const [, view, id] = /^#\/(\w+)(?:\/(.*))?$/s.exec(location.hash) ?? [];
    return { view: VIEWS.includes(view) ? view : "query", id: decoded(id ?? "") };
  }

  async function show({ isFirst = false } = {}) {
    const { view, id } = named();
    for (const one of VIEWS) byId(`${one}-view`).hidden = one !== view;
    for (const link of document.querySelectorAll(".bar nav a")) {
      const to = link.getAttribute("href").slice(2);
      if (to === view || (view === "document" && to === "browse")) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = view === "query" ? "neardup" : `${view} – neardup`;
    if (!isFirst) {
      window.scrollTo(0, 0);
      byId(`${view}-view`).querySelector("h1")?.focus({ preventScroll: true });
    }
    if (view === "browse") await n.browse.show();
    if (view === "document") await n.browse.showDocument(id);
    if (view === "statistics") await n.statistics.show();
  }

  window.addEventListener("hashchange", () => show());
  token.addEventListener("change", () => n.query.readInfo().then(() => {
    n.query.tell("");
    byId("token-box").open = false;
    if (named().view !== "query") show({ isFirst: true });
  }, n.query.fail));

  n.query.readInfo().then(() => show({ isFirst: true }), n.query.fail);
})(window.neardup);
