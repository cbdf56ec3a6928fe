// Two texts side by side with what belongs to them: buttons that walk the passages, choices of what is shown, strips.
// Every page that shows two texts shows them by this.
(function (n) {
  "use strict";

  // data: {a, b: members (id, source name, characters, pages, file), texts: [TEXT, TEXT], pair: {passages}}
  // Gives the elements `tools` and `texts`, the panes, and `update`, to be called when the template has changed.
  function sideBySide({ a, b, texts, pair: { passages }, template = null, isOnlyShared = false }) {
    const partners = [known(passages.links, passages.b), known(passages.back, passages.a)];
    const colours = families(...partners);
    const [left, right] = [a, b].map((member, k) => new n.Pane(texts[k], passages["ab"[k]], {
      label: `${k ? "Second" : "First"} text, shared passages marked`, partners: partners[k], colours: colours[k],
      pages: member.pages, template, isOnlyShared,
    }));
    [left.other, right.other] = [right, left];
    const differing = n.compareGaps(left, right);
    const panes = [left, right];
    const box = n.make("div", { class: "texts" }, side("A", a, left), side("B", b, right));
    const walk = walker(left);
    const tools = n.make("div", { class: "tools" }, walk.view, ...choices(panes, box, { differing, isOnlyShared }));
    const update = () => {
      for (const pane of panes) pane.regrade();
      walk.tell();
    };
    for (const pane of panes) pane.render();
    return { tools, texts: box, left, right, update };
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

  function walker(left) {
    const told = n.make("output", { class: "passage-now", "aria-live": "off" });
    const go = (step) => {
      const { walked } = left;
      const at = walked.indexOf(left.current);
      const to = at < 0 ? (step > 0 ? 0 : walked.length - 1) : (at + step + walked.length) % walked.length;
      left.jump(walked[to], { stay: true });
    };
    const step = (by, name, sign) =>
      n.make("button", { type: "button", class: "step", "aria-label": `${name} passage`, onclick: () => go(by) }, sign);
    const buttons = [step(-1, "Previous", "‹"), step(1, "Next", "›")];
    const tell = () => {
      const total = left.spans.length;
      const ignored = left.kept.filter((points) => points === 0).length;
      const isAt = left.walked.includes(left.current);
      told.textContent = isAt ? `passage ${n.count(left.current + 1)} of ${n.count(total)}`
        : n.many(total, "passage") + (ignored ? `, ${n.count(ignored)} ignored` : "");
      for (const button of buttons) button.disabled = !left.walked.length;
    };
    left.onshow = tell;
    tell();
    return { tell, view: n.make("div", { class: "walk", role: "group", "aria-label": "Passages" }, buttons[0], told, buttons[1]) };
  }

  function choices(panes, box, { differing, isOnlyShared }) {
    const together = n.together(panes);
    const choice = (name, label, checked, call) => n.make("label", { class: `check for-${name}` },
      n.make("input", { type: "checkbox", name, checked, onchange: (event) => call(event.target.checked) }), ` ${label}`);
    const isAny = panes.some((pane) => pane.spans.length);
    return [
      isAny ? choice("shared", "Only what is shared", isOnlyShared, (is) => {
        const at = panes[0].current;
        for (const pane of panes) pane.showOnlyShared(is);
        if (at >= 0 && panes[0].walked.includes(at)) panes[0].jump(at, { stay: true, quiet: true });
      }) : null,
      isAny ? choice("together", "Scroll together", true, (is) => { together.isOn = is; }) : null,
      differing ? choice("differences", "Changed words", true, (is) => box.classList.toggle("is-plain", !is)) : null,
    ].filter(Boolean);
  }

  function side(letter, member, pane) {
    const left = pane.spans.length - pane.held.length;
    const passages = n.many(pane.spans.length, "passage") + (left ? `, ${n.count(left)} of them not on this page` : "");
    const about = [member.source, n.many(member.characters, "character"), passages].filter(Boolean);
    const lost = n.make("p", { class: "lost", role: "status" });
    pane.onlost = () => { lost.textContent = "This passage is not among the parts of the text that this page has."; };
    pane.box.addEventListener("scroll", () => { lost.textContent = ""; });
    const file = member.file
      ? [n.make("span", { class: "to-file" }, " · ", n.make("a", { class: "file", href: member.file, target: "_blank", rel: "noopener noreferrer" }, "Open the file"))] : [];
    return n.make("section", { class: "side", "aria-label": `Text ${letter}` },
      n.make("h2", { class: "side-name" }, n.make("span", { class: "letter" }, letter), " ", n.named(member.id)),
      n.make("p", { class: "about" }, n.appendText(n.make("bdi"), about.join(" · ")), ...file),
      pane.strip(), lost, pane.box);
  }

  Object.assign(n, { sideBySide });
})(window.neardup);
