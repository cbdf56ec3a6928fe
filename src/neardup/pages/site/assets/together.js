// Two panes that scroll together: what the reader sees of one is beside what it is linked to in the other.
//
// The line that is held is at the top of a pane when it shows the beginning of its text, and at the bottom when it shows
// the end, so that every passage comes to it. Between two passages the way is divided evenly; where the order of the
// passages is another one in the other text, the nearer passage leads.
(function (n) {
  "use strict";

  const SAME = 2; // pixels

  function together(panes) {
    const state = { isOn: true };
    const anchors = panes.map((pane) => remembered(pane));
    panes.forEach((pane, at) => {
      pane.box.addEventListener("scroll", () => {
        const { scrollTop } = pane.box;
        if (!state.isOn || Math.abs(scrollTop - pane.placed) < SAME) return;
        pane.placed = -1;
        const place = beside(pane, anchors[at]());
        if (place !== null) pane.other.place(place);
      });
    });
    return state;
  }

  // The scroll position of the other pane that belongs to that of this one; null where nothing is linked.
  function beside(pane, anchors) {
    if (!anchors.length) return null;
    const { scrollTop, scrollHeight, clientHeight } = pane.box;
    const room = scrollHeight - clientHeight;
    const line = room > 0 ? (scrollTop / room) * clientHeight : 0;
    const y = scrollTop + line;
    const at = anchors.findLastIndex((one) => one.top <= y);
    const one = anchors[at];
    if (one && y <= one.bottom) return between(y, [one.top, one.to.top], [one.bottom, one.to.bottom]) - line;
    const next = anchors[at + 1];
    const before = one ? [one.bottom, one.to.bottom] : [0, 0];
    const behind = next ? [next.top, next.to.top] : [scrollHeight, pane.other.box.scrollHeight];
    if (behind[1] >= before[1]) return between(y, before, behind) - line;
    const [near, far] = y - before[0] < behind[0] - y ? [before, behind] : [behind, before];
    return near[1] + Math.sign(far[0] - near[0]) * Math.abs(y - near[0]) - line;
  }

  function between(y, [from, there], [to, beyond]) {
    return to > from ? there + ((y - from) / (to - from)) * (beyond - there) : there;
  }

  // Where the linked passages are drawn in a pane and in its other, measured anew when one of them was drawn anew.
  function remembered(pane) {
    let known = null;
    let measured = "";
    return () => {
      const { other } = pane;
      const now = [pane, other].map((one) => `${one.drawings} ${one.box.clientWidth} ${one.box.scrollHeight}`).join();
      if (now === measured) return known;
      measured = now;
      known = [];
      for (const [i, parts] of [...pane.marks].sort(([a], [b]) => a - b)) {
        const partner = other.marks.get(pane.partners[i]);
        if (partner && pane.kept[i] > 0) known.push({ ...extent(pane.box, parts), to: extent(other.box, partner) });
      }
      return known;
    };
  }

  function extent(box, parts) {
    const zero = box.getBoundingClientRect().top - box.scrollTop;
    return { top: parts[0].getBoundingClientRect().top - zero, bottom: parts.at(-1).getBoundingClientRect().bottom - zero };
  }

  Object.assign(n, { together });
})(window.neardup);
