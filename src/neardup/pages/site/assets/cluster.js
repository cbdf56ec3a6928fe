// A cluster: its pairs, its members, how they hang together as a graph and as numbers; and the page of a pair.
(function (n) {
  "use strict";

  const { heading, note, similarity, figures } = n.parts;
  const PAIRS = 50; // of the list that are drawn at once
  const GRAPHED = 8; // members from which on a graph shows more than the matrix

  async function clusterView(number) {
    const found = await n.cluster(number);
    if (!found) return null;
    const { row, cluster } = found;
    const name = n.plain(row.keeper, 60);
    const { keeper } = n.meta.words;
    const view = n.make("article", { class: "cluster" },
      heading(`Cluster ${n.count(number + 1)}`),
      n.make("p", { class: "lede" }, `The ${keeper} is `, n.named(n.plain(row.keeper, 200)), "."),
      figures([["Documents", n.count(row.size)], ["Most similar pair", n.cut(row.highest)], [`Least similarity to the ${keeper}`, n.cut(row.least)], [`Mean similarity to the ${keeper}`, n.cut(row.mean)]]),
      row.least < n.meta.threshold ? n.make("p", { class: "soft" }, `Some members are less similar to the ${keeper} than the threshold ${n.exact(n.meta.threshold)}: a chain of pairs joins them.`) : "");
    const crumbs = [[n.listPlace("#/clusters"), "Clusters"], [null, `Cluster ${n.count(number + 1)}`]];
    const title = `Cluster ${n.count(number + 1)}: ${name}`;
    if (!cluster) {
      view.append(
        n.make("p", { class: "soft" }, n.appendText(n.make("bdi"), row.opening)),
        note("The members of this cluster are not in the report: it lists them for the largest clusters only. The summary says what was left out."));
      return { title, crumbs, view };
    }
    n.pairAddress = (k) => `#/cluster/${number}/pair/${k}`;
    const places = new Map(cluster.pairs.map((pair, k) => [key(pair.a, pair.b), k]));
    const pairOf = (i, j) => places.get(key(i, j)) ?? null;
    const shared = { members: cluster.members, similarities: cluster.similarities, threshold: n.meta.threshold, pairOf };
    view.append(
      section("Pairs", pairsTable(cluster)),
      section("Members", membersTable(cluster)),
      ...graphSection(cluster, shared),
      cluster.members.length > 2 ? section("Similarities", n.matrix(shared), matrixNote(cluster)) : "");
    return { title, crumbs, view };
  }

  const key = (i, j) => `${Math.min(i, j)}-${Math.max(i, j)}`;

  function section(title, ...children) {
    const id = `h-${title.toLowerCase()}`;
    return n.make("section", { class: "block", "aria-labelledby": id }, n.make("h2", { id }, title), ...children);
  }

  function table(label, names, rows) {
    return n.make("table", { class: "rows", role: "table", "aria-label": label },
      n.make("thead", { role: "rowgroup" }, n.make("tr", { role: "row" }, ...names.map(([kind, name]) =>
        n.make("th", { scope: "col", role: "columnheader", class: `c-${kind}` }, name)))),
      n.make("tbody", { role: "rowgroup" }, ...rows.map((cells) => n.make("tr", { role: "row" }, ...cells.map((value, k) =>
        n.make("td", { role: "cell", class: `c-${names[k][0]}`, "data-label": names[k][1] }, value))))));
  }

  function membersTable(cluster) {
    const withSource = cluster.members.some((member) => n.sourceName(member.source));
    const names = [["number", "No."], ["id", "Document"], ["similarity", `To the ${n.meta.words.keeper}`], ["size", "Characters"],
      ...(withSource ? [["source", "Source"]] : []), ...(cluster.left_out ? [["kind", "Shown as"]] : [])];
    const pairsWithKeeper = new Map();
    cluster.pairs.forEach((pair, k) => {
      if (pair.a === cluster.keeper) pairsWithKeeper.set(pair.b, k);
      if (pair.b === cluster.keeper) pairsWithKeeper.set(pair.a, k);
    });
    const rows = cluster.members.map((member, i) => {
      const k = pairsWithKeeper.get(i);
      const id = n.named(n.plain(member.id, 300));
      return [n.make("span", { class: "no" }, String(i + 1)), k === undefined ? id : n.make("a", { href: n.pairAddress(k), title: `See it beside the ${n.meta.words.keeper}` }, id),
        i === cluster.keeper ? n.make("strong", { class: "keeper" }, n.meta.words.keeper) : member.similarity === null ? n.make("span", { class: "soft" }, "not compared") : similarity(member.similarity), n.count(member.characters),
        ...(withSource ? [n.appendText(n.make("bdi"), n.sourceName(member.source))] : []),
        ...(cluster.left_out ? [member.kind] : [])];
    });
    const box = document.createDocumentFragment();
    if (cluster.left_out) {
      box.append(note(`${n.many(cluster.members.length, "member")} of ${n.count(cluster.size)} ${cluster.members.length === 1 ? "is" : "are"} shown: the ${n.meta.words.keeper}, ${n.meta.purpose === "copying" ? "and those of the most similar pairs" : "those most similar to it (near), those least similar (far), and a sample of the rest (random)"}. ${n.count(cluster.left_out)} ${cluster.left_out === 1 ? "is" : "are"} left out.`));
    }
    box.append(table("Members", names, rows));
    return box;
  }

  function graphSection(cluster, shared) {
    if (cluster.members.length < GRAPHED) return [];
    const told = n.make("p", { class: "graph-told", "aria-hidden": "true" });
    const rest = "Point at a member or a line, or use the arrow keys.";
    told.textContent = rest;
    const made = n.graph({ ...shared, keeper: cluster.keeper, tell: (message) => { told.textContent = message || rest; } });
    const legend = `A line joins two members of similarity ${n.exact(n.meta.threshold)} or more, thicker the more similar they are; ` +
      `faint lines are below it. ${n.many(made.tied, "line")} of ${n.many(cluster.similarities.length, "pair")} computed.` +
      (made.leftOut ? ` ${n.count(made.leftOut)} faint lines are not drawn.` : "");
    return [section("Graph", n.make("figure", { class: "card graph-box" }, made.picture, told, n.make("figcaption", { class: "soft" }, legend)))];
  }

  function matrixNote(cluster) {
    const legend = `Bold: similarity ${n.exact(n.meta.threshold)} or more. Numbers are cut, not rounded; click a cell to see both texts.`;
    return n.make("p", { class: "soft" }, [legend, cluster.matrix_note].filter(Boolean).join(" "));
  }

  function pairsTable(cluster) {
    if (!cluster.pairs.length) return note("No pair of this cluster is in the report.");
    const order = ordered(cluster.pairs);
    const id = (i) => n.make("span", {}, n.make("span", { class: "no" }, String(i + 1)), " ", n.brief(cluster.members[i].id));
    const names = [["pair", "Pair"], ["similarity", "Similarity"], ["share", "Of the first"], ["share", "Of the second"], ["longest", "Longest passage"]];
    const rowOf = (k) => {
      const pair = cluster.pairs[k];
      return [n.make("a", { href: n.pairAddress(k) }, id(pair.a), n.make("span", { class: "soft" }, " and "), id(pair.b)), similarity(pair.similarity),
        n.share(pair.covered[0]), n.share(pair.covered[1]), n.count(pair.longest[0])];
    };
    const box = n.make("div");
    let shown = 0;
    const more = () => {
      shown += PAIRS;
      const made = table("Pairs", names, order.slice(0, shown).map(rowOf));
      const button = n.make("button", { type: "button", onclick: () => { more(); box.querySelector("tbody").rows[shown - PAIRS]?.querySelector("a")?.focus(); } },
        `Show ${n.count(Math.min(PAIRS, order.length - shown))} more of ${n.many(order.length, "pair")}`);
      box.replaceChildren(made, ...(shown < order.length ? [button] : []));
    };
    more();
    return box;
  }

  // By similarity, falling.
  function ordered(pairs) {
    return pairs.map((_, k) => k).sort((x, y) => pairs[y].similarity - pairs[x].similarity || x - y);
  }

  // A pair by its number in a cluster, or the first or the last of those that are shown in order; the next is the next of
  // the cluster.
  async function pairOfCluster(number, which) {
    const found = await n.cluster(number);
    const cluster = found?.cluster;
    if (found && !cluster) return clusterView(number);
    const order = ordered(cluster?.pairs ?? []);
    const k = which === "first" ? order[0] : which === "last" ? order.at(-1) : Number(which);
    if (!cluster?.pairs[k]) return null;
    const address = (cluster_, place) => `#/cluster/${cluster_}/pair/${place}`;
    const at = order.indexOf(k);
    return pairPage(found, number, k, {
      before: at > 0 ? address(number, order[at - 1]) : number > 0 ? address(number - 1, "last") : null,
      after: at + 1 < order.length ? address(number, order[at + 1]) : number + 1 < n.meta.clusters.listed ? address(number + 1, "first") : null,
      told: [`${n.count(at + 1)} of ${n.count(order.length)} in cluster ${n.count(number + 1)}`],
      crumbs: [[n.listPlace("#/clusters"), "Clusters"], [`#/cluster/${number}`, `Cluster ${n.count(number + 1)}`], [null, `Pair ${n.count(at + 1)}`]],
    });
  }

  // A pair by its number in a cluster; the next is the next of the whole report by similarity.
  async function pairOfAll(number, k) {
    const found = await n.cluster(number);
    if (found && !found.cluster) return clusterView(number);
    const pair = found?.cluster.pairs[k];
    if (!pair) return null;
    const value = n.meta.purpose === "copying" ? Math.max(pair.a_in_b, pair.b_in_a) : pair.similarity;
    const here = await n.placeOfPair(value, pair.longest[0], number, k);
    if (!here) return pairOfCluster(number, k); // below the threshold, or not found: only its cluster has it
    const place = n.count(here.place + 1);
    return pairPage(found, number, k, {
      ...here,
      told: [`${place} of ${n.count(n.meta.pairs.listed)} by ${n.meta.purpose === "copying" ? "highest share" : "similarity"}, in `, n.make("a", { href: `#/cluster/${number}` }, `cluster ${n.count(number + 1)}`)],
      crumbs: [[n.listPlace("#/pairs"), "Pairs"], [null, `Pair ${place}`]],
    });
  }

  function pairPage({ cluster, texts }, number, k, { before, after, told, crumbs }) {
    const pair = cluster.pairs[k];
    const member = (i) => ({ ...cluster.members[i], source: n.sourceName(cluster.members[i].source) });
    const [a, b] = [member(pair.a), member(pair.b)];
    const step = (to, letter, sign) => {
      if (!to) return n.make("span", { class: "button is-off", "aria-disabled": "true" }, sign);
      return n.make("a", { class: "button", href: to, "aria-keyshortcuts": letter, title: `Key: ${letter}` }, sign);
    };
    const crossing = n.make("nav", { class: "crossing", "aria-label": "Pairs" },
      step(before, "p", "‹ Previous pair"), n.make("span", { class: "soft" }, ...told), step(after, "n", "Next pair ›"));
    const title = `${n.plain(a.id, 40)} and ${n.plain(b.id, 40)}`;
    const keys = { n: () => after && n.go(after), p: () => before && n.go(before) };
    if (a.text < 0 || b.text < 0) {
      return { title, crumbs, keys, view: n.make("article", {}, heading(n.brief(a.id), " and ", n.brief(b.id)), crossing,
        note("The texts of this pair are not in the report: the summary says what was left out.")) };
    }
    const view = n.pairView({ measure: n.meta.measure, a, b, texts: [texts[a.text], texts[b.text]], pair, crossing });
    if (n.meta.purpose === "copying") view.querySelector(".pair-head").after(n.verdictBox({ id: a.id, hash: texts[a.text].hash }, { id: b.id, hash: texts[b.text].hash }));
    return { title, crumbs, keys, view };
  }

  Object.assign(n, { clusterView, pairOfCluster, pairOfAll });
})(window.neardup);
