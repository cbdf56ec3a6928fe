// The page of the service: a text in, the similar documents out, with what they share marked.
//
// Texts come from anywhere, so nothing here reads them as markup: they become text nodes, and characters that would
// not be seen, or would turn the direction of what follows, are shown by name. Places in an answer count code points;
// a string of JavaScript counts UTF-16 units: `toUnits` is the one place where the two meet.

const COLOURS = 6;
const SHORT = 4000; // units: a text of so many is shown as a whole
const LARGE = 200_000; // units: of a text of more, all is shown only after a step between, for it takes seconds
// How much of a longer text is shown, by steps: units on either side of a passage and at its ends, and passages.
const STEPS = [
  { around: 250, most: 200 },
  { around: 5000, most: 500 },
  { around: Infinity, most: Infinity },
];
const ALL = STEPS.length - 1;
const NEAR = 24;
const MOST_OWNERS = 8;
const OPEN_HITS = 3;
const MOST_FILE = 8 * 1024 * 1024;
const STRIP = 1000; // width of a strip, in its own units

const byId = (id) => document.getElementById(id);
const form = byId("form");
const text = byId("text");
const least = byId("least");
const token = byId("token");
const count = new Intl.NumberFormat("en");

let indexThreshold = 0;
let running = null;

// ---- small parts -----------------------------------------------------------------------------------------------

function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

function many(n, one, more) {
  return `${count.format(n)} ${n === 1 ? one : more}`;
}

// Cut, not rounded: what is not the same is never called 100%. The first product of a decimal may lie just below it.
function percent(share) {
  return `${String(Math.floor(share * 1000 + 1e-9) / 10)}%`;
}

function tell(message, isError = false) {
  const place = byId("message");
  place.textContent = message;
  place.classList.toggle("is-error", isError);
}

// ---- characters that are not seen ------------------------------------------------------------------------------

const UNSEEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]/u;
const UNSEEN_RUNS = new RegExp(`(${UNSEEN.source})\\1*`, "gu");
const C0 = "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US";
const NAMES = {
  ...Object.fromEntries(C0.split(" ").entries()),
  0x7f: "DEL", 0x85: "NEL", 0xad: "SHY", 0x34f: "CGJ", 0x61c: "ALM", 0x200b: "ZWSP", 0x200c: "ZWNJ", 0x200d: "ZWJ",
  0x200e: "LRM", 0x200f: "RLM", 0x2028: "LS", 0x2029: "PS", 0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF", 0x202d: "LRO",
  0x202e: "RLO", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
};
// Behind these a joiner shapes what is seen: emoji of several parts, Indic conjuncts, Persian. Anchored at both ends:
// V8 does not find a class with characters beyond U+FFFF when only the end is.
const SHAPED =
  /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\p{Mn}\p{Mc}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}]$/u;

function codeOf(point) {
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}

function charBefore(whole, place) {
  return Array.from(whole.slice(Math.max(0, place - 2), place)).at(-1) ?? "";
}

// Append whole[start:end] to a parent, with what is not seen by name.
function appendText(parent, whole, start, end) {
  const part = whole.slice(start, end);
  let from = 0;
  for (const found of part.matchAll(UNSEEN_RUNS)) {
    const [run, char] = found;
    const at = start + found.index;
    const isJoiner = char === "\u200c" || char === "\u200d";
    if (isJoiner && run === char && SHAPED.test(charBefore(whole, at))) continue;
    const isLineEnd = run === "\r" && whole[at + 1] === "\n";
    parent.append(part.slice(from, found.index));
    from = found.index + run.length;
    if (isLineEnd) continue;
    const point = char.codePointAt(0);
    const times = run.length / char.length;
    const name = (NAMES[point] ?? codeOf(point)) + (times > 1 ? ` ×${count.format(times)}` : "");
    const title = `${codeOf(point)}, not seen by itself`;
    parent.append(make("span", { className: "hidden", title, "data-name": name }));
  }
  parent.append(part.slice(from));
}

// ---- places ----------------------------------------------------------------------------------------------------

// Spans of code points, rising, as spans of UTF-16 units. One pass.
function toUnits(whole, spans) {
  let point = 0;
  let unit = 0;
  const seek = (target) => {
    for (; point < target && unit < whole.length; point++) unit += whole.codePointAt(unit) > 0xffff ? 2 : 1;
    return unit;
  };
  return spans.map(([start, end]) => [seek(start), seek(end)]);
}

