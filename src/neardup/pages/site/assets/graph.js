// A cluster as a graph: the more alike two members are, the nearer they lie. The same data gives the same picture.
(function (n) {
  "use strict";

  const WIDTH = 720;
  const HEIGHT = 460;
  const MARGIN = 34;
  const RADIUS = 13;
  const ROUNDS = 160;
  const [NAME, SIDE] = [18, 90]; // characters of a name beside a member, and from the sides where it would be cut
  const UNKNOWN = 1.15; // distance of two members whose similarity was not computed; the largest that is known is 1
  const NAMED = 16; // members up to which each has its name beside it; of more those that are pointed at have
  const FAINT = 400; // edges below the threshold that are drawn

  // Places by stress majorisation (E. Gansner, Y. Koren, S. North, "Graph Drawing by Stress Majorization", 2004, 2.3):
  // every round each node goes to the weighted mean of where its distances to the others want it.
  function places(size, similarities, keeper) {
    const far = Array.from({ length: size }, () => new Float64Array(size).fill(UNKNOWN));
    for (const [i, j, s] of similarities) far[i][j] = far[j][i] = 0.12 + 0.88 * Math.sqrt(1 - Math.min(1, s));
    const at = Array.from({ length: size }, (_, i) => {
      const turn = (2 * Math.PI * i) / Math.max(1, size);
      return i === keeper ? [0.001 * i, 0] : [Math.cos(turn) * (0.6 + 0.02 * (i % 7)), Math.sin(turn) * 0.6];
    });
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < size; i++) {
        let [x, y, sum] = [0, 0, 0];
        for (let j = 0; j < size; j++) {
          if (i === j) continue;
          const [dx, dy] = [at[i][0] - at[j][0], at[i][1] - at[j][1]];
          const length = Math.hypot(dx, dy) || 1e-6;
          const weight = (far[i][j] === UNKNOWN ? 0.1 : 1) / far[i][j] ** 2;
          x += weight * (at[j][0] + (far[i][j] * dx) / length);
          y += weight * (at[j][1] + (far[i][j] * dy) / length);
          sum += weight;
        }
        if (sum) at[i] = [x / sum, y / sum];
      }
    }
    return apart(fitted(at));
  }

  // Stretched to the picture, the longer side to its width.
  function fitted(at) {
    const range = (k) => [Math.min(...at.map((p) => p[k])), Math.max(...at.map((p) => p[k]))];
    let [[x0, x1], [y0, y1]] = [range(0), range(1)];
    if (y1 - y0 > x1 - x0) {
      at = at.map(([x, y]) => [y, x]);
      [x0, x1, y0, y1] = [y0, y1, x0, x1];
    }
    const scale = Math.min((WIDTH - 2 * MARGIN) / (x1 - x0 || 1), (HEIGHT - 2 * MARGIN) / (y1 - y0 || 1), 420);
    return at.map(([x, y]) => [WIDTH / 2 + (x - (x0 + x1) / 2) * scale, HEIGHT / 2 + (y - (y0 + y1) / 2) * scale]);
  }

  // Nodes that lie on each other pushed apart, within the picture.
  function apart(at) {
    const least = 2 * RADIUS + 8;
    for (let round = 0; round < 80; round++) {
      let moved = false;
      for (let i = 0; i < at.length; i++) {
        for (let j = i + 1; j < at.length; j++) {
          let [dx, dy] = [at[j][0] - at[i][0], at[j][1] - at[i][1]];
          let length = Math.hypot(dx, dy);
          if (length >= least) continue;
          if (length < 1e-3) [dx, dy, length] = [Math.cos(i + j), Math.sin(i + j), 1];
          const push = (least - Math.min(length, least - 1)) / 2 / length;
          at[i] = [at[i][0] - dx * push, at[i][1] - dy * push];
          at[j] = [at[j][0] + dx * push, at[j][1] + dy * push];
          moved = true;
        }
      }
      at = at.map(([x, y]) => [Math.min(WIDTH - MARGIN, Math.max(MARGIN, x)), Math.min(HEIGHT - MARGIN, Math.max(MARGIN, y))]);
      if (!moved) break;
    }
    return at.map(([x, y]) => [Math.round(x * 10) / 10, Math.round(y * 10) / 10]);
  }

  // tell: called with a sentence about what is pointed at; open: called with two members.
  function graph({ members, similarities, keeper, threshold, pairOf, tell }) {
    const at = places(members.length, similarities, keeper);
    const picture = n.draw("svg", { class: members.length > NAMED ? "graph is-many" : "graph", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label":
      `Graph of ${n.many(members.length, "member")}. Arrow keys move from member to member. The same is in the table of similarities below.` });
    const edges = n.draw("g", { class: "edges" });
    const nodes = n.draw("g", { class: "nodes" });
    picture.append(edges, nodes);
    const ties = members.map(() => []);
    const strong = similarities.filter(([, , s]) => s >= threshold).length;
    const shown = Math.min(0.7, 0.12 + 18 / Math.max(1, strong)); // of many lines each is drawn lightly
    let faint = 0;
    const rising = [...similarities].sort((x, y) => x[2] - y[2] || x[0] - y[0] || x[1] - y[1]);
    for (const [i, j, s] of rising) {
      const isTied = s >= threshold;
      if (!isTied && faint++ >= FAINT) continue;
      const above = Math.max(0, (s - threshold) / (1 - threshold || 1));
      const edge = n.draw("line", { x1: at[i][0], y1: at[i][1], x2: at[j][0], y2: at[j][1], class: isTied ? "edge" : "edge is-faint",
        ...(isTied ? { "stroke-width": (1 + 3 * above).toFixed(2), "stroke-opacity": (shown * (0.6 + 0.6 * above)).toFixed(2) } : {}) });
      edges.append(edge);
      if (!isTied) continue;
      ties[i].push([j, s, edge]);
      ties[j].push([i, s, edge]);
      const k = pairOf(i, j);
      edge.addEventListener("pointerenter", () => light(null, [edge], `${i + 1} and ${j + 1}: similarity ${n.cut(s)}${k === null ? "" : ". Click to see both texts."}`));
      edge.addEventListener("pointerleave", () => light(null, [], ""));
      if (k !== null) {
        edge.classList.add("is-open");
        edge.addEventListener("click", () => n.go(n.pairAddress(k)));
      }
    }
    const about = (i) => {
      const best = [...ties[i]].sort((x, y) => y[1] - x[1] || x[0] - y[0]).slice(0, 5).map(([j, s]) => `${j + 1} (${n.cut(s)})`);
      const tied = ties[i].length ? `similar to ${ties[i].length} of the members shown: ${best.join(", ")}${ties[i].length > 5 ? " and others" : ""}` : "similar to none of the members shown";
      return `Member ${i + 1}${i === keeper ? `, the ${n.meta.words.keeper}` : ""}, ${n.plain(members[i].id, 60)}: ${tied}.`;
    };
    const drawn = members.map((member, i) => {
      const node = n.draw("g", { class: `node is-${member.kind}`, role: "img", tabindex: i === keeper ? 0 : -1, transform: `translate(${at[i][0]} ${at[i][1]})`, "aria-label": about(i) },
        n.draw("circle", { r: i === keeper ? RADIUS + 3 : RADIUS }),
        n.draw("text", { y: 4, "text-anchor": "middle" }, String(i + 1)),
        n.draw("text", { class: "name", y: at[i][1] > HEIGHT - 2 * MARGIN ? -RADIUS - 7 : RADIUS + 15, "text-anchor": at[i][0] < SIDE ? "start" : at[i][0] > WIDTH - SIDE ? "end" : "middle" },
          n.plain(String(member.id).split(/[/\\]/).findLast(Boolean) ?? "", NAME)));
      const on = () => light(node, ties[i].map(([, , edge]) => edge), about(i));
      const off = () => light(null, [], "");
      node.addEventListener("pointerenter", on);
      node.addEventListener("pointerleave", off);
      node.addEventListener("focus", on);
      node.addEventListener("blur", off);
      nodes.append(node);
      return node;
    });
    function light(node, lit, message) {
      picture.classList.toggle("is-lit", Boolean(node || lit.length));
      for (const old of picture.querySelectorAll(".is-on")) old.classList.remove("is-on");
      node?.classList.add("is-on");
      for (const edge of lit) edge.classList.add("is-on");
      tell(message);
    }
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const now = drawn.indexOf(document.activeElement);
      if (!step || now < 0) return;
      event.preventDefault();
      const next = drawn[(now + step + drawn.length) % drawn.length];
      for (const node of drawn) node.setAttribute("tabindex", node === next ? 0 : -1);
      next.focus();
    });
    const left = Math.max(0, faint - FAINT);
    return { picture, leftOut: left, tied: strong };
  }

  Object.assign(n, { graph });
})(window.neardup);
