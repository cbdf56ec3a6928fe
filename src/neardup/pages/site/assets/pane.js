// One text with its passages marked, in a box that scrolls, and the strip above it.
//
// A long text is drawn in part: what is far from a passage is folded, and of very many passages a stretch is drawn.
// What the report itself left out is told as such. No more than DRAWN units stand in a pane unless they are asked for.
// What a template has (template.js) is grey in a passage, and a passage of which nothing else is left is passed over.
(function (n) {
  "use strict";

  const DRAWN = 60_000; // units of text that a pane draws by itself
  const AROUND = 400; // units on either side of a passage that stay when a text is folded
  const INSIDE = 2500; // units at either end of a passage that stay
  const STEP = 20_000; // units that one more click draws
  const CONTEXT = 80; // units on either side of a passage that stay when only what is shared is shown

  class Pane {
    // text: {characters, pieces}; spans: code points, rising, apart; colours, partners: one for each span;
    // pages: where each page begins, in code points; template: what is not counted.
    constructor(text, spans, { label, colours, partners, pages = [], template = null, isOnlyShared = false }) {
      this.characters = text.characters;
      this.spans = spans;
      this.colours = colours;
      this.partners = partners;
      this.other = null;
      this.only = new Map(); // by segment: ranges of units that the other text does not have there
      this.current = -1;
      this.marks = new Map();
      this.pages = pages;
      this.template = template;
      this.isOnlyShared = isOnlyShared;
      this.drawings = 0; // how often it was drawn
      this.placed = -1; // where it was scrolled to by the page and not by its reader
      this.segments = segmentsOf(text, spans);
      this.breaks = breaksOf(this.segments, pages);
      this.held = [...new Set(this.segments.map((one) => one.span))].filter((i) => i >= 0); // passages that the page has
      this.grade();
      this.fold();
      this.box = n.make("div", {
        class: "text", dir: "auto", role: "group", tabindex: 0, "aria-label": label,
        onclick: (event) => this.clicked(event), onkeydown: (event) => this.pressed(event), onscroll: () => this.scrolled(),
      });
    }

    // What of each passage is no template, in ranges of units, and how many code points that is.
    grade() {
      this.kept = this.spans.map(([start, end]) => end - start);
      for (const one of this.segments) {
        if (one.span < 0) continue;
        one.rest = this.template?.rest(one.whole, one.from, one.to) ?? null;
        if (!one.rest) continue;
        const left = one.rest.reduce((sum, [from, to]) => sum + n.points(one.whole, from, to), 0);
        this.kept[one.span] -= one.points - left;
      }
      this.walked = this.held.filter((i) => this.kept[i] > 0);
    }

    // Grade and draw anew, for the template has changed.
    regrade() {
      this.grade();
      if (this.isOnlyShared) this.fold();
      this.strip();
      this.render();
    }

    // Show only what is shared, with a little of what is around it; or all.
    showOnlyShared(isOnly) {
      this.isOnlyShared = isOnly;
      this.fold();
      this.render();
    }

    // The code points that are shared and no template, of all that the spans have.
    get shared() {
      return this.kept.reduce((sum, points) => sum + points, 0);
    }

    // How much of each segment is drawn at first: its head and its tail in units, and from which segment on.
    fold() {
      const size = this.segments.reduce((sum, one) => sum + one.to - one.from, 0);
      this.isFolded = this.isOnlyShared || size > DRAWN;
      const last = this.segments.findLast((one) => !one.missing);
      for (const one of this.segments) {
        const isShared = one.span >= 0 && (!this.isOnlyShared || this.kept[one.span] > 0);
        const keep = isShared ? INSIDE : this.isOnlyShared ? CONTEXT : AROUND;
        const length = one.to - one.from;
        one.head = one.tail = keep;
        if (!this.isFolded || length <= 3 * keep) [one.head, one.tail] = [length, 0];
        else if (!isShared && this.isOnlyShared) {
          if (one.isFirst) one.head = 0;
          if (one === last) one.tail = 0;
        } else if (!isShared && one.isFirst) one.head = 2 * keep;
      }
      this.first = 0;
      this.last = this.reach(0, 1);
    }

    // The segment behind the last one that fits when drawing begins at `from` (or before it, by -1).
    reach(from, step) {
      let room = DRAWN;
      let i = from;
      for (; i >= 0 && i < this.segments.length; i += step) {
        const one = this.segments[i];
        room -= Math.min(one.head + one.tail, one.to - one.from) + 40;
        if (room < 0 && i !== from) break;
      }
      return i;
    }

    // The whole drawn anew, as far as it is unfolded.
    render() {
      this.marks = new Map();
      this.drawings++;
      const drawn = document.createDocumentFragment();
      const sum = (part) => part.reduce((total, one) => total + one.points, 0);
      const before = this.segments.slice(0, this.first);
      const behind = this.segments.slice(this.last);
      if (before.length) drawn.append(this.more(sum(before), () => this.window(this.reach(this.first - 1, -1) + 1)));
      for (const one of this.segments.slice(this.first, this.last)) this.drawSegment(drawn, one);
      if (behind.length) drawn.append(this.more(sum(behind), () => this.window(this.last)));
      this.box.replaceChildren(drawn);
      this.rove();
      this.scrolled();
      return this;
    }

    window(first) {
      this.first = Math.max(0, Math.min(first, this.segments.length - 1));
      this.last = this.reach(this.first, 1);
      this.render();
      this.place(0);
    }

    // Scroll to a place, and know that it was not the reader who did.
    place(top) {
      this.box.scrollTop = top;
      this.placed = this.box.scrollTop;
    }

    drawSegment(parent, one) {
      if (one.missing) {
        parent.append(n.make("span", { class: "gap is-left-out", role: "note" },
          `… ${n.many(one.points, "character")} left out of this page …`));
        return;
      }
      const length = one.to - one.from;
      if (one.head + one.tail >= length) {
        this.drawPart(parent, one, one.from, one.to);
        return;
      }
      const from = one.head ? n.snap(one.whole, one.from + one.head) : one.from;
      const to = one.tail ? n.snap(one.whole, one.to - one.tail) : one.to;
      if (from >= to) {
        this.drawPart(parent, one, one.from, one.to);
        return;
      }
      if (from > one.from) this.drawPart(parent, one, one.from, from);
      parent.append(this.more(n.points(one.whole, from, to), () => {
        one.head += STEP;
        this.render();
      }));
      if (to < one.to) this.drawPart(parent, one, to, one.to);
    }

    drawPart(parent, one, start, end) {
      if (one.span >= 0) {
        parent.append(this.mark(one, start, end));
        return;
      }
      let from = start;
      for (const [a, b] of this.only.get(one) ?? []) {
        if (b <= start || a >= end) continue;
        this.drawText(parent, one, from, a);
        this.drawText(parent.appendChild(n.make("span", { class: "only", title: "only in this text" })), one, a, b);
        from = b;
      }
      this.drawText(parent, one, from, end);
    }

    // Text with the beginnings of pages. They are told by a label that is no text, so that what is copied has none.
    drawText(parent, one, start, end) {
      let from = start;
      for (const [at, number] of this.breaks.get(one) ?? []) {
        if (at < from || at >= end) continue;
        n.appendText(parent, one.whole, from, at);
        const name = `page ${n.count(number)}`;
        parent.append(n.make("span", { class: "page-start", role: "img", "aria-label": name, "data-page": name }));
        from = at;
      }
      n.appendText(parent, one.whole, from, end);
    }

    mark(one, start, end) {
      const i = one.span;
      const isIgnored = this.kept[i] === 0;
      const what = `Passage ${n.count(i + 1)} of ${n.count(this.spans.length)}`;
      const part = n.make("span", {
        class: `mark ${isIgnored ? "is-ignored" : n.colour(this.colours[i])}`, role: "button", tabindex: -1, "data-mark": i,
        title: `${what}${isIgnored ? ", ignored" : ""}: see it in the other text`,
      });
      let from = start;
      for (const [a, b] of isIgnored ? [] : one.rest ?? []) {
        if (b <= start || a >= end) continue;
        if (a > from) this.drawText(part.appendChild(n.make("span", { class: "template" })), one, from, a);
        this.drawText(part, one, Math.max(a, from), Math.min(b, end));
        from = Math.min(b, end);
      }
      const isRest = one.rest && !isIgnored && from < end;
      this.drawText(isRest ? part.appendChild(n.make("span", { class: "template" })) : part, one, from, end);
      if (!this.marks.has(i)) this.marks.set(i, []);
      this.marks.get(i).push(part);
      return part;
    }

    more(length, call) {
      return n.make("button", {
        type: "button", class: "gap", "aria-label": `${n.many(length, "character")} not shown. Show more.`,
        onclick: () => {
          const top = this.box.scrollTop;
          call();
          if (this.box.scrollTop) this.place(top);
          this.box.focus({ preventScroll: true });
        },
      }, `… ${n.many(length, "character")} …`);
    }

    // One mark of a pane is in the tab order: the current one, else the first.
    rove() {
      const parts = this.marks.get(this.current) ?? this.marks.values().next().value;
      if (parts) parts[0].tabIndex = 0;
    }

    // The parts of a mark, drawn now if they were outside of what is shown; none when the report left them out.
    reveal(i) {
      if (!this.held.includes(i)) return [];
      if (!this.marks.has(i)) {
        const at = this.segments.findIndex((one) => one.span === i);
        this.window(at - 6);
        if (!this.marks.has(i)) this.window(at);
      }
      return this.marks.get(i);
    }

    // Bring a passage to the middle of the pane and let it flash.
    show(i, { focus = false } = {}) {
      const parts = this.reveal(i);
      if (!parts.length) {
        this.onlost?.(i);
        return;
      }
      for (const old of this.box.querySelectorAll('[tabindex="0"]')) old.tabIndex = -1;
      this.current = i;
      parts[0].tabIndex = 0;
      if (focus) parts[0].focus({ preventScroll: true });
      this.centre(parts);
      this.box.scrollIntoView({ block: "nearest" });
      for (const old of this.box.querySelectorAll(".is-shown")) old.classList.remove("is-shown");
      void this.box.offsetWidth; // so that the flash begins anew when the same passage is asked for again
      for (const part of parts) part.classList.add("is-shown");
      this.onshow?.(i);
    }

    centre(parts) {
      const box = this.box.getBoundingClientRect();
      const top = parts[0].getBoundingClientRect().top - box.top;
      const height = Math.min(parts.at(-1).getBoundingClientRect().bottom - box.top - top, box.height * 0.8);
      this.place(this.box.scrollTop + top + height / 2 - box.height / 2);
    }

    // Both texts at a passage of this one; the focus goes to the one that is named.
    jump(i, { stay = false, quiet = false } = {}) {
      const j = this.partners[i];
      if (stay || j < 0) {
        this.other.show(j);
        this.show(i, { focus: !quiet });
      } else {
        this.show(i);
        this.other.show(j, { focus: true });
      }
    }

    clicked(event) {
      const part = event.target.closest(".mark");
      if (part && window.getSelection().isCollapsed) this.jump(Number(part.dataset.mark));
    }

    pressed(event) {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const part = event.target.closest(".mark");
      if (!part) return;
      const i = Number(part.dataset.mark);
      const at = this.walked.indexOf(i);
      const last = this.walked.length - 1;
      const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.jump(i);
      } else if (to !== undefined) {
        event.preventDefault();
        if (to >= 0 && to <= last) this.jump(this.walked[to], { stay: true });
      }
    }

    // Where in the text the passages lie, as a strip. A click goes to the nearest.
    strip() {
      const { walked } = this;
      const label = `${n.many(walked.length, "shared passage")} in ${n.many(this.characters, "character")}`;
      const picture = n.strip(walked.map((i) => this.spans[i]), this.characters, walked.map((i) => this.colours[i]), { role: "img", "aria-label": label });
      this.seen ??= n.make("span", { class: "seen" });
      this.strips ??= n.make("div", { class: "strip", title: "Where the shared passages lie. Click to go there.",
        onclick: (event) => this.pointed(event) });
      this.strips.replaceChildren(picture, this.seen);
      return this.strips;
    }

    pointed(event) {
      if (!this.walked.length) return;
      const box = event.currentTarget.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * this.characters;
      const far = ([start, end]) => Math.max(start - place, place - end, 0);
      const best = this.walked.reduce((near, i) => (far(this.spans[i]) < far(this.spans[near]) ? i : near));
      this.jump(best, { stay: true });
    }

    // The part of the strip that is in view, where that can be told: in texts that are drawn as a whole.
    scrolled() {
      if (!this.seen) return;
      const { scrollTop, scrollHeight, clientHeight } = this.box;
      this.seen.hidden = this.isFolded || this.segments.some((one) => one.missing) || scrollHeight <= clientHeight + 1;
      this.seen.style.setProperty("left", `${(scrollTop / scrollHeight) * 100}%`);
      this.seen.style.setProperty("width", `${(clientHeight / scrollHeight) * 100}%`);
    }
  }

  // The text cut at the ends of its passages: [from, to) in units of a piece; span -1 between passages. What the report
  // left out between pieces is a segment of its own.
  function segmentsOf(text, spans) {
    const segments = [];
    let at = 0; // in code points of the original
    let k = 0;
    const leftOut = (until) => {
      if (until > at) segments.push({ missing: true, points: until - at, span: -1, from: 0, to: 0 });
    };
    for (const [start, whole] of text.pieces) {
      leftOut(start);
      const end = start + n.points(whole);
      while (k < spans.length && spans[k][1] <= start) k++;
      const places = [start];
      const owners = [];
      const cut = (place, span) => {
        if (place <= places.at(-1)) return;
        places.push(place);
        owners.push(span);
      };
      for (; k < spans.length && spans[k][0] < end; k++) {
        cut(spans[k][0], -1);
        cut(Math.min(spans[k][1], end), k);
        if (spans[k][1] > end) break; // it goes on in the next piece
      }
      cut(end, -1);
      const units = n.toUnits(whole, places, start);
      owners.forEach((span, i) => {
        const points = places[i + 1] - places[i];
        segments.push({ whole, span, points, start: places[i], end: places[i + 1], from: units[i], to: units[i + 1] });
      });
      at = end;
    }
    leftOut(text.characters);
    if (segments.length) segments[0].isFirst = true;
    return segments;
  }

  // The units at which pages begin inside of segments, with their numbers; the first page, with the text, has none.
  function breaksOf(segments, pages) {
    const breaks = new Map();
    if (pages.length < 2) return breaks;
    for (const one of segments) {
      const inside = pages.flatMap((start, at) => (!one.missing && start >= one.start && start < one.end ? [at] : []));
      if (!inside.length) continue;
      const units = n.toUnits(one.whole.slice(one.from, one.to), inside.map((at) => pages[at]), one.start);
      breaks.set(one, inside.map((at, k) => [one.from + units[k], at + 1]));
    }
    return breaks;
  }

  Object.assign(n, { Pane });
})(window.neardup);
