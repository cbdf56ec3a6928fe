// The list of the passages of a pair: how long each is, on which pages it stands, and what is to be ignored.
(function (n) {
  "use strict";

  const LISTED = 200; // passages that are listed at a time
  const OPENING = 90; // characters of a passage that its row shows

  // Gives the element and `update`. `onchange` is called when the template has been changed.
  function passageList({ left, right, template, onchange }) {
    const box = n.make("div", { class: "passage-list" });
    let most = LISTED;
    const changed = (focus) => {
      onchange();
      box.querySelector(focus)?.focus();
    };
    const update = () => {
      const rows = left.spans.slice(0, most).map((_, i) => row(i, { left, right, template, changed }));
      const more = left.spans.length > most
        ? n.make("button", { type: "button", onclick: () => { most += LISTED; update(); } }, `Show more of ${n.many(left.spans.length, "passage")}`) : null;
      box.replaceChildren(
        ...(rows.length ? [n.make("ol", { class: "passages" }, ...rows)] : [n.make("p", { class: "soft" }, "There is none.")]),
        ...(more ? [more] : []),
        ...(template?.texts.length ? [ignored(template, changed)] : []),
        n.make("p", { class: "hint" }, "Click a passage in a text, or press Enter on it, to see it in the other text. Arrow keys move from passage to passage."));
    };
    update();
    return { view: box, update };
  }

  function row(i, { left, right, template, changed }) {
    const isIgnored = left.kept[i] === 0;
    const isHeld = left.held.includes(i);
    const opening = isHeld ? openingOf(left, i) : "not on this page";
    const length = isIgnored ? "ignored" : n.many(left.kept[i], "character");
    const where = pagesOf(left, i, "A").concat(left.partners[i] < 0 ? [] : pagesOf(right, left.partners[i], "B")).join(", ");
    const jump = n.make("button", { type: "button", class: "passage-row", "data-passage": i, disabled: !isHeld, onclick: () => left.jump(i, { stay: true }) },
      n.make("span", { class: `swatch ${isIgnored ? "is-ignored" : n.colour(left.colours[i])}`, "aria-hidden": "true" }),
      n.make("span", { class: "passage-length" }, `${n.count(i + 1)}. ${[length, where].filter(Boolean).join(", ")}`),
      n.appendText(n.make("bdi", { class: "passage-opening" }), opening));
    const ignore = template && isHeld && !isIgnored
      ? n.make("button", { type: "button", class: "small", "aria-label": `Ignore passage ${n.count(i + 1)} everywhere`,
        onclick: () => {
          for (const text of wholeOf(left, i)) template.add(text);
          changed(".saving button");
        } }, "Ignore everywhere") : null;
    return n.make("li", { class: isIgnored ? "is-ignored" : undefined }, jump, ignore);
  }

  function ignored(template, changed) {
    const texts = template.texts.map((text) => n.make("li", {},
      n.appendText(n.make("bdi", { class: "passage-opening" }), short(text)),
      n.make("button", { type: "button", class: "small", onclick: () => { template.remove(text); changed(".passage-row"); } }, "Count it again")));
    const where = template.isKept ? "They are kept in this browser." : "This browser keeps them only until the page is closed.";
    return n.make("section", { class: "saving", "aria-label": "Ignored texts" },
      n.make("h3", {}, "Ignored in every pair"),
      n.make("ol", {}, ...texts),
      n.make("button", { type: "button", onclick: () => template.save() }, "Save as a text file"),
      n.make("p", { class: "soft" }, `${where} What was found stays as it is: to search without these texts, make the report again with `,
        n.make("code", {}, "--ignore neardup-ignored.txt"), "."));
  }

  // The pages on which a passage stands, as words; none where pages are not known.
  function pagesOf(pane, i, letter) {
    if (!pane.pages.length) return [];
    const [start, end] = pane.spans[i];
    const at = (place) => Math.max(1, pane.pages.findLastIndex((page) => page <= place) + 1);
    const [first, last] = [at(start), at(end - 1)];
    return [`${letter} p. ${n.count(first)}${last > first ? `–${n.count(last)}` : ""}`];
  }

  // What the page has of a passage, in as many parts.
  const wholeOf = (pane, i) => pane.segments.filter((one) => one.span === i).map((one) => one.whole.slice(one.from, one.to));
  const openingOf = (pane, i) => short(wholeOf(pane, i)[0]);

  function short(text) {
    const chars = Array.from(text.slice(0, 4 * OPENING).replace(/\s+/g, " ").trim());
    return chars.length > OPENING ? `${chars.slice(0, OPENING).join("")}…` : chars.join("");
  }

  Object.assign(n, { passageList });
})(window.neardup);
