// Texts that the reader wants to be ignored everywhere, such as the words of an assignment: a shingle that one of them has
// is not counted as shared.
//
// They stay in this browser, under the name of the report, and can be saved as the file that `neardup report --ignore` takes.
// Words and characters are compared here without regard to case, punctuation and the kind of white space; the next run
// does it by its spec.
(function (n) {
  "use strict";

  const PARTS = "\n---\n"; // between the texts of the file
  const JOINT = "\u0001";
  const WORDS = /[\p{L}\p{M}\p{N}]+/gu;
  const CHARACTERS = /\s+|\S/gu;

  class Template {
    constructor({ shingle, spec_id: spec, title }) {
      const [kind, size] = String(shingle).split(":");
      this.pattern = kind === "word" ? WORDS : kind === "item" ? /\S+/gu : CHARACTERS;
      this.size = Number(size) || 1;
      this.name = `neardup ignored ${spec} ${title}`;
      this.isKept = true; // in this browser
      this.texts = [];
      try {
        const stored = JSON.parse(localStorage.getItem(this.name) ?? "[]");
        if (Array.isArray(stored)) this.texts = stored.filter((text) => typeof text === "string" && text);
      } catch {
        this.isKept = false;
      }
      this.learn();
    }

    learn() {
      this.keys = new Set(this.texts.flatMap((text) => this.shingles(this.tokens(text))));
    }

    tokens(text) {
      return [...text.matchAll(this.pattern)].map((found) => ({ at: found.index, end: found.index + found[0].length,
        key: found[0].trim().toLowerCase() }));
    }

    shingles(tokens) {
      if (!tokens.length) return [];
      const width = Math.min(this.size, tokens.length);
      return Array.from({ length: tokens.length - width + 1 }, (_, at) => tokens.slice(at, at + width).map((one) => one.key).join(JOINT));
    }

    // The ranges of whole[from:to] that a shingle covers which no text of the template has; null where that is all.
    rest(whole, from, to) {
      if (!this.keys.size) return null;
      const tokens = this.tokens(whole.slice(from, to));
      const shingles = this.shingles(tokens);
      const isOther = shingles.map((key) => !this.keys.has(key));
      if (isOther.every(Boolean)) return null;
      const width = tokens.length - shingles.length + 1;
      const ranges = [];
      let last = -1; // token that is covered
      isOther.forEach((is, at) => {
        if (!is) return;
        const end = tokens[at + width - 1].end + from;
        if (at <= last) ranges.at(-1)[1] = end;
        else ranges.push([tokens[at].at + from, end]);
        last = at + width - 1;
      });
      return ranges;
    }

    change(texts) {
      this.texts = texts;
      this.learn();
      try {
        localStorage.setItem(this.name, JSON.stringify(texts));
        this.isKept = true;
      } catch {
        this.isKept = false;
      }
    }

    add(text) {
      if (text.trim() && !this.texts.includes(text)) this.change([...this.texts, text]);
    }

    remove(text) {
      this.change(this.texts.filter((one) => one !== text));
    }

    // The file for the next run: the texts, with a line of --- between two.
    file() {
      return `${this.texts.join(PARTS)}\n`;
    }

    save() {
      const address = URL.createObjectURL(new Blob([this.file()], { type: "text/plain;charset=utf-8" }));
      n.make("a", { href: address, download: "neardup-ignored.txt" }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    }
  }

  let template = null;

  // The one of this page; null where nothing is known of its spec.
  function pageTemplate() {
    if (!template && n.meta?.spec?.shingle) template = new Template({ ...n.meta, shingle: n.meta.spec.shingle });
    return template;
  }

  Object.assign(n, { Template, pageTemplate });
})(window.neardup);
