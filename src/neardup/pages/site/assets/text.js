// Texts as they are: characters that are not seen shown by name, code points against UTF-16 units, colours of passages.
//
// Places in the data count code points; a string of JavaScript counts UTF-16 units: `toUnits` is the one place where
// the two meet.
(function (n) {
  "use strict";

  const NEAR = 24; // units within which a cut looks for a space
  const COLOURS = 6; // of passages, after which they begin anew
  const STRIP = 1000; // width of a strip, in its own units
  const LONG_PATH = 32; // characters of a path from which on its end stands for it

  // The table stands before the scripts, and is that of `neardup.shown`.
  const NAMES = n.unseen.names;
  const RANGES = n.unseen.ranges.map((ends) => ends.map((point) => `\\u{${point.toString(16)}}`).join("-")).join("");
  const UNSEEN = new RegExp(`[${RANGES}]`, "u");
  const UNSEEN_RUNS = new RegExp(`([${RANGES}])\\1*`, "gu");
  // Behind these a joiner shapes what is seen: emoji of several parts, Indic conjuncts, Persian.
  // Anchored at both ends: V8 does not find a class with characters beyond U+FFFF when only the end is.
  const SHAPED =
    /^[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f\p{Mn}\p{Mc}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}]$/u;

  function codeOf(point) {
    return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
  }

  function charBefore(whole, place) {
    return Array.from(whole.slice(Math.max(0, place - 2), place)).at(-1) ?? "";
  }

  // A stand-in for characters that are not seen. `data-code` has the character and `data-times` how often it stands
  // there, so that the page still holds all of the text.
  function hidden(char, times, isLineEnd) {
    const point = char.codePointAt(0);
    const code = { "data-code": point.toString(16), "data-times": times > 1 ? times : undefined };
    if (isLineEnd) return n.make("span", { class: "line-end", ...code });
    const name = (NAMES[point] ?? codeOf(point)) + (times > 1 ? ` ×${n.count(times)}` : "");
    return n.make("span", {
      class: "hidden", title: `${codeOf(point)}, not seen by itself`, "data-name": name, role: "img", "aria-label": name, ...code,
    });
  }

  // Append whole[start:end] to a parent, with what is not seen by name.
  function appendText(parent, whole, start = 0, end = whole.length) {
    const part = whole.slice(start, end);
    let from = 0;
    for (const found of part.matchAll(UNSEEN_RUNS)) {
      const [run, char] = found;
      const at = start + found.index;
      const isJoiner = char === "\u200c" || char === "\u200d";
      if (isJoiner && run === char && SHAPED.test(charBefore(whole, at))) continue;
      const isLineEnd = run === "\r" && whole[at + 1] === "\n";
      parent.append(part.slice(from, found.index));
      from = found.index + run.length;
      parent.append(hidden(char, run.length / char.length, isLineEnd));
    }
    parent.append(part.slice(from));
    return parent;
  }

  // A name that anybody may have chosen: isolated, so that its direction stays its own.
  function named(value, tag = "bdi") {
    return appendText(n.make(tag, { class: "id" }), String(value));
  }

  // What tells a long path from others of its kind: its end. The whole stands in the title.
  function brief(value, most = 60) {
    const whole = String(value);
    const end = endOfPath(whole, Math.min(most, LONG_PATH));
    const made = named(plain(end, most));
    if (end !== whole || whole.length > most) made.setAttribute("title", plain(whole, 1000));
    return made;
  }

  // The host of an address, if there is one and room for it, and as many last parts of a path as there is room for.
  function endOfPath(whole, room) {
    if (whole.length <= LONG_PATH) return whole;
    const scheme = whole.match(/^[a-z][a-z0-9+.-]*:\/\//i)?.[0] ?? "";
    const path = whole.slice(scheme.length).replace(/[/\\]+$/, "");
    if (path.length <= room) return path || whole;
    let host = scheme ? path.slice(0, path.indexOf("/") + 1) : "";
    const starts = Array.from(path.matchAll(/[/\\]/g), (found) => found.index + 1).filter((start) => start > host.length);
    if (!starts.length) return path;
    if (room < LONG_PATH && host.length + path.length - starts.at(-1) > room) host = "";
    const start = starts.find((each) => host.length + path.length - each <= room) ?? starts.at(-1);
    return `${host}…${path.slice(start - 1)}`;
  }

  // The same where only plain text may stand, such as a title.
  function plain(value, most = 120) {
    const chars = Array.from(String(value)).map((char) => (UNSEEN.test(char) ? `[${codeOf(char.codePointAt(0))}]` : char));
    return chars.length > most ? `${chars.slice(0, most - 1).join("")}…` : chars.join("");
  }

  // Rising places in code points, counted from `first`, as places in UTF-16 units of a text. One pass.
  function toUnits(whole, places, first = 0) {
    let point = first;
    let unit = 0;
    return places.map((target) => {
      for (; point < target && unit < whole.length; point++) unit += whole.codePointAt(unit) > 0xffff ? 2 : 1;
      return unit;
    });
  }

  // The code points between two places in units. A half of a pair without its other counts as one.
  function points(whole, start = 0, end = whole.length) {
    let number = 0;
    for (let unit = start; unit < end; number++) unit += whole.codePointAt(unit) > 0xffff ? 2 : 1;
    return number;
  }

  // The next place where a text may be cut in two: behind a space if one is near, and never inside a character.
  function snap(whole, place) {
    const space = whole.slice(place, place + NEAR).search(/\s/);
    if (space >= 0) place += space + 1;
    while (place < whole.length && /^(?:[\udc00-\udfff]|\p{M}|\u200d|\ufe0f)/u.test(whole.slice(place, place + 2))) place++;
    return place;
  }

  // The class of a passage that has the colour of this number, or a class of its own.
  const colour = (number) => (typeof number === "string" ? number : `k${number % COLOURS}`);

  // Where in a text of a size the spans lie, as a picture of any width. Spans, rising, and size in the same units.
  function strip(spans, size, colours, properties) {
    const picture = n.draw("svg", { viewBox: `0 0 ${STRIP} 1`, preserveAspectRatio: "none", ...properties });
    const scale = STRIP / Math.max(1, size);
    let drawn = -1;
    spans.forEach(([start, end], i) => {
      if (end * scale < drawn) return; // thinner than what is seen: a text may have thousands
      drawn = Math.max(end * scale, start * scale + 1);
      const width = Math.max(1, (end - start) * scale);
      picture.append(n.draw("rect", { x: start * scale, width, height: 1, class: colour(colours[i]) }));
    });
    return picture;
  }

  Object.assign(n, { appendText, named, brief, plain, toUnits, points, snap, colour, strip });
})(window.neardup);
