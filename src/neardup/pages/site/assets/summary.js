// The summary stands in the page; here it gets the largest clusters to begin with.
(function (n) {
  "use strict";

  const FIRST = 6;

  async function firstClusters() {
    const { meta } = n;
    const place = n.byId("first-clusters");
    if (!meta.clusters.listed || place.querySelector("ol")) return;
    const rows = await n.clusterChunk(0);
    const list = n.make("ol", { class: "first" });
    for (let i = 0; i < Math.min(FIRST, rows.keeper.length); i++) {
      list.append(n.make("li", {},
        n.make("a", { href: `#/cluster/${i}` }, n.brief(rows.keeper[i])),
        n.make("span", { class: "soft" }, `${n.many(rows.size[i], "document")}, mean ${n.cut(rows.mean[i])}`),
        n.appendText(n.make("bdi", { class: "opening" }), rows.opening[i])));
    }
    place.append(list);
    if (meta.clusters.total > FIRST) {
      place.append(n.make("p", {}, n.make("a", { href: "#/clusters" }, `All ${n.many(meta.clusters.total, "cluster")}`)));
    }
    place.hidden = false;
  }

  Object.assign(n, { firstClusters });
})(window.neardup);
