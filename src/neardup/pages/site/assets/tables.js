// The table of clusters: sorted by any column, searched over all chunks, fifty rows a page.
(function (n) {
  "use strict";

  const { heading, note, similarity } = n.parts;
  const PAGE = 50;
  const collator = new Intl.Collator("en", { numeric: true });
  const NUMBERS = ["size", "least", "mean", "source"];
  const COLUMNS = [
    ["keeper", "Representative"],
    ["size", "Size"],
    ["least", "Least"],
    ["mean", "Mean"],
    ["source", "Source"],
    ["opening", "Opening words"],
  ];
  // What was asked stays when one comes back from a cluster.
  const state = { by: "size", isDown: true, page: 0, query: "" };
  const loaded = { chunks: 0, rows: 0, keeper: [], size: [], least: [], mean: [], source: [], opening: [], lower: [] };
  let loading = null;

  function add(chunk) {
    for (const name of ["keeper", ...NUMBERS, "opening"]) for (const value of chunk[name]) loaded[name].push(value);
    for (let i = 0; i < chunk.keeper.length; i++) loaded.lower.push(`${chunk.keeper[i]}\n${chunk.opening[i]}`.toLowerCase());
    loaded.rows += chunk.keeper.length;
    loaded.chunks++;
  }

  // Chunks up to a number, one after another; `tell` is called after each.
  function loadTo(chunks, tell) {
    const wanted = Math.min(chunks, n.meta.clusters.chunks);
    const next = async () => {
      while (loaded.chunks < wanted) {
        add(await n.clusterChunk(loaded.chunks));
        tell();
        await new Promise((done) => setTimeout(done)); // what was typed goes first
      }
    };
    loading = (loading ?? Promise.resolve()).then(next, next);
    return loading;
  }

  const isComplete = () => loaded.chunks >= n.meta.clusters.chunks;
  const isNatural = () => state.by === "size" && state.isDown;

  // Numbers of the rows that are asked for, in their order.
  function order() {
    const query = state.query.trim().toLowerCase();
    const rows = [];
    for (let i = 0; i < loaded.rows; i++) if (!query || loaded.lower[i].includes(query)) rows.push(i);
    if (isNatural()) return rows;
    const sign = state.isDown ? -1 : 1;
    const values = state.by === "source" ? loaded.source.map(n.sourceName) : loaded[state.by];
    const compare = typeof values[0] === "number" ? (a, b) => values[a] - values[b] : (a, b) => collator.compare(values[a], values[b]);
    return rows.sort((a, b) => sign * compare(a, b) || a - b);
  }

  function clustersView() {
    const { meta } = n;
    const { listed, total, chunk } = meta.clusters;
    const view = n.make("article", { class: "clusters" }, heading("Clusters"));
    if (!listed) {
      view.append(note("No cluster was found: no two documents are similar enough."));
      return view;
    }
    const withSources = (meta.sources?.names.length ?? 0) > 1;
    const columns = COLUMNS.filter(([name]) => name !== "source" || withSources);
    const status = n.make("p", { class: "soft status", role: "status" });
    const search = n.make("input", { type: "search", id: "search", value: state.query, autocomplete: "off", spellcheck: "false", placeholder: "id or words" });
    const body = n.make("tbody", { role: "rowgroup" });
    const pager = n.make("nav", { class: "pager", "aria-label": "Pages of the table" });
    const headers = columns.map(([name, label]) => header(name, label, sort));
    let rows = [];

    function drawRows() {
      const count = isNatural() && !state.query.trim() ? listed : rows.length; // the others are known when they are loaded
      const pages = Math.max(1, Math.ceil(count / PAGE));
      state.page = Math.min(state.page, pages - 1);
      const first = state.page * PAGE;
      body.replaceChildren(...rows.slice(first, first + PAGE).map((i) => row(i, columns)));
      for (const one of headers) one.update();
      drawPager(pager, { pages, first, count, go: turn });
    }

    function tell() {
      rows = order();
      drawRows();
      const searched = isComplete() ? `${n.many(loaded.rows, "cluster")}` : `${n.count(loaded.rows)} of ${n.count(listed)} clusters so far`;
      const found = state.query.trim() ? `${n.count(rows.length)} found; searched ${searched}.` : "";
      const rest = total > listed ? ` ${n.count(total - listed)} smaller clusters are not listed.` : "";
      const sorting = !isNatural() && !isComplete() ? ` Sorted are ${searched}.` : "";
      status.textContent = (found || `${n.many(listed, "cluster")}.`) + sorting + rest;
    }

    // What must be there: all of it to search or to sort by another column, else what the page shows.
    function update() {
      const needed = state.query.trim() || !isNatural() ? Infinity : Math.ceil(((state.page + 1) * PAGE) / chunk);
      tell();
      loadTo(needed, tell).catch((error) => { status.textContent = error.message; });
    }

    function sort(name) {
      state.isDown = state.by === name ? !state.isDown : NUMBERS.includes(name) && name !== "source";
      Object.assign(state, { by: name, page: 0 });
      update();
      const label = COLUMNS.find(([one]) => one === name)[1];
      n.say(`Sorted by ${label.toLowerCase()}, ${state.isDown ? "falling" : "rising"}.`);
    }

    function turn(page) {
      state.page = page;
      update();
      view.scrollIntoView({ block: "start" });
      n.say(`Page ${n.count(page + 1)}`);
    }

    search.addEventListener("input", n.later(() => {
      Object.assign(state, { query: search.value, page: 0 });
      update();
    }, 120));
    view.append(
      n.make("div", { class: "tools" },
        n.make("label", { for: "search", class: "search" }, "Search ", search), status),
      n.make("table", { class: "rows", role: "table", "aria-label": "Clusters" },
        n.make("thead", { role: "rowgroup" }, n.make("tr", { role: "row" }, ...headers.map((one) => one.cell))), body),
      pager);
    update();
    return view;
  }

  function header(name, label, sort) {
    const arrow = n.make("span", { class: "arrow", "aria-hidden": "true" });
    const button = n.make("button", { type: "button", onclick: () => sort(name) }, label, arrow);
    const cell = n.make("th", { scope: "col", role: "columnheader", class: `c-${name}` }, button);
    const update = () => {
      const isThis = state.by === name;
      cell.setAttribute("aria-sort", isThis ? (state.isDown ? "descending" : "ascending") : "none");
      arrow.textContent = isThis ? (state.isDown ? "↓" : "↑") : "";
    };
    return { cell, update };
  }

  function row(i, columns) {
    const content = {
      keeper: () => n.make("a", { href: `#/cluster/${i}` }, n.brief(loaded.keeper[i])),
      size: () => n.count(loaded.size[i]),
      least: () => similarity(loaded.least[i]),
      mean: () => similarity(loaded.mean[i]),
      source: () => n.appendText(n.make("bdi"), n.sourceName(loaded.source[i])),
      opening: () => n.appendText(n.make("bdi", { class: "opening" }), loaded.opening[i]),
    };
    return n.make("tr", { role: "row" }, ...columns.map(([name, label]) =>
      n.make("td", { role: "cell", class: `c-${name}`, "data-label": label }, content[name]())));
  }

  function drawPager(pager, { pages, first, count, go }) {
    const page = state.page;
    const wasInside = pager.contains(document.activeElement) ? document.activeElement.dataset.to : null;
    const button = (name, to, sign, isOff) =>
      n.make("button", { type: "button", "aria-label": name, disabled: isOff, "data-to": sign, onclick: () => go(to) }, sign);
    pager.replaceChildren(
      button("First page", 0, "«", page === 0), button("Previous page", page - 1, "‹", page === 0),
      n.make("span", { class: "told" }, count ? `${n.count(first + 1)}–${n.count(Math.min(first + PAGE, count))} of ${n.count(count)}` : "none"),
      button("Next page", page + 1, "›", page >= pages - 1), button("Last page", pages - 1, "»", page >= pages - 1));
    if (wasInside) (pager.querySelector(`[data-to="${wasInside}"]:not(:disabled)`) ?? pager.querySelector("button:not(:disabled)"))?.focus();
  }

  Object.assign(n, { clustersView });
})(window.neardup);
