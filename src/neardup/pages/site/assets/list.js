// A long list as a table: searched, filtered, sorted by any column, fifty rows a page. What is asked of it stands in the
// address, so a link can ask, and who goes back finds it as it was.
(function (n) {
  "use strict";

  const PAGE = 50;
  const AHEAD = 100_000; // rows that are loaded before anybody asks for them
  const LATER = 300; // milliseconds until then
  const TELL = 150; // milliseconds between two drawings while rows come in
  const left = {}; // the address at which each list was left

  const listPlace = (path) => left[path] ?? path;

  // Rows that come in chunks, one after another. take: gives the promise of a chunk; add: puts its rows behind the others.
  function rowsOf({ chunks, total, take, add }) {
    const loaded = { rows: 0, chunks: 0, total, isComplete: () => loaded.chunks >= chunks };
    let loading = Promise.resolve();
    loaded.to = (wanted, tell) => {
      const next = async () => {
        let told = performance.now();
        while (loaded.chunks < Math.min(wanted, chunks)) {
          loaded.rows += add(await take(loaded.chunks), loaded.rows);
          loaded.chunks++;
          if (loaded.chunks > 1 && !loaded.isComplete() && performance.now() - told < TELL) continue;
          tell();
          told = performance.now();
          await new Promise((done) => setTimeout(done)); // what was typed goes first
        }
      };
      loading = loading.then(next, next);
      return loading;
    };
    return loaded;
  }

  // Places of texts in natural order, numbers in them by their value: a place for each of some texts, in lists of them.
  function ranks(...lists) {
    const distinct = new Map();
    for (const texts of lists) for (const text of texts) distinct.set(text, 0);
    const keys = [...distinct.keys()].map((text) => `${text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(15, "0"))}\0${text}`);
    keys.sort().forEach((key, place) => distinct.set(key.slice(key.indexOf("\0") + 1), place)); // by code units: the fastest there is
    return lists.map((texts) => Float64Array.from(texts, (text) => distinct.get(text)));
  }

  // Places of numbers among their different values.
  function places(values, size) {
    const sorted = Float64Array.from(values.subarray(0, size)).sort();
    let different = 0;
    for (let i = 0; i < size; i++) if (i === 0 || sorted[i] !== sorted[different - 1]) sorted[different++] = sorted[i];
    return Float64Array.from({ length: size }, (_, i) => {
      let [low, high] = [0, different - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (sorted[middle] < values[i]) low = middle + 1;
        else high = middle;
      }
      return low;
    });
  }

  // Rows in the order of their places, those of one place as they come: sorted as plain numbers, without a function.
  function inOrder(rows, place, isDown, size) {
    const keys = Float64Array.from(rows, (i) => (isDown ? size - 1 - place[i] : place[i]) * size + i);
    return Int32Array.from(keys.sort(), (key) => key % size);
  }

  function asked(text, { natural, columns, fields }) {
    const given = new URLSearchParams(text ?? "");
    const number = (name) => {
      const value = given.get(name)?.trim();
      return value && Number.isFinite(Number(value)) ? Number(value) : null;
    };
    const by = columns.some(({ name }) => name === given.get("by")) ? given.get("by") : natural.by;
    const isDown = by === given.get("by") ? given.get("order") !== "rising" : natural.isDown;
    const page = Math.max(0, Math.floor(number("page") ?? 1) - 1);
    const state = { query: given.get("q") ?? "", by, isDown, page };
    for (const { name } of fields) state[name] = number(name);
    return state;
  }

  function addressOf({ path, natural, fields }, state) {
    const told = new URLSearchParams();
    if (state.query.trim()) told.set("q", state.query.trim());
    for (const { name } of fields) if (state[name] !== null) told.set(name, state[name]);
    if (state.by !== natural.by || state.isDown !== natural.isDown) {
      told.set("by", state.by);
      if (!state.isDown) told.set("order", "rising");
    }
    if (state.page) told.set("page", state.page + 1);
    return String(told) ? `${path}?${told}` : path;
  }

  // The address of a list in which fields have values.
  function listAddress(path, values) {
    const told = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined));
    return String(told) ? `${path}?${told}` : path;
  }

  // list: {path, name, one (what a row is), columns: [{name, label, isNumber, values() (an array of numbers to sort by), cell(i)}], natural: {by, isDown},
  // fields: [{name, label, kind, unit}], rows: of rowsOf, lower: a text to search for each row, keeps(state): a test of a
  // row or null, rest: a sentence or "", download: {name, columns: [[header, (i) => value]]} or null}
  function listView(list, given) {
    const { rows: loaded, columns, fields } = list;
    const state = asked(given, list);
    const view = document.createDocumentFragment();
    const status = n.make("p", { class: "soft status", role: "status" });
    const search = n.make("input", { type: "search", id: "search", value: state.query, autocomplete: "off", spellcheck: "false", placeholder: "names or words" });
    const body = n.make("tbody", { role: "rowgroup" });
    const pager = n.make("nav", { class: "pager", "aria-label": "Pages of the table" });
    const headers = columns.map((column) => header(column, state, sort));
    const table = n.make("table", { class: "rows", role: "table", "aria-label": list.name },
      n.make("thead", { role: "rowgroup" }, n.make("tr", { role: "row" }, ...headers.map((one) => one.cell))), body);
    const bar = filters(list, state, change);
    const known = {};
    let found = [];

    const isNatural = () => state.by === list.natural.by && state.isDown === list.natural.isDown;
    const isFiltered = () => Boolean(state.query.trim()) || fields.some(({ name }) => state[name] !== null);

    // Numbers of the rows that are asked for, in their order.
    function order() {
      const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
      const keeps = list.keeps(state);
      let kept = [];
      if (!keeps && !words.length) kept = Int32Array.from({ length: loaded.rows }, (_, i) => i);
      else for (let i = 0; i < loaded.rows; i++) if ((!keeps || keeps(i)) && words.every((word) => list.lower[i].includes(word))) kept.push(i);
      return isNatural() ? kept : inOrder(kept, placed(columns.find(({ name }) => name === state.by)), state.isDown, loaded.rows);
    }

    // Places of all rows by a column, made again when rows have come.
    function placed({ name, values }) {
      if (known[name]?.size !== loaded.rows) known[name] = { size: loaded.rows, place: places(values(), loaded.rows) };
      return known[name].place;
    }

    function drawRows() {
      const count = isNatural() && !isFiltered() ? loaded.total : found.length; // the others are known when they are loaded
      const pages = Math.max(1, Math.ceil(count / PAGE));
      if (loaded.isComplete() || isNatural()) state.page = Math.min(state.page, pages - 1);
      const first = state.page * PAGE;
      body.replaceChildren(...Array.from(found.slice(first, first + PAGE), (i) => n.make("tr", { role: "row" }, ...columns.map(({ name, label, cell }) =>
        n.make("td", { role: "cell", class: `c-${name}`, "data-label": label }, cell(i))))));
      table.hidden = !body.rows.length && loaded.isComplete();
      for (const one of headers) one.update();
      pager.hidden = pages < 2;
      drawPager(pager, { page: state.page, pages, first, count, go: turn });
    }

    function tell() {
      found = order();
      drawRows();
      const searched = loaded.isComplete() ? n.many(loaded.rows, list.one) : `the first ${n.count(loaded.rows)} of ${n.many(loaded.total, list.one)} so far`;
      status.textContent = [
        isFiltered() ? `${n.count(found.length)} found; searched ${searched}.` : `${n.many(loaded.total, list.one)}.`,
        !isNatural() && !isFiltered() && !loaded.isComplete() ? `Sorted are ${searched}.` : "",
        list.rest,
      ].filter(Boolean).join(" ");
    }

    // What must be there: all of it to filter or to sort by another column, else what the page shows. The rest of a list
    // that is not too long comes when the page has been drawn.
    function update() {
      const place = addressOf(list, state);
      left[list.path] = place;
      n.readdress(place);
      tell();
      const failed = (error) => { status.textContent = error.message; };
      const needed = isFiltered() || !isNatural() ? Infinity : Math.ceil(((state.page + 1) * PAGE) / list.chunk);
      loaded.to(needed, tell).then(() => {
        if (loaded.total <= AHEAD) setTimeout(() => loaded.to(Infinity, tell).catch(failed), LATER);
      }, failed);
    }

    function change(values) {
      Object.assign(state, values, { page: 0 });
      update();
    }

    function sort(column) {
      const isDown = state.by === column.name ? !state.isDown : Boolean(column.isNumber);
      change({ by: column.name, isDown });
      n.say(`Sorted by ${column.label.toLowerCase()}, ${isDown ? "falling" : "rising"}.`);
    }

    function turn(page) {
      state.page = page;
      update();
      table.scrollIntoView({ block: "start" });
      n.say(`Page ${n.count(page + 1)}`);
    }

    async function download(kind) {
      await loaded.to(Infinity, tell);
      n.download(kind, { ...list.download, rows: order() });
    }

    search.addEventListener("input", n.later(() => change({ query: search.value }), 60));
    const button = (kind, label) => n.make("button", { type: "button", "data-download": kind, onclick: () => download(kind) }, label);
    view.append(
      n.make("div", { class: "tools list-tools" },
        n.make("div", { class: "asked" }, n.make("label", { for: "search", class: "search" }, "Search ", search),
          list.download ? n.make("span", { class: "downloads", role: "group", "aria-label": "Download the list as it is filtered" }, button("csv", "Download CSV"), button("xlsx", "Download Excel")) : ""),
        bar, status),
      table, pager);
    update();
    return view;
  }

  // The fields by which a list is filtered: open where there is room for them, or one is set.
  function filters(list, state, change) {
    const names = n.meta.sources?.names ?? [];
    const inputs = [];
    const field = ({ name, label, kind, unit, step }) => {
      const id = `f-${name}`;
      if (kind === "source") {
        const options = [["", "any"], ...names.map((each, i) => [String(i), n.plain(each, 40)])];
        const input = n.make("select", { id, onchange: () => change({ [name]: input.value === "" ? null : Number(input.value) }) },
          ...options.map(([value, text]) => n.make("option", { value, selected: value === String(state[name] ?? "") }, text)));
        inputs.push(input);
        return n.make("label", { for: id }, `${label} `, input);
      }
      const take = n.later(() => change({ [name]: input.value.trim() && Number.isFinite(Number(input.value)) ? Number(input.value) : null }), 60);
      const input = n.make("input", { id, type: "number", min: 0, step: step ?? 1, value: state[name] === null ? undefined : n.exact(state[name]), oninput: take });
      inputs.push(input);
      return n.make("label", { for: id }, `${label} `, input, unit ? ` ${unit}` : "");
    };
    const clear = n.make("button", { type: "button", class: "small", onclick: () => {
      for (const input of inputs) input.value = "";
      change(Object.fromEntries(list.fields.map(({ name }) => [name, null])));
    } }, "Clear filters");
    const isSet = list.fields.some(({ name }) => state[name] !== null);
    return n.make("details", { class: "filters", open: isSet || matchMedia("(min-width: 46.01rem)").matches },
      n.make("summary", {}, "Filters"), n.make("div", { class: "fields" }, ...list.fields.map(field), clear));
  }

  function header(column, state, sort) {
    const { name, label } = column;
    const arrow = n.make("span", { class: "arrow", "aria-hidden": "true" });
    const button = n.make("button", { type: "button", onclick: () => sort(column) }, label, arrow);
    const cell = n.make("th", { scope: "col", role: "columnheader", class: `c-${name}` }, button);
    const update = () => {
      const isThis = state.by === name;
      cell.setAttribute("aria-sort", isThis ? (state.isDown ? "descending" : "ascending") : "none");
      arrow.textContent = isThis ? (state.isDown ? "↓" : "↑") : "";
    };
    return { cell, update };
  }

  function drawPager(pager, { page, pages, first, count, go }) {
    const wasInside = pager.contains(document.activeElement) ? document.activeElement.dataset.to : null;
    const button = (name, to, sign, isOff) =>
      n.make("button", { type: "button", "aria-label": name, disabled: isOff, "data-to": sign, onclick: () => go(to) }, sign);
    pager.replaceChildren(
      button("First page", 0, "«", page === 0), button("Previous page", page - 1, "‹", page === 0),
      n.make("span", { class: "told" }, count ? `${n.count(first + 1)}–${n.count(Math.min(first + PAGE, count))} of ${n.count(count)}` : "none"),
      button("Next page", page + 1, "›", page >= pages - 1), button("Last page", pages - 1, "»", page >= pages - 1));
    if (wasInside) (pager.querySelector(`[data-to="${wasInside}"]:not(:disabled)`) ?? pager.querySelector("button:not(:disabled)"))?.focus();
  }

  Object.assign(n, { listView, listAddress, listPlace, rowsOf, ranks });
})(window.neardup);