// The code points between two places in units.
function points(whole, start, end) {
  return whole.slice(start, end).replace(/[\udc00-\udfff]/g, "").length;
}

// The next place where a text may be cut in two: behind a space if one is near, and never inside a character.
function snap(whole, place) {
  const space = whole.slice(place, place + NEAR).search(/\s/);
  if (space >= 0) place += space + 1;
  while (place < whole.length && /^[\udc00-\udfff\p{M}\u200d\ufe0f]/u.test(whole.slice(place, place + 2))) place++;
  return place;
}

function covered(spans) {
  return spans.reduce((sum, [start, end]) => sum + end - start, 0);
}

// For each span the span of the other text that has most in common with it: every run of five characters has one vote,
// shared by all that have it; in large texts, where the one of the same rank lies. Only for what the answer leaves open.
function guess(whole, spans, otherWhole, otherSpans) {
  const ranked = (i) => Math.min(otherSpans.length - 1, Math.floor((i * otherSpans.length) / spans.length));
  if (whole.length + otherWhole.length > LARGE) return spans.map((_, i) => ranked(i));
  const plain = ([start, end], from) => from.slice(start, end).normalize("NFKC").toLowerCase().replace(/[\s\p{P}]+/gu, "");
  const grams = (value) => {
    const size = Math.min(5, value.length);
    return Array.from({ length: value.length - size + 1 }, (_, i) => value.slice(i, i + size));
  };
  const owners = new Map();
  otherSpans.forEach((span, j) => {
    for (const gram of grams(plain(span, otherWhole))) {
      const known = owners.get(gram);
      if (!known) owners.set(gram, [j]);
      else if (known.at(-1) !== j && known.length < MOST_OWNERS) known.push(j);
    }
  });
  return spans.map((span, i) => {
    const votes = new Map();
    for (const gram of grams(plain(span, whole))) {
      const known = owners.get(gram) ?? [];
      for (const j of known) votes.set(j, (votes.get(j) ?? 0) + 1 / known.length);
    }
    const best = [...votes].sort((x, y) => y[1] - x[1] || x[0] - y[0])[0];
    return best ? best[0] : ranked(i);
  });
}

// Partners of the passages of the text that was asked about, and of those of the hit.
function partners(query, queryUnits, hit, hitUnits) {
  const given = (links, from, to) => Array.isArray(links) && links.length === from.length && links.every((j) => j in to);
  const there = given(hit.links, queryUnits, hitUnits) ? hit.links : guess(query, queryUnits, hit.text, hitUnits);
  if (given(hit.back_links, hitUnits, queryUnits)) return [there, hit.back_links];
  const back = hitUnits.map(() => -1);
  there.forEach((j, i) => { if (back[j] < 0) back[j] = i; });
  if (!back.includes(-1)) return [there, back];
  const guessed = guess(hit.text, hitUnits, query, queryUnits);
  return [there, back.map((i, j) => (i < 0 ? guessed[j] : i))];
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
    this.box = make("div", { className: "text", dir: "auto", role: "group", tabIndex: 0, "aria-label": label });
    this.box.addEventListener("click", (event) => this.clicked(event));
    this.box.addEventListener("keydown", (event) => this.moved(event));
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
    const button = make("button", { type: "button", className: "gap" }, `… ${many(length, "character", "characters")} …`);
    button.setAttribute("aria-label", `${many(length, "character is", "characters are")} not shown. Show more.`);
    button.addEventListener("click", () => {
      this.render(this.next());
      this.box.focus();
    });
    return button;
  }

  mark(i, start, end) {
    const part = make("a", { className: `mark k${this.colours[i]}`, tabIndex: -1 });
    part.dataset.mark = i;
    part.href = `#${this.other.name}${this.partners[i]}`;
    part.title = `passage ${i + 1} of ${this.spans.length}: see it in the other text`;
    if (!this.marks[i].length) part.id = `${this.name}${i}`;
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

  // Where in the text the passages lie, as a strip.
  strip() {
    const space = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(space, "svg");
    picture.setAttribute("class", "strip");
    picture.setAttribute("viewBox", `0 0 ${STRIP} 1`);
    picture.setAttribute("preserveAspectRatio", "none");
    picture.setAttribute("aria-hidden", "true");
    const scale = STRIP / Math.max(1, this.whole.length);
    let drawn = -1;
    this.spans.forEach(([start, end], i) => {
      if (end * scale < drawn) return; // thinner than what is seen: a text may have thousands
      drawn = Math.max(end * scale, start * scale + 1);
      const bar = document.createElementNS(space, "rect");
      bar.setAttribute("x", start * scale);
      bar.setAttribute("width", Math.max(1, (end - start) * scale));
      bar.setAttribute("height", 1);
      bar.setAttribute("class", `k${this.colours[i]}`);
      picture.append(bar);
    });
    return picture;
  }
}

