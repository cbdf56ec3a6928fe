// The page of the service: a text in, the similar documents out, with what they share marked.
//
// Behind the scripts that the pages of a report have too (dom.js, text.js): what makes elements, shows texts as they are
// and counts their code points is there.

const { appendText, byId, colour, count, make, many, named, points, snap, strip } = window.neardup;

const SHORT = 4000; // units: a text of so many is shown as a whole
const LARGE = 200_000; // units: of a text of more, all is shown only after a step between, for it takes seconds
// How much of a longer text is shown, by steps: units on either side of a passage and at its ends, and passages.
const STEPS = [
  { around: 250, most: 200 },
  { around: 5000, most: 500 },
  { around: Infinity, most: Infinity },
];
const ALL = STEPS.length - 1;
const OPEN_HITS = 3;
const MOST_FILE = 8 * 1024 * 1024;

const form = byId("form");
const text = byId("text");
const least = byId("least");
const token = byId("token");

let indexThreshold = 0;
let running = null;

// ---- small parts -----------------------------------------------------------------------------------------------

// Cut, not rounded: what is not the same is never called 100%. The first product of a decimal may lie just below it.
function percent(share) {
  return `${String(Math.floor(share * 1000 + 1e-9) / 10)}%`;
}

function tell(message, isError = false) {
  const place = byId("message");
  place.textContent = message;
  place.classList.toggle("is-error", isError);
}

// ---- places ----------------------------------------------------------------------------------------------------

// Spans of code points, rising, as spans of UTF-16 units.
function toUnits(whole, spans) {
  const places = window.neardup.toUnits(whole, spans.flat());
  return spans.map((_, i) => [places[2 * i], places[2 * i + 1]]);
}

function covered(spans) {
  return spans.reduce((sum, [start, end]) => sum + end - start, 0);
}

// ---- one text with its marks -----------------------------------------------------------------------------------

class Pane {
  // name: begins the ids of the marks; spans in units; colours: one for each span.
  constructor(whole, spans, { name, label, colours }) {
    this.whole = whole;
    this.spans = spans;
    this.name = name;
    this.colours = colours;
    this.isLong = whole.length > SHORT;
    this.step = this.isLong ? 0 : ALL;
    this.first = 0; // of the passages that are shown
    this.marks = [];
    this.other = null;
    this.partners = [];
    this.box = make("div", {
      class: "text", dir: "auto", role: "group", tabindex: 0, "aria-label": label,
      onclick: (event) => this.clicked(event), onkeydown: (event) => this.moved(event),
    });
  }

  // What is shown: [start, end, span or -1, is it a gap].
  pieces() {
    const { around, most } = STEPS[this.step];
    const pieces = [];
    const cut = (start, end, mark, before, behind) => {
      if (start === end) return;
      const from = before ? snap(this.whole, Math.min(end, start + around)) : start;
      const to = behind ? snap(this.whole, Math.max(start, end - around)) : end;
      if (this.step === ALL || to - from < around) {
        pieces.push([start, end, mark, false]);
        return;
      }
      if (from > start) pieces.push([start, from, mark, false]);
      pieces.push([from, to, mark, true]);
      if (to < end) pieces.push([to, end, mark, false]);
    };
    const last = Math.min(this.spans.length, this.first + most);
    let place = 0;
    for (let i = this.step === ALL ? 0 : this.first; i < last; i++) {
      const [start, end] = this.spans[i];
      cut(place, start, -1, place > 0, true);
      cut(start, end, i, true, true);
      place = end;
    }
    cut(place, this.whole.length, -1, true, false);
    return pieces;
  }

  render(step = this.step) {
    this.step = this.isLong ? step : ALL;
    this.marks = this.spans.map(() => []);
    const drawn = document.createDocumentFragment();
    for (const [start, end, mark, isGap] of this.pieces()) {
      if (isGap) drawn.append(this.gap(points(this.whole, start, end)));
      else if (mark < 0) appendText(drawn, this.whole, start, end);
      else drawn.append(this.mark(mark, start, end));
    }
    this.box.replaceChildren(drawn);
    const first = this.marks.find((parts) => parts.length);
    if (first) first[0].tabIndex = 0;
  }

  // The step after this one: back to the first after the last.
  next() {
    if (this.step === 0) return this.whole.length > LARGE ? 1 : ALL;
    return this.step === ALL ? 0 : ALL;
  }

