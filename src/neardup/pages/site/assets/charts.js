// Charts: bars of a histogram, each a link to its pairs, and small lines over the threshold, as SVG in the pixels of the
// page.
(function (n) {
  "use strict";

  const { ticks } = n.parts;
  const RIGHT = 12;
  const TOP = 18;
  const BOTTOM = 34;
  const SIDES = { wide: [56, 96], narrow: [40, 72] }; // of the axis, and for the bar of identical pairs
  const LEAST_HIT = 16; // height of what can be clicked of a bar that is lower
  const UNEVEN = 50; // times the middle bar: from there on linear counts show one bar and a line
  let serial = 0;

  const text = (x, y, value, properties = {}) => n.draw("text", { x, y, ...properties }, value);

  // Share of the height that a count takes.
  const scaled = (value, most, isLog) => (isLog ? Math.log10(1 + value) / Math.log10(1 + most) : value / most) || 0;

  function levels(most, isLog) {
    if (!isLog) return ticks(most);
    const found = [0];
    for (let level = 1; level <= most; level *= 10) found.push(level);
    return found.length > 2 ? found : [0, most];
  }

  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

  // Bars over [edges], the identical pairs as a bar of their own; what lies below t fades.
  function bars(bins, { width, height = 300, isLog, label }) {
    const { edges, counts, identical } = bins;
    const most = Math.max(1, identical, ...counts);
    const [low, high] = [edges[0], edges.at(-1)];
    const [left, apart] = width < 500 ? SIDES.narrow : SIDES.wide;
    const right = width - RIGHT - apart;
    const x = (value) => left + ((value - low) / (high - low || 1)) * (right - left);
    const y = (count) => TOP + (1 - scaled(count, most, isLog)) * (height - TOP - BOTTOM);
    const clip = `above-${++serial}`;
    const window = n.draw("rect", { x: left, y: 0, width: width - left, height });
    const chart = n.draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label });
    chart.append(n.draw("clipPath", { id: clip }, window));
    for (const level of levels(most, isLog)) {
      chart.append(n.draw("line", { class: "grid", x1: left, x2: width - RIGHT, y1: y(level), y2: y(level) }),
        text(left - 8, y(level) + 4, short.format(level), { class: "tick", "text-anchor": "end" }));
    }
    const links = n.draw("g", { class: "bar-links" });
    // A bar, and the link over it: to the list of pairs from one similarity up to below another.
    const bar = (from, to, number, told, values) => {
      const top = y(number);
      const gap = to - from > 4 ? 1 : 0;
      const name = `${told}: ${n.many(number, "pair")}`;
      const hit = Math.max(LEAST_HIT, height - BOTTOM - top);
      const link = n.draw("a", { href: n.listAddress("#/pairs", values), "aria-label": name, tabindex: links.childNodes.length ? -1 : 0 },
        n.draw("rect", { x: from, y: height - BOTTOM - hit, width: Math.max(1, to - from), height: hit }), n.draw("title", {}, name));
      links.append(link);
      return n.draw("rect", { x: from + gap / 2, y: top, width: Math.max(0.5, to - from - gap), height: height - BOTTOM - top });
    };
    const all = counts.map((number, i) =>
      number ? bar(x(edges[i]), x(edges[i + 1]), number, `${n.cut(edges[i])} to ${n.cut(edges[i + 1])}`, { from: edges[i], below: edges[i + 1] }) : null)
      .filter(Boolean);
    if (identical) all.push(bar(right + apart / 2 - 4, right + apart - 8, identical, "identical", { from: 1 }));
    links.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const every = [...links.childNodes];
      const now = every.indexOf(document.activeElement);
      if (!step || now < 0) return;
      event.preventDefault();
      const next = every[(now + step + every.length) % every.length];
      for (const link of every) link.setAttribute("tabindex", link === next ? 0 : -1);
      next.focus();
    });
    const faded = n.draw("g", { class: "bars is-below" }, ...all.map((shape) => shape.cloneNode(true)));
    const kept = n.draw("g", { class: "bars", "clip-path": `url(#${clip})` }, ...all);
    chart.append(faded, kept);
    for (const at of axisTicks(low, high, right - left)) {
      chart.append(text(x(at), height - BOTTOM + 18, at.toFixed(2), { class: "tick", "text-anchor": "middle" }));
    }
    chart.append(text(right + apart * 0.75 - 6, height - BOTTOM + 18, "identical", { class: "tick", "text-anchor": "middle" }));
    chart.append(links);
    const line = n.draw("line", { class: "at", y1: TOP - 10, y2: height - BOTTOM + 5 });
    const set = (t) => {
      const place = t >= high ? right + apart / 4 : x(t);
      if (!line.parentNode) chart.append(line);
      line.setAttribute("x1", place);
      line.setAttribute("x2", place);
      window.setAttribute("x", place);
    };
    const value = (place) => low + ((place - left) / (right - left)) * (high - low);
    return { chart, set, value, left, right: width - right };
  }

  function isUneven({ counts, identical }) {
    const some = [...counts, identical].filter(Boolean).sort((a, b) => a - b);
    return some.at(-1) > UNEVEN * some[Math.floor((some.length - 1) / 2)];
  }

  // What the histogram of a report is, for those who do not see it.
  function told({ counts, bins }) {
    return `Histogram of ${n.many(counts.pairs, "pair")} by similarity, from ${n.cut(bins.edges[0])} to 1. ` +
      `${n.many(bins.identical, "pair is", "pairs are")} identical. Each bar is a link to its pairs; arrow keys move from bar to bar.`;
  }

  // Draw a chart in its place, and again whenever the place has another width.
  function fitted(place, draw) {
    let width = 0;
    new ResizeObserver(() => { // it also calls when the view comes into the page
      if (place.clientWidth && place.clientWidth !== width) place.replaceChildren(draw(Math.max(300, Math.floor(place.clientWidth))));
      width = place.clientWidth;
    }).observe(place);
  }

  function axisTicks(low, high, width) {
    const span = high - low;
    const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((one) => (span / one) * 44 <= width) ?? 0.5;
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9; at += step) found.push(at);
    return found;
  }

  // A falling line of one number over t, with a dot at the t that is set.
  function line(values, t, { width, height = 88, label }) {
    const most = Math.max(1, ...values);
    const [low, high] = [t[0], t.at(-1)];
    const x = (value) => 6 + ((value - low) / (high - low || 1)) * (width - 12);
    const y = (value) => 8 + (1 - value / most) * (height - 14);
    const points = values.map((value, i) => `${x(t[i]).toFixed(1)} ${y(value).toFixed(1)}`);
    const chart = n.draw("svg", { class: "line-chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
    const dot = n.draw("circle", { r: 4, class: "dot" });
    const rule = n.draw("line", { class: "at", y1: 2, y2: height - 4 });
    chart.append(
      n.draw("path", { class: "area", d: `M${x(low)} ${height - 5} L${points.join(" L")} L${x(high)} ${height - 5} Z` }),
      n.draw("path", { class: "curve", d: `M${points.join(" L")}` }), rule, dot);
    const set = (i) => {
      dot.setAttribute("cx", x(t[i]));
      dot.setAttribute("cy", y(values[i]));
      rule.setAttribute("x1", x(t[i]));
      rule.setAttribute("x2", x(t[i]));
    };
    return { chart, set };
  }

  Object.assign(n, { charts: { bars, line, fitted, isUneven, told } });
})(window.neardup);
