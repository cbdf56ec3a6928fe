// The page of the service: a text in, the similar documents out, with what they share marked.
//
// Behind the scripts that the pages of a report have too: how two texts are shown is there (sides.js).

const { byId, count, make, many, named, points, sideBySide } = window.neardup;

const SHORT = 4000; // units: a text of so many is shown as a whole
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

function aboutHit(query, hit) {
  const marks = hit.marks ?? [];
  if (!marks.length) return "No shared passage.";
  const covered = (spans) => spans.reduce((sum, [start, end]) => sum + end - start, 0);
  const shareOf = (value, spans) => percent(covered(spans) / points(value));
  return `${shareOf(query, hit.query_marks)} of your text stands in it, ${shareOf(hit.text, marks)} of it stands in your text`;
}

function drawHit(query, hit, place) {
  const fill = make("span", { style: { width: `${(hit.similarity ?? 0) * 100}%` } });
  const similarity = hit.similarity === null ? "unchecked" : percent(hit.similarity);
  const summary = make("summary", {},
    make("span", { class: "id-line" }, named(hit.id)),
    make("span", { class: "sim-bar", "aria-hidden": "true" }, fill),
    make("span", { class: "share", title: "Jaccard similarity of the shingles of the two texts" }, similarity),
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
