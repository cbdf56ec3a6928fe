// Small parts that every view uses: elements, numbers, words. Texts become text nodes, never markup.
(function (n) {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  const format = new Intl.NumberFormat("en");

  function set(element, properties) {
    for (const [key, value] of Object.entries(properties)) {
      if (value === undefined || value === null) continue;
      if (key === "text") element.textContent = value;
      else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (key === "style") for (const [name, to] of Object.entries(value)) element.style.setProperty(name, to);
      else if (value === true) element.setAttribute(key, "");
      else if (value !== false) element.setAttribute(key, value);
    }
  }

  // make("p", { class: "soft", onclick: … }, "text", element, …)
  function make(name, properties = {}, ...children) {
    const element = document.createElement(name);
    set(element, properties);
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  function draw(name, properties = {}, ...children) {
    const element = document.createElementNS(SVG, name);
    set(element, properties);
    element.append(...children);
    return element;
  }

  const byId = (id) => document.getElementById(id);
  const count = (number) => format.format(number);
  const many = (number, one, more = `${one}s`) => `${count(number)} ${number === 1 ? one : more}`;

  // Cut, not rounded: what is less than 1 never reads 1. The product of a decimal may lie just below it.
  function cut(value, digits = 3) {
    const scale = 10 ** digits;
    const kept = Math.floor(value * scale + 1e-9);
    return ((value < 1 ? Math.min(kept, scale - 1) : kept) / scale).toFixed(digits);
  }

  // A threshold as it was given.
  const exact = (value) => String(Number(value.toPrecision(10)));

  // A share as per cent, cut.
  function share(value) {
    const kept = Math.floor(value * 1000 + 1e-9);
    return `${((value < 1 ? Math.min(kept, 999) : kept) / 10).toFixed(1)}%`;
  }

  // A share of something counted, rounded as the summary of the command tells it.
  function partOf(part, whole) {
    if (!part || part === whole) return part ? "100%" : "0%";
    const percent = (100 * part) / whole;
    if (percent < 0.1) return "< 0.1%";
    return percent > 99.9 ? "> 99.9%" : `${percent.toFixed(1)}%`;
  }

  // Tell those who do not see the page what has changed.
  function say(message) {
    byId("said").textContent = message;
  }

  function parse(id) {
    return JSON.parse(byId(id).textContent);
  }

  // Call when nothing came for a moment.
  function later(call, milliseconds) {
    let timer = 0;
    return (...values) => {
      clearTimeout(timer);
      timer = setTimeout(() => call(...values), milliseconds);
    };
  }

  // The skip link: the address names the view, so its own anchor may not go there.
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.(".skip")) return;
    event.preventDefault();
    byId("main").focus();
  });

  Object.assign(n, { make, draw, byId, count, many, cut, exact, share, partOf, say, parse, later });
})(window.neardup);
