// The page of one comparison: a pair and nothing else.
(function (n) {
  "use strict";

  document.addEventListener("DOMContentLoaded", () => {
    n.meta = n.parse("meta");
    const { pair, members, texts } = n.parse("page");
    const [a, b] = [members[pair.a], members[pair.b]];
    const more = [n.byId("measures")]; // they stand in the page for those who have no scripts
    n.byId("view").append(n.pairView({ measure: n.meta.measure, a, b, texts: [texts[a.text], texts[b.text]], pair, more }));
  });
})(window.neardup);