// ---- hits ------------------------------------------------------------------------------------------------------

function texts(query, hit, place) {
  const queryUnits = toUnits(query, hit.query_marks ?? []);
  const hitUnits = toUnits(hit.text, hit.marks ?? []);
  const [there, back] = hitUnits.length ? partners(query, queryUnits, hit, hitUnits) : [[], []];
  const left = new Pane(query, queryUnits, {
    name: `q${place}-`, label: "Your text, shared passages marked", colours: there.map((j) => j % COLOURS),
  });
  const right = new Pane(hit.text, hitUnits, {
    name: `d${place}-`, label: "The document, shared passages marked", colours: hitUnits.map((_, j) => j % COLOURS),
  });
  [left.other, left.partners, right.other, right.partners] = [right, there, left, back];
  const side = (title, pane) => make("div", { className: "side" }, title, pane.strip(), pane.box);
  const box = make("div", {}, make("div", { className: "texts" },
    side(make("h3", {}, "Your text"), left),
    side(make("h3", {}, "Document ", idOf(hit)), right),
  ));
  if (left.isLong || right.isLong) box.append(steps([left, right]));
  for (const pane of [left, right]) pane.render();
  return box;
}

function steps(panes) {
  const names = ["Show the passages only", "Show more of both texts", "Show all of both texts"];
  const next = () => Math.max(...panes.filter((pane) => pane.isLong).map((pane) => pane.next()));
  const button = make("button", { type: "button" }, names[next()]);
  button.addEventListener("click", () => {
    const step = next();
    for (const pane of panes) pane.render(step);
    button.textContent = names[next()];
  });
  return make("div", { className: "more" }, button);
}

function idOf(hit) {
  const id = make("bdi", { className: "id" });
  const value = String(hit.id);
  appendText(id, value, 0, value.length);
  return id;
}

function aboutHit(query, hit) {
  const marks = hit.marks ?? [];
  if (!marks.length) return "No shared passage.";
  const shareOf = (value, spans) => percent(covered(spans) / points(value, 0, value.length));
  const shares = `${shareOf(query, hit.query_marks)} of your text, ${shareOf(hit.text, marks)} of the document`;
  return `${many(Math.max(marks.length, hit.query_marks.length), "shared passage", "shared passages")}: ${shares}`;
}

function drawHit(query, hit, place) {
  const fill = make("span");
  fill.style.width = `${(hit.similarity ?? 0) * 100}%`;
  const similarity = hit.similarity === null ? "unchecked" : percent(hit.similarity);
  const summary = make("summary", {},
    make("span", { className: "id-line" }, idOf(hit)),
    make("span", { className: "bar", "aria-hidden": "true" }, fill),
    make("span", { className: "share", title: "Jaccard similarity of the shingles of the two texts" }, similarity),
    make("span", { className: "about" }, aboutHit(query, hit)),
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
  return make("li", { className: "hit" }, details);
}

function drawHits(query, hits, threshold) {
  byId("results").hidden = hits.length === 0;
  byId("hits").replaceChildren(...hits.map((hit, place) => drawHit(query, hit, place)));
  if (hits.length === 0) {
    tell(`No document of the index is at least ${percent(threshold)} similar to this text.`);
    return;
  }
  const best = hits[0].similarity === null ? "" : ` The first is ${percent(hits[0].similarity)} similar.`;
  tell(`${many(hits.length, "similar document", "similar documents")}.${best}`);
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
    many(info.documents, "document", "documents"),
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
    tell(`The file ${file.name} has ${count.format(file.size)} bytes; ${count.format(MOST_FILE)} can be read here.`, true);
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