  gap(length) {
    return make("button", {
      type: "button", class: "gap", "aria-label": `${many(length, "character is", "characters are")} not shown. Show more.`,
      onclick: () => {
        this.render(this.next());
        this.box.focus();
      },
    }, `… ${many(length, "character")} …`);
  }

  mark(i, start, end) {
    const part = make("a", {
      class: `mark ${colour(this.colours[i])}`, id: this.marks[i].length ? null : `${this.name}${i}`, tabindex: -1, "data-mark": i,
      href: `#${this.other.name}${this.partners[i]}`, title: `passage ${i + 1} of ${this.spans.length}: see it in the other text`,
    });
    appendText(part, this.whole, start, end);
    this.marks[i].push(part);
    return part;
  }

  // The parts of a mark, drawn now if they were left out.
  reveal(i) {
    if (!this.marks[i].length) {
      this.first = Math.max(0, i - Math.floor(STEPS[this.step].most / 2));
      this.render();
    }
    return this.marks[i];
  }

  focus(i) {
    for (const parts of this.marks) if (parts.length) parts[0].tabIndex = -1;
    const parts = this.reveal(i);
    parts[0].tabIndex = 0;
    parts[0].focus({ preventScroll: true });
    parts[0].scrollIntoView({ block: "center", inline: "nearest" });
    return parts;
  }

  clicked(event) {
    const part = event.target.closest(".mark");
    if (!part) return;
    event.preventDefault();
    for (const old of document.querySelectorAll(".is-partner")) old.classList.remove("is-partner");
    const parts = this.other.focus(this.partners[Number(part.dataset.mark)]);
    void this.box.offsetWidth; // so that the flash begins anew when the same passage is asked for again
    for (const one of parts) one.classList.add("is-partner");
  }

  moved(event) {
    const part = event.target.closest(".mark");
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!part || !step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const i = Number(part.dataset.mark) + step;
    if (i in this.spans) this.focus(i);
  }
}

// ---- hits ------------------------------------------------------------------------------------------------------

function texts(query, hit, place) {
  const queryUnits = toUnits(query, hit.query_marks ?? []);
  const hitUnits = toUnits(hit.text, hit.marks ?? []);
  const [there, back] = [hit.links ?? [], hit.back_links ?? []];
  const left = new Pane(query, queryUnits, {
    name: `q${place}-`, label: "Your text, shared passages marked", colours: there,
  });
  const right = new Pane(hit.text, hitUnits, {
    name: `d${place}-`, label: "The document, shared passages marked", colours: hitUnits.map((_, j) => j),
  });
  [left.other, left.partners, right.other, right.partners] = [right, there, left, back];
  const where = (pane) => strip(pane.spans, pane.whole.length, pane.colours, { class: "strip", "aria-hidden": "true" });
  const side = (title, pane) => make("div", { class: "side" }, title, where(pane), pane.box);
  const box = make("div", {}, make("div", { class: "texts" },
    side(make("h3", {}, "Your text"), left),
    side(make("h3", {}, "Document ", named(hit.id)), right),
  ));
  if (left.isLong || right.isLong) box.append(steps([left, right]));
  for (const pane of [left, right]) pane.render();
  return box;
}

function steps(panes) {
  const names = ["Show the passages only", "Show more of both texts", "Show all of both texts"];
  const next = () => Math.max(...panes.filter((pane) => pane.isLong).map((pane) => pane.next()));
  const button = make("button", {
    type: "button",
    onclick: () => {
      const step = next();
      for (const pane of panes) pane.render(step);
      button.textContent = names[next()];
    },
  }, names[next()]);
  return make("div", { class: "more" }, button);
}

function aboutHit(query, hit) {
  const marks = hit.marks ?? [];
  if (!marks.length) return "No shared passage.";
  const shareOf = (value, spans) => percent(covered(spans) / points(value));
  const shares = `${shareOf(query, hit.query_marks)} of your text, ${shareOf(hit.text, marks)} of the document`;
  return `${many(Math.max(marks.length, hit.query_marks.length), "shared passage")}: ${shares}`;
}

