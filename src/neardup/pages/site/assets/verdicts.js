// What graders decide about pairs: copied, allowed, unclear, not copied, and a note. What this reader decides is kept in
// the browser and can be exported as a file, which the next report takes with --verdicts.
(function (n) {
  "use strict";

  const VERDICTS = ["copied", "allowed", "unclear", "not copied"];
  const FIELDS = ["a", "b", "a_text", "b_text", "grader", "verdict", "note", "at"];
  const GRADER = "neardup grader";
  const FILE = "verdicts.json";
  let known = null; // by pair and grader, the newest of each
  let isKept = true; // whether the browser takes what is to be kept

  const place = () => `neardup verdicts ${n.meta.title}`;
  const key = (a, b, grader) => JSON.stringify([a, b, grader]);

  function kept(name) {
    try {
      return window.localStorage.getItem(name);
    } catch {
      isKept = false;
      return null;
    }
  }

  function keep(name, value) {
    try {
      window.localStorage.setItem(name, value);
    } catch {
      isKept = false;
    }
  }

  function own() {
    try {
      const found = JSON.parse(kept(place()) ?? "[]");
      return Array.isArray(found) ? found.filter((one) => FIELDS.every((name) => typeof one?.[name] === "string") && VERDICTS.includes(one.verdict)) : [];
    } catch {
      return []; // another program's
    }
  }

  function add(one) {
    const at = key(one.a, one.b, one.grader);
    const before = known.get(at);
    if (!before || before.at <= one.at) known.set(at, one);
  }

  function open() {
    if (known) return;
    known = new Map();
    for (const one of [...n.meta.verdicts, ...own()]) add(one);
  }

  // A pair as verdicts name it: ids in order, each with the hash of its text.
  function named(a, b) {
    const [one, other] = a.id <= b.id ? [a, b] : [b, a];
    return { a: one.id, b: other.id, a_text: one.hash, b_text: other.hash };
  }

  // What graders said of two documents {id, hash}, with `isChanged`: a text is not the one that was judged.
  function verdictsOf(a, b) {
    open();
    const pair = named(a, b);
    return [...known.values()].filter((one) => one.a === pair.a && one.b === pair.b)
      .map((one) => ({ ...one, isChanged: one.a_text !== pair.a_text || one.b_text !== pair.b_text }))
      .sort((x, y) => (x.grader < y.grader ? -1 : 1));
  }

  const isSplit = (found) => new Set(found.map(({ verdict }) => verdict)).size > 1;
  const who = (grader) => grader || "no name";

  // The verdicts on a pair in one line, for lists.
  function verdictText(a, b) {
    const found = verdictsOf(a, b);
    if (!found.length) return "";
    const told = isSplit(found) ? `graders disagree: ${found.map((one) => `${one.verdict} (${who(one.grader)})`).join(", ")}` : found[0].verdict;
    return found.some(({ isChanged }) => isChanged) ? `${told}; text has changed since` : told;
  }

  function set(pair, values) {
    const grader = kept(GRADER) ?? "";
    const at = key(pair.a, pair.b, grader);
    const mine = own().filter((one) => key(one.a, one.b, one.grader) !== at);
    const made = { ...pair, grader, ...values, at: new Date().toISOString() };
    keep(place(), JSON.stringify([...mine, made]));
    add(made);
  }

  // Who gives a name after the first verdicts means those too.
  function sign(grader) {
    keep(place(), JSON.stringify(own().map((one) => ({ ...one, grader: one.grader || grader }))));
    known = null;
  }

  // The box on the page of a pair.
  function verdictBox(a, b) {
    const pair = named(a, b);
    const others = n.make("div", {});
    const status = n.make("p", { class: "soft status", role: "status" });
    const note = n.make("input", { type: "text", id: "verdict-note", autocomplete: "off" });
    const name = n.make("input", { type: "text", id: "grader", autocomplete: "off", value: kept(GRADER) ?? "" });
    const choices = VERDICTS.map((verdict, i) => n.make("input", { type: "radio", name: "verdict", id: `verdict-${i}`, value: verdict }));

    const mine = () => verdictsOf(a, b).find(({ grader }) => grader === (kept(GRADER) ?? name.value));

    function show() {
      const found = verdictsOf(a, b);
      const one = mine();
      for (const choice of choices) choice.checked = choice.value === one?.verdict;
      note.value = one?.note ?? "";
      others.replaceChildren(...(found.length ? [n.make("ul", { class: "limits" }, ...found.map(line))] : []));
      if (isSplit(found)) others.prepend(n.make("p", { class: "note is-warning" }, "The graders disagree about this pair."));
      status.textContent = isKept ? "" : "This browser keeps nothing of this page: export the verdicts before you close it.";
    }

    function line(one) {
      const about = [one.verdict, one.note, one.isChanged ? "a text has changed since the verdict" : "", one.at.slice(0, 10)].filter(Boolean);
      return n.make("li", {}, n.appendText(n.make("bdi", {}), `${who(one.grader)}: ${about.join("; ")}`));
    }

    function save() {
      const chosen = choices.find((choice) => choice.checked);
      if (!chosen) {
        status.textContent = note.value.trim() ? "Choose a verdict: the note is kept with it." : "";
        return;
      }
      set(pair, { verdict: chosen.value, note: note.value.trim() });
      show();
      status.textContent ||= "Kept in this browser.";
    }

    for (const choice of choices) choice.addEventListener("change", save);
    note.addEventListener("change", save);
    name.addEventListener("change", () => {
      if (!kept(GRADER)) sign(name.value.trim());
      keep(GRADER, name.value.trim());
      show();
    });
    show();
    return n.make("section", { class: "verdict no-print", "aria-labelledby": "h-verdict" },
      n.make("div", { class: "verdict-row" },
        n.make("h2", { id: "h-verdict" }, "Verdict"),
        n.make("div", { class: "choices", role: "radiogroup", "aria-labelledby": "h-verdict" },
          ...choices.map((choice) => n.make("label", { for: choice.id }, choice, ` ${choice.value}`))),
        n.make("label", { for: note.id }, "Note ", note), n.make("label", { for: name.id }, "Grader ", name), exporter()),
      others, status);
  }

  function exporter() {
    return n.make("button", { type: "button", "data-export": "verdicts", title: `Save ${FILE}, which the next report takes with --verdicts`, onclick: exportAll }, "Export the verdicts");
  }

  function exportAll() {
    open();
    const verdicts = [...known.values()].sort((x, y) => (key(x.a, x.b, x.grader) < key(y.a, y.b, y.grader) ? -1 : 1))
      .map((one) => Object.fromEntries(FIELDS.map((name) => [name, one[name]])));
    const text = `${JSON.stringify({ kind: "neardup verdicts", format: 1, verdicts }, null, 1)}\n`;
    const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const link = n.make("a", { href: url, download: FILE });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  Object.assign(n, { verdictBox, verdictText, verdictExporter: exporter });
})(window.neardup);
