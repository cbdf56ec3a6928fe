// The view of a pair: how much of each text stands in the other, both texts, the list of passages and the measures.
(function (n) {
  "use strict";

  let numbers = 0; // of panels, for ids

  // data: {measure, a, b: members (id, source name, characters, pages, file), texts: [TEXT, TEXT], pair: PAIR,
  // crossing: what leads to other pairs, more: what else stands beside the measures}
  function pairView({ measure, a, b, texts, pair, crossing = null, more = [] }) {
    const template = n.pageTemplate();
    const shown = n.sideBySide({ a, b, texts, pair, template });
    const { left, right } = shown;
    const lede = n.make("p", { class: "lede" });
    const list = n.passageList({ left, right, template, onchange: () => update() });
    const update = () => {
      shown.update();
      list.update();
      lede.replaceChildren(...verdict(pair, [a, b], [left, right], template));
      n.say(lede.textContent);
    };
    lede.replaceChildren(...verdict(pair, [a, b], [left, right], template));
    const panels = [
      panel("passages", "Passages", longest(pair, left, right), list.view),
      panel("measures", "Measures", inWords(measure, pair, a, b), ...more),
    ];
    shown.tools.append(n.make("div", { class: "openers" }, ...panels.map((one) => one.button)));
    exclusive(panels);
    return n.make("article", { class: "pair is-page" },
      n.make("header", { class: "pair-head" },
        n.make("h1", { tabindex: -1 }, n.brief(a.id), " and ", n.brief(b.id)),
        crossing),
      lede,
      shown.tools,
      left.spans.length < pair.runs[0] || right.spans.length < pair.runs[1] ? cutShort(left, right, pair) : null,
      n.make("div", { class: "workplace" }, shown.texts, ...panels.map((one) => one.view)),
    );
  }

  // How much of each text stands in the other. The shares are of characters; what is ignored is not shared.
  function verdict(pair, members, panes, template) {
    if (!pair.passages.a.length) return ["The two texts share no passage."];
    const shares = members.map((member, k) => {
      const ignored = panes[k].spans.reduce((sum, [start, end]) => sum + end - start, 0) - panes[k].shared;
      return ignored ? Math.max(0, pair.covered[k] - ignored / member.characters) : pair.covered[k];
    });
    const isLess = panes.some((pane) => pane.spans.some(([start, end], i) => pane.kept[i] < end - start));
    const share = (k) => n.make("strong", {}, n.share(shares[k]));
    return [share(0), " of A stands in B, ", share(1), " of B stands in A", template && isLess ? ", without what is ignored." : "."];
  }

  // A part beside the texts that a button opens.
  function panel(name, label, ...children) {
    const id = `${name}-${++numbers}`;
    const view = n.make("section", { class: `panel panel-${name}`, id, hidden: true, tabindex: 0, "aria-label": label },
      n.make("h2", {}, label), ...children);
    const button = n.make("button", { type: "button", class: "opener", "aria-expanded": "false", "aria-controls": id }, label);
    return { view, button };
  }

  // One panel is open at a time; Escape closes it.
  function exclusive(panels) {
    const show = (one) => {
      for (const each of panels) {
        each.view.hidden = each !== one;
        each.button.setAttribute("aria-expanded", String(each === one));
      }
    };
    for (const one of panels) {
      one.button.addEventListener("click", () => show(one.view.hidden ? one : null));
      one.view.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        show(null);
        one.button.focus();
      });
    }
  }

  function longest(pair, left, right) {
    const [length, inA, inB] = pair.longest;
    if (!length) return null;
    const at = (spans, place) => spans.findIndex(([start, end]) => start <= place && place < end);
    const show = () => {
      right.show(at(right.spans, inB));
      left.show(at(left.spans, inA), { focus: true });
    };
    return n.make("p", { class: "longest" }, `The longest has ${n.many(length, "character")}. `,
      n.make("button", { type: "button", class: "small", onclick: show }, "Show the longest"));
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
      `Containment ${n.cut(pair.a_in_b)} of A in B: the share of the ${n.many(sizeA, "distinct shingle")} of A that B has too. ${n.cut(pair.b_in_a)} of B in A, which has ${n.many(sizeB, "distinct shingle")}.`,
      `The marked passages cover ${n.share(pair.covered[0])} of the ${n.many(a.characters, "character")} of A and ${n.share(pair.covered[1])} of the ${n.many(b.characters, "character")} of B.`,
    ];
    if (measure === "containment") {
      lines.unshift(`Containment ${n.cut(pair.similarity)}: the share of the smaller set of shingles that the larger one has too.`);
    }
    lines.push("A character is marked exactly when a shingle that both texts have covers it: what is marked is what was counted.");
    return n.make("ul", { class: "limits" }, ...lines.map((line) => n.make("li", {}, line)));
  }

  Object.assign(n, { pairView });
})(window.neardup);
