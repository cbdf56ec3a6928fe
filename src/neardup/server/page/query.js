// A text in, the similar documents out, with what they share marked; and the text into the index.
(function (n) {
  "use strict";

  const { ask, byId, count, explain, make, many, named, percent, points, sideBySide } = n;

  const SHORT = 4000; // units: a text of so many is shown as a whole
  const OPEN_HITS = 3;
  const MOST_FILE = 8 * 1024 * 1024;
  const KINDS = {
    near: { wanted: {}, told: "" },
    nearest: {
      wanted: { nearest: true },
      told: "Below the threshold of the index the bands miss ever more documents: beside each stands how probably one like it is found.",
    },
    exhaustive: {
      wanted: { nearest: true, exhaustive: true },
      told: "All stored texts are read, so that none is missed. This takes longer.",
    },
    containment: {
      wanted: { measure: "containment" },
      told: "How much of the smaller text the larger one has. All stored texts are read, so that none is missed. This takes longer.",
    },
  };

  const form = byId("form");
  const text = byId("text");
  const least = byId("least");
  const kind = byId("kind");
  let info = null;
  let running = null;

  function tell(message, isError = false) {
    const place = byId("message");
    byId("offer").hidden = true;
    place.textContent = message;
    place.classList.toggle("is-error", isError);
  }

  function fail(error) {
    if (error.name === "AbortError") return;
    const message = explain(error);
    byId("results").hidden = true;
    byId("hits").replaceChildren();
    tell(message, true);
  }

  // ---- hits ------------------------------------------------------------------------------------------------------

  const asText = (whole) => ({ characters: points(whole), pieces: whole ? [[0, whole]] : [] });

  function texts(query, hit) {
    const both = [query, hit.text].map(asText);
    const passages = { a: hit.query_marks ?? [], b: hit.marks ?? [], links: hit.links ?? [], back: hit.back_links ?? [] };
    const [a, b] = ["Your text", String(hit.id)].map((id, k) => ({ id, characters: both[k].characters }));
    const isOnlyShared = Math.max(query.length, hit.text.length) > SHORT && passages.a.length > 0;
    const { tools, texts: box } = sideBySide({ a, b, texts: both, pair: { passages }, isOnlyShared });
    return make("div", { class: "found" }, tools, box);
  }

  const PARTS = { query: "Your text is the part.", document: "The document is the part.", both: "Both are equally large." };

  function aboutHit(query, hit) {
    const marks = hit.marks ?? [];
    const part = hit.contained ? `${PARTS[hit.contained]} ` : "";
    const chance = hit.recall !== undefined && hit.recall < 0.9995 ? ` One this similar is found with ${percent(hit.recall)}.` : "";
    if (!marks.length) return `${part}No shared passage.${chance}`;
    const covered = (spans) => spans.reduce((sum, [start, end]) => sum + end - start, 0);
    const shareOf = (value, spans) => percent(covered(spans) / points(value));
    return `${part}${shareOf(query, hit.query_marks)} of your text stands in it, ${shareOf(hit.text, marks)} of it stands in your text.${chance}`;
  }

  function drawHit(query, hit, place) {
    const fill = make("span", { style: { width: `${(hit.similarity ?? 0) * 100}%` } });
    const measure = hit.contained ? "Containment: the share of the smaller text's shingles that the larger one has"
      : "Jaccard similarity of the shingles of the two texts";
    const summary = make("summary", {},
      make("span", { class: "id-line" }, named(hit.id)),
      make("span", { class: "sim-bar", "aria-hidden": "true" }, fill),
      make("span", { class: "share", title: measure }, percent(hit.similarity)),
      make("span", { class: "about" }, aboutHit(query, hit)),
    );
    const details = make("details", {}, summary);
    let isDrawn = false;
    details.addEventListener("toggle", () => {
      if (details.open && !isDrawn) {
        isDrawn = true;
        details.append(texts(query, hit));
      }
    });
    details.open = place < OPEN_HITS;
    return make("li", { class: "hit" }, details);
  }

  // The line between what reaches the threshold of the index and what does not.
  function divide(isAll) {
    const missed = isAll ? "All documents were read: none is missed." : "The bands miss some of the documents here.";
    return make("li", { class: "divide" },
      make("h2", {}, `Below the threshold of the index, ${percent(info.threshold)}`), make("p", { class: "soft" }, missed));
  }

  function drawHits(query, hits, { threshold, nearest, exhaustive, measure }) {
    byId("results").hidden = hits.length === 0;
    const items = hits.map((hit, place) => drawHit(query, hit, place));
    const near = nearest ? hits.filter((hit) => hit.similarity >= info.threshold).length : hits.length;
    if (near < hits.length) items.splice(near, 0, divide(exhaustive));
    byId("hits").replaceChildren(...items);
    if (hits.length === 0) {
      const least = threshold === undefined ? "at all" : `at least ${percent(threshold)}`;
      if (measure === "containment") tell(`No document contains ${least} of this text, or is part of it so.`);
      else tell(`No document of the index is ${least} similar to this text.`);
      byId("offer").hidden = nearest === true || measure === "containment";
      return;
    }
    const below = hits.length - near;
    const first = ` The first is ${percent(hits[0].similarity)} ${measure === "containment" ? "contained" : "similar"}.`;
    if (measure === "containment") tell(`${many(hits.length, "document contains it or is part of it", "documents contain it or are part of it")}.${first}`);
    else if (nearest) tell(`${many(near, "similar document")}, and ${count(below)} below the threshold.${first}`);
    else tell(`${many(hits.length, "similar document")}.${first}`);
  }

  // ---- what is wanted --------------------------------------------------------------------------------------------

  // The least similarity, if any is asked for.
  function threshold() {
    const value = Number(least.value) / 100;
    if (kind.value === "near") return Math.max(info?.threshold ?? 0, value);
    return value > 0 ? value : undefined;
  }

  function tellThreshold() {
    const told = threshold() === undefined ? "any" : percent(threshold());
    byId("least-told").value = told;
    least.setAttribute("aria-valuetext", told);
  }

  // The slider as the kind of search has it.
  function setKind() {
    const from = Math.floor((info?.threshold ?? 0.8) * 100 + 1e-9);
    least.min = kind.value === "near" ? from : kind.value === "containment" ? 1 : 0;
    least.value = kind.value === "near" || kind.value === "containment" ? from : 0;
    byId("kind-told").textContent = KINDS[kind.value].told;
    tellThreshold();
  }

  async function readInfo() {
    const isFirst = info === null;
    info = await ask("info");
    if (isFirst) setKind();
    byId("add-box").hidden = info.read_only !== false;
    byId("index").textContent = [
      many(info.documents, "document"),
      `similar from ${percent(info.threshold)} on`,
      `shingles ${info.shingle}`,
      `normalised by ${info.normalize}`,
    ].join(" · ");
    return info;
  }

  // What UTF-8 cannot say becomes U+FFFD here and there alike, so that places agree.
  const pasted = () => new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(text.value));

  async function search() {
    const query = pasted();
    if (!query) {
      tell("Paste a text first.", true);
      text.focus();
      return;
    }
    running?.abort();
    const mine = (running = new AbortController());
    const top = Math.min(1000, Math.max(1, Math.floor(Number(byId("top").value)) || 10));
    byId("top").value = top;
    tell("Searching…");
    byId("go").setAttribute("aria-disabled", "true");
    try {
      if (!info) await readInfo();
      const wanted = { text: query, top, threshold: threshold(), ...KINDS[kind.value].wanted };
      const answer = await ask("query", { body: JSON.stringify({ ...wanted, with_text: true, passages: true }), signal: mine.signal });
      drawHits(query, answer.hits, wanted);
      byId("message").scrollIntoView({ block: "nearest" });
    } catch (error) {
      fail(error);
    } finally {
      if (running === mine) byId("go").removeAttribute("aria-disabled");
    }
  }

  // Look for what is like a document of the index, which is among the answers itself.
  function searchFor(value) {
    text.value = value;
    location.hash = "#/query";
    search();
  }

  // ---- adding ----------------------------------------------------------------------------------------------------

  async function add() {
    const place = byId("added");
    const say = (message, isError = false) => {
      place.textContent = message;
      place.classList.toggle("is-error", isError);
    };
    const id = byId("add-id").value;
    if (!pasted() || !id) {
      say(id ? "Paste a text first." : "Give the document an id.", true);
      (id ? text : byId("add-id")).focus();
      return;
    }
    say("Adding…");
    try {
      const path = byId("add-new").checked ? "documents?if_new=true" : "documents";
      const told = await ask(path, { body: JSON.stringify({ id, text: pasted() }) });
      if (told.status === "near-duplicate") say(`Not added: it is ${percent(told.match.similarity)} similar to ${told.match.id}.`);
      else say(`Added as ${told.id}.`);
      await readInfo();
    } catch (error) {
      say(explain(error), true);
    }
  }

  async function readFile(file) {
    if (!file) return;
    if (file.size > MOST_FILE) {
      tell(`The file ${file.name} has ${count(file.size)} bytes; ${count(MOST_FILE)} can be read here.`, true);
      return;
    }
    try {
      text.value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      if (!byId("add-id").value) byId("add-id").value = file.name;
      tell(`Read ${file.name}. Press Search.`);
    } catch {
      tell(`The file ${file.name} is not text in UTF-8.`, true);
    }
  }

  // ---- what people do --------------------------------------------------------------------------------------------

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  byId("add").addEventListener("submit", (event) => {
    event.preventDefault();
    add();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      search();
    }
  });
  least.addEventListener("input", tellThreshold);
  kind.addEventListener("change", setKind);
  byId("to-nearest").addEventListener("click", () => {
    kind.value = "nearest";
    setKind();
    search();
    byId("go").focus();
  });
  byId("file").addEventListener("change", (event) => {
    readFile(event.target.files[0]);
    event.target.value = "";
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files") || byId("query-view").hidden) return;
      event.preventDefault();
      byId("paste").classList.toggle("is-dropping", name === "dragover");
      if (name === "drop") readFile(event.dataTransfer.files[0]);
    });
  }
  window.addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll(".hit details")) details.open = true;
  });

  Object.assign(n, { query: { fail, readInfo, searchFor, tell } });
})(window.neardup);
