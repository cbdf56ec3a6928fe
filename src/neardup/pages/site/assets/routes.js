// Which view an address names: title, focus, breadcrumbs, and the place where one was when one goes back.
(function (n) {
  "use strict";

  const REPORT = [
    [/^#\/histogram$/, () => ({ title: "Similarities", crumbs: [[null, "Similarities"]], view: n.histogramView() })],
    [/^#\/pairs(?:\?(.*))?$/, (asked) => ({ title: "Pairs", crumbs: [[null, "Pairs"]], view: n.pairsView(asked) })],
    [/^#\/clusters(?:\?(.*))?$/, async (asked) => ({ title: "Clusters", crumbs: [[null, "Clusters"]], view: await n.clustersView(asked) })],
    [/^#\/cluster\/(\d{1,9})$/, (number) => n.clusterView(Number(number))],
    [/^#\/cluster\/(\d{1,9})\/pair\/(\d{1,9}|first|last)$/, (number, which) => n.pairOfCluster(Number(number), which)],
    [/^#\/pair\/(\d{1,9})\/(\d{1,9})$/, (number, place) => n.pairOfAll(Number(number), Number(place))],
    [/^#\/people$/, async () => ({ title: "People", crumbs: [[null, "People"]], view: await n.peopleView() })],
    [/^#\/person\/(\d{1,9})$/, (number) => n.personView(Number(number))],
    [/^#\/print$/, async () => ({ title: "To print", crumbs: [[null, "To print"]], view: await n.printView() })],
    [/^#\/sources$/, () => ({ title: "Sources", crumbs: [[null, "Sources"]], view: n.sourcesView() })],
  ];
  const PASSAGES = [
    [/^#\/passages(?:\?(.*))?$/, (asked) => ({ title: "Passages", crumbs: [[null, "Passages"]], view: n.repeatsView(asked) })],
    [/^#\/passage\/(\d{1,9})$/, (number) => n.repeatView(Number(number))],
    [/^#\/documents(?:\?(.*))?$/, (asked) => ({ title: "Documents", crumbs: [[null, "Documents"]], view: n.lossesView(asked) })],
    [/^#\/document\/(\d{1,9})(?:\/(\d{1,15}))?$/, (number, place) => n.lossView(Number(number), place === undefined ? null : Number(place))],
  ];
  const TABS = { cluster: "clusters", pair: "pairs", person: "people", passage: "passages", document: "documents" };
  const routes = () => [[/^#\/$/, () => ({ title: "" })], ...(n.meta.clusters ? REPORT : []), ...(n.meta.passages ? PASSAGES : [])];

  const scrolled = new Map(); // how far down each address was when it was left
  let here = null;
  let isFollowed = false;
  let keys = {};
  let asked = 0;

  const address = () => (location.hash.startsWith("#/") ? location.hash : "#/");

  // Before the page is drawn: what another address than the summary's names must not flash up as the summary.
  if (address() !== "#/") document.documentElement.classList.add("is-elsewhere");

  function lost(what) {
    const view = n.make("article", {}, n.parts.heading("There is no such view"),
      n.parts.note(what), n.make("p", {}, n.make("a", { href: "#/" }, "Go to the summary")));
    return { title: "No such view", crumbs: [[null, "No such view"]], view };
  }

  async function find(hash) {
    for (const [pattern, show] of routes()) {
      const found = pattern.exec(hash);
      if (!found) continue;
      const parts = found.slice(1);
      return (await show(...parts)) ?? lost(`There is nothing at ${hash}. The report may have been made again since this address was noted.`);
    }
    return lost(`Nothing in this report is at ${n.plain(hash, 80)}.`);
  }

  async function show({ isFirst = false } = {}) {
    const hash = address();
    if (hash === here) return;
    const mine = ++asked;
    if (here !== null) scrolled.set(here, window.scrollY);
    const isBack = !isFollowed && !isFirst;
    isFollowed = false;
    here = hash;
    let found;
    try {
      found = await find(hash);
    } catch (error) {
      found = { ...lost(error.message), title: "Not to be read" };
      found.view.querySelector("h1").textContent = "This part of the report cannot be shown";
    }
    if (mine !== asked) return; // another view was asked for in the meantime
    place(found, hash);
    window.scrollTo(0, isBack ? scrolled.get(hash) ?? 0 : 0);
    if (!isFirst || hash !== "#/") {
      const heading = (found.view ?? n.byId("summary")).querySelector("h1");
      heading.focus({ preventScroll: true });
    }
  }

  function place(found, hash) {
    const { meta } = n;
    const isSummary = !found.view;
    document.documentElement.classList.remove("is-elsewhere");
    n.byId("summary").hidden = !isSummary;
    n.byId("view").hidden = isSummary;
    n.byId("view").replaceChildren(...(isSummary ? [] : [found.view]));
    document.title = [found.title, n.plain(meta.title)].filter(Boolean).join(" · ");
    keys = found.keys ?? {};
    const crumbs = n.byId("crumbs");
    crumbs.hidden = isSummary;
    crumbs.replaceChildren(n.make("ol", {}, ...[["#/", "Summary"], ...(found.crumbs ?? [])].map(([to, name]) =>
      n.make("li", {}, to ? n.make("a", { href: to }, name) : n.make("span", { "aria-current": "page" }, name)))));
    const part = hash.split(/[/?]/)[1];
    const own = TABS[part] ?? part;
    const tab = meta.clusters && own === "documents" ? "passages" : own; // a report has no tab for these
    for (const link of n.byId("nav").querySelectorAll("a")) {
      const isThis = link.getAttribute("href") === `#/${tab}`;
      if (isThis) link.setAttribute("aria-current", TABS[part] ? "true" : "page");
      else link.removeAttribute("aria-current");
    }
  }

  // The view that is shown has another address now.
  n.readdress = (to) => {
    if (to === address()) return;
    history.replaceState(null, "", to);
    here = to;
  };

  // Go to a view as a link does.
  n.go = (to) => {
    isFollowed = true;
    location.hash = to;
  };

  document.addEventListener("click", (event) => {
    if (event.target.closest?.('a[href^="#/"]')) isFollowed = true;
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input, textarea, select")) return;
    if (!Object.hasOwn(keys, event.key)) return;
    keys[event.key]();
  });
  window.addEventListener("hashchange", () => show());
  document.addEventListener("DOMContentLoaded", () => {
    n.meta = n.parse("meta");
    history.scrollRestoration = "manual";
    show({ isFirst: true });
    n.openSummary?.();
  });
})(window.neardup);
