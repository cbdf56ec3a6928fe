// The view of a pair: two texts side by side, what they share marked, and the measures in words.
(function (n) {
  "use strict";

  // data: {measure, a, b: members (id, source name, characters), texts: [TEXT, TEXT], pair: PAIR}
  function pairView({ measure, a, b, texts, pair, crossing = null }) {
    const { passages } = pair;
    const partners = [known(passages.links, passages.b), known(passages.back, passages.a)];
    const colours = families(...partners);
    const left = new n.Pane(texts[0], passages.a, {
      label: "First text, shared passages marked", partners: partners[0], colours: colours[0],
    });
    const right = new n.Pane(texts[1], passages.b, {
      label: "Second text, shared passages marked", partners: partners[1], colours: colours[1],
    });
    [left.other, right.other] = [right, left];
    const differing = n.compareGaps(left, right);
    const view = n.make("article", { class: "pair" },
      n.make("header", { class: "pair-head" },
        n.make("h1", { tabindex: -1 }, n.brief(a.id), " and ", n.brief(b.id)),
        crossing),
      verdict(pair, a, b),
      figures(measure, pair, () => showLongest(left, right, pair)),
      tools(left, differing),
      n.make("div", { class: "texts" }, side("A", a, left), side("B", b, right)),
      left.spans.length < pair.runs[0] || right.spans.length < pair.runs[1] ? cutShort(left, right, pair) : null,
      inWords(measure, pair, a, b),
    );
    const toggle = view.querySelector("#differences");
    toggle?.addEventListener("change", () => view.classList.toggle("is-plain", !toggle.checked));
    left.render();
    right.render();
    return view;
  }

  // Partners as they are given; none where a list was cut short before it.
  const known = (links, spans) => links.map((j) => (j < spans.length ? j : -1));

  // A passage and its partner have one colour, and so have all that are tied by partners. Numbered as they come in A.
  function families(there, back) {
    const parent = [...there, ...back].map((_, at) => at);
    const root = (at) => {
      while (parent[at] !== at) at = parent[at] = parent[parent[at]];
      return at;
    };
    there.forEach((j, i) => { if (j >= 0) parent[root(i)] = root(there.length + j); });
    back.forEach((i, j) => { if (i >= 0) parent[root(there.length + j)] = root(i); });
    const numbers = new Map();
    const colour = (at) => {
      const one = root(at);
      if (!numbers.has(one)) numbers.set(one, numbers.size);
      return numbers.get(one);
    };
    return [there.map((_, i) => colour(i)), back.map((_, j) => colour(there.length + j))];
  }

  function verdict(pair, a, b) {
    if (!pair.passages.a.length) return n.make("p", { class: "lede" }, "The two texts share no passage.");
    return n.make("p", { class: "lede" },
      `${n.share(pair.covered[0])} of A and ${n.share(pair.covered[1])} of B are in both texts.`);
  }

  function figures(measure, pair, onlongest) {
    const figure = (label, value, extra = null) => n.make("div", {}, n.make("dt", {}, label), n.make("dd", {}, value, extra));
    const [length] = pair.longest;
    const button = length ? n.make("button", { type: "button", class: "small", onclick: onlongest }, "show") : null;
    return n.make("dl", { class: "figures" },
      measure === "containment" ? figure("Containment", n.cut(pair.similarity)) : figure("Jaccard similarity", n.cut(pair.jaccard)),
      figure("A contained in B", n.cut(pair.a_in_b)),
      figure("B contained in A", n.cut(pair.b_in_a)),
      figure("Longest passage", n.make("span", {}, n.count(length), n.make("small", {}, length === 1 ? " character " : " characters ")), button),
    );
  }

  function showLongest(left, right, pair) {
    const [, inA, inB] = pair.longest;
    const at = (spans, place) => spans.findIndex(([start, end]) => start <= place && place < end);
    const [i, j] = [at(left.spans, inA), at(right.spans, inB)];
    right.show(j);
    left.show(i, { focus: true });
  }

  function tools(left, differing) {
    const total = left.spans.length;
    const { held } = left;
    const told = n.make("output", { class: "passage-now", "aria-live": "off" }, n.many(total, "passage"));
    const go = (step) => {
      const at = held.indexOf(left.current);
      const to = at < 0 ? (step > 0 ? 0 : held.length - 1) : (at + step + held.length) % held.length;
      left.jump(held[to], { stay: true });
    };
    left.onshow = (i) => { told.textContent = `passage ${n.count(i + 1)} of ${n.count(total)}`; };
    const step = (by, name, sign) =>
      n.make("button", { type: "button", class: "step", disabled: !held.length, "aria-label": `${name} passage`, onclick: () => go(by) }, sign);
    const toggle = n.make("label", { class: "check" },
      n.make("input", { type: "checkbox", id: "differences", checked: true }), " Changed words in small gaps");
    return n.make("div", { class: "tools" },
      n.make("div", { class: "walk", role: "group", "aria-label": "Passages" }, step(-1, "Previous", "‹"), told, step(1, "Next", "›")),
      differing ? toggle : null,
      n.make("p", { class: "hint" }, "Click a passage, or press Enter on it, to see it in the other text. Arrow keys move from passage to passage."));
  }

  function side(letter, member, pane) {
    const left = pane.spans.length - pane.held.length;
    const passages = n.many(pane.spans.length, "passage") + (left ? `, ${n.count(left)} of them not on this page` : "");
    const about = [member.source, n.many(member.characters, "character"), passages].filter(Boolean);
    const lost = n.make("p", { class: "lost", role: "status" });
    pane.onlost = () => { lost.textContent = "This passage is not among the parts of the text that this page has."; };
    pane.box.addEventListener("scroll", () => { lost.textContent = ""; });
    return n.make("section", { class: "side", "aria-label": `Text ${letter}` },
      n.make("h2", { class: "side-name" }, n.make("span", { class: "letter" }, letter), " ", n.named(member.id)),
      n.make("p", { class: "about" }, n.appendText(n.make("bdi"), about.join(" · "))),
      pane.strip(), lost, pane.box);
  }

  function cutShort(left, right, pair) {
    return n.make("p", { class: "note" },
      `Marked are the first ${n.count(left.spans.length)} of ${n.many(pair.runs[0], "passage")} of A and the first ` +
      `${n.count(right.spans.length)} of ${n.many(pair.runs[1], "passage")} of B; the measures are of all of them.`);
  }

  function inWords(measure, pair, a, b) {
    const [sizeA, sizeB, common] = pair.sizes;
    const union = sizeA + sizeB - common;
    const lines = [
      `Jaccard similarity ${n.cut(pair.jaccard)}: of the ${n.many(union, "distinct shingle")} that A and B have together, ${n.count(common)} ${common === 1 ? "is" : "are"} in both.`,
      `${n.share(pair.a_in_b)} of the ${n.many(sizeA, "shingle")} of A are in B, and ${n.share(pair.b_in_a)} of the ${n.many(sizeB, "shingle")} of B are in A.`,
      `The marked passages cover ${n.share(pair.covered[0])} of the ${n.many(a.characters, "character")} of A and ${n.share(pair.covered[1])} of the ${n.many(b.characters, "character")} of B.`,
    ];
    if (measure === "containment") {
      lines.unshift(`Containment ${n.cut(pair.similarity)}: the share of the smaller set of shingles that the larger one has too.`);
    }
    if (pair.longest[0]) lines.push(`The longest passage has ${n.many(pair.longest[0], "character")}.`);
    lines.push("A character is marked exactly when a shingle that both texts have covers it: what is marked is what was counted.");
    return n.make("section", { class: "block", "aria-labelledby": "h-words" },
      n.make("h2", { id: "h-words" }, "In words"),
      n.make("ul", { class: "limits" }, ...lines.map((line) => n.make("li", {}, line))));
  }

  Object.assign(n, { pairView });
})(window.neardup);
