// The page of one comparison: a pair and nothing else.
(function (n) {
  "use strict";

  document.addEventListener("DOMContentLoaded", () => {
    const [meta, page] = [n.parse("meta"), n.parse("page")];
    const { pair, members, texts } = page;
    const [a, b] = [members[pair.a], members[pair.b]];
    const view = n.pairView({ measure: meta.measure, a, b, texts: [texts[a.text], texts[b.text]], pair });
    n.byId("view").append(view);
  });
})(window.neardup);