function drawHit(query, hit, place) {
  const fill = make("span", { style: { width: `${(hit.similarity ?? 0) * 100}%` } });
  const similarity = hit.similarity === null ? "unchecked" : percent(hit.similarity);
  const summary = make("summary", {},
    make("span", { class: "id-line" }, named(hit.id)),
    make("span", { class: "bar", "aria-hidden": "true" }, fill),
    make("span", { class: "share", title: "Jaccard similarity of the shingles of the two texts" }, similarity),
    make("span", { class: "about" }, aboutHit(query, hit)),
  );
  const details = make("details", {}, summary);
  let isDrawn = false;
  details.addEventListener("toggle", () => {
    if (details.open && !isDrawn) {
      isDrawn = true;
      details.append(texts(query, hit, place));
    }
  });
  details.open = place < OPEN_HITS;
  return make("li", { class: "hit" }, details);
}

function drawHits(query, hits, threshold) {
  byId("results").hidden = hits.length === 0;
  byId("hits").replaceChildren(...hits.map((hit, place) => drawHit(query, hit, place)));
  if (hits.length === 0) {
    tell(`No document of the index is at least ${percent(threshold)} similar to this text.`);
    return;
  }
  const best = hits[0].similarity === null ? "" : ` The first is ${percent(hits[0].similarity)} similar.`;
  tell(`${many(hits.length, "similar document")}.${best}`);
}

// ---- the service -----------------------------------------------------------------------------------------------

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, { body, signal } = {}) {
  const headers = {};
  if (body) headers["Content-Type"] = "application/json";
  if (token.value) headers.Authorization = `Bearer ${token.value.trim()}`;
  let answer;
  try {
    answer = await fetch(path, { method: body ? "POST" : "GET", body, headers, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error instanceof TypeError && /[^\x20-\x7e]/.test(token.value)) {
      throw new Refused(401, "A token is made of plain ASCII characters.");
    }
    throw new Refused(0, "The service cannot be reached. See that it is running, then search again.");
  }
  const value = await answer.json().catch(() => null);
  if (answer.ok && value) return value;
  throw new Refused(answer.status, refusal(answer, value));
}

function refusal(answer, value) {
  const said = value && typeof value.error === "string" ? value.error : "";
  if (answer.status === 401) {
    return token.value ? "The service does not take this token." : "The service asks for a token. Type it in below the text.";
  }
  if (answer.status === 413) return `The text is too long for the service. ${said}`;
  if (answer.status === 503) return "The service is busy. Search again in a few seconds.";
  return said ? `The service says: ${said}` : `The service answered with status ${answer.status} and no reason.`;
}

function fail(error) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Refused)) throw error;
  byId("results").hidden = true;
  byId("hits").replaceChildren();
  tell(error.message, true);
  if (error.status === 401) {
    byId("token-box").open = true;
    token.focus();
  }
}

function threshold() {
  return Math.max(indexThreshold, Number(least.value) / 100);
}

function tellThreshold() {
  byId("least-told").value = percent(threshold());
  least.setAttribute("aria-valuetext", percent(threshold()));
}

async function readInfo() {
  const info = await ask("info");
  indexThreshold = info.threshold;
  least.min = Math.floor(indexThreshold * 100 + 1e-9);
  least.value = least.min;
  tellThreshold();
  byId("index").textContent = [
    many(info.documents, "document"),
    `similar from ${percent(info.threshold)} on`,
    `shingles ${info.shingle}`,
    `normalised by ${info.normalize}`,
  ].join(" · ");
}

async function search() {
  // What UTF-8 cannot say becomes U+FFFD here and there alike, so that places agree.
  const query = new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(text.value));
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
    if (!byId("index").textContent) await readInfo();
    const wanted = { text: query, top, threshold: threshold(), with_text: true, passages: true };
    const answer = await ask("query", { body: JSON.stringify(wanted), signal: mine.signal });
    drawHits(query, answer.hits, wanted.threshold);
    byId("message").scrollIntoView({ block: "nearest" });
  } catch (error) {
    fail(error);
  } finally {
    if (running === mine) byId("go").removeAttribute("aria-disabled");
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
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    search();
  }
});
least.addEventListener("input", tellThreshold);
token.addEventListener("change", () => readInfo().then(() => tell(""), fail));
byId("file").addEventListener("change", (event) => {
  readFile(event.target.files[0]);
  event.target.value = "";
});
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    byId("paste").classList.toggle("is-dropping", name === "dragover");
    if (name === "drop") readFile(event.dataTransfer.files[0]);
  });
}
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll(".hit details")) details.open = true;
});

readInfo().catch(fail);
