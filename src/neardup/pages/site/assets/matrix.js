// The similarities of the members of a cluster as a table: colour and number, a link where both texts can be seen.
(function (n) {
  "use strict";

  const { heat, scroller } = n.parts;

  function matrix({ members, similarities, threshold, pairOf }) {
    const size = members.length;
    const known = new Map(similarities.flatMap(([i, j, s]) => [[i * size + j, s], [j * size + i, s]]));
    const least = similarities.reduce((low, [, , s]) => Math.min(low, s), 1);
    const shade = (s) => (s - least * 0.9) / (1 - least * 0.9 || 1);
    const cell = (i, j) => {
      if (i === j) return n.make("td", { class: "is-self" }, n.make("span", { "aria-label": "itself" }, "·"));
      const s = known.get(i * size + j);
      if (s === undefined) return n.make("td", { class: "is-unknown", title: "not computed" }, "–");
      const k = pairOf(i, j);
      const title = `${i + 1} and ${j + 1}: ${n.cut(s)}`;
      const inside = k === null ? n.cut(s) : n.make("a", { href: n.pairAddress(k), "aria-label": `${title}, see both texts` }, n.cut(s));
      return n.make("td", { class: s >= threshold ? "" : "is-less", style: heat(shade(s)), title }, inside);
    };
    const name = (i) => n.make("span", { class: "in-head" }, n.make("b", {}, String(i + 1)), " ", n.brief(members[i].id, 28));
    const head = n.make("tr", {}, n.make("td", { class: "corner" }),
      ...members.map((member, j) => n.make("th", { scope: "col", title: n.plain(member.id) }, String(j + 1))));
    const rows = members.map((_, i) => n.make("tr", {}, n.make("th", { scope: "row" }, name(i)), ...members.map((_, j) => cell(i, j))));
    return scroller("Similarities of the members",
      n.make("table", { class: "heat matrix" }, n.make("thead", {}, head), n.make("tbody", {}, ...rows)));
  }

  Object.assign(n, { matrix });
})(window.neardup);
