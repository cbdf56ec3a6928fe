// Words that one text has and the other has not, inside the small gaps between passages.
//
// Only where two passages follow each other in both texts, each the partner of its partner, and at most MOST words lie
// between them on either side: there a comparison of words tells what was changed. The work is linear in the number of gaps.
(function (n) {
  "use strict";

  const MOST = 40; // words of a gap
  const LONG = 600; // units of a gap
  const GAPS = 4000; // that are looked at in a pair

  const words = (text) => [...text.matchAll(/\p{M}*[\p{L}\p{N}][\p{L}\p{N}\p{M}'’]*|[^\s\p{L}\p{N}]/gu)];

  // The words of a that no longest common subsequence with b holds, and the other way: [[from, to)…] in units.
  function differences(a, b) {
    const left = words(a);
    const right = words(b);
    if (left.length > MOST || right.length > MOST) return null;
    const width = right.length + 1;
    const best = new Uint8Array((left.length + 1) * width);
    for (let i = left.length - 1; i >= 0; i--) {
      for (let j = right.length - 1; j >= 0; j--) {
        const at = i * width + j;
        best[at] = left[i][0] === right[j][0] ? best[at + width + 1] + 1 : Math.max(best[at + width], best[at + 1]);
      }
    }
    const only = [[], []];
    const note = (side, word) => {
      const ranges = only[side];
      const text = side ? b : a;
      const last = ranges.at(-1);
      const [from, to] = [word.index, word.index + word[0].length];
      if (last && !/\S/.test(text.slice(last[1], from))) last[1] = to;
      else ranges.push([from, to]);
    };
    let [i, j] = [0, 0];
    while (i < left.length || j < right.length) {
      const at = i * width + j;
      if (i < left.length && j < right.length && left[i][0] === right[j][0]) [i, j] = [i + 1, j + 1];
      else if (j === right.length || (i < left.length && best[at + width] >= best[at + 1])) note(0, left[i++]);
      else note(1, right[j++]);
    }
    return only;
  }

  // The text between one passage and the next of a pane, where all of it is there.
  function gaps(pane) {
    const found = new Map();
    pane.segments.forEach((one, at) => {
      const [before, behind] = [pane.segments[at - 1], pane.segments[at + 1]];
      if (one.span < 0 && !one.missing && before?.span >= 0 && behind?.span === before.span + 1) found.set(before.span, one);
    });
    return found;
  }

  // Note in both panes what is only there. Returns in how many gaps something is.
  function compareGaps(left, right) {
    const [here, there] = [gaps(left), gaps(right)];
    let found = 0;
    let looked = 0;
    for (const [i, one] of here) {
      const j = left.partners[i];
      const other = there.get(j);
      const areTied = left.partners[i + 1] === j + 1 && right.partners[j] === i && right.partners[j + 1] === i + 1;
      if (!other || !areTied || looked++ >= GAPS) continue;
      if (one.to - one.from > LONG || other.to - other.from > LONG) continue;
      const only = differences(one.whole.slice(one.from, one.to), other.whole.slice(other.from, other.to));
      if (!only || !(only[0].length + only[1].length)) continue;
      left.only.set(one, only[0].map(([a, b]) => [a + one.from, b + one.from]));
      right.only.set(other, only[1].map(([a, b]) => [a + other.from, b + other.from]));
      found++;
    }
    return found;
  }

  Object.assign(n, { differences, compareGaps });
})(window.neardup);
