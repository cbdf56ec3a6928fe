// Asking the service, with the token if there is one, and saying in words why it refuses. For the page and for /docs.
(function (n) {
  "use strict";

  const { byId } = n;
  const token = byId("token");
  const BUSY = "The service is busy. Search again in a few seconds.";

  class Refused extends Error {
    constructor(status, message) {
      super(message);
      this.status = status;
    }
  }

  // The answer as it is; Refused only when none came.
  async function send(path, { method, body, kind = "application/json", signal } = {}) {
    const headers = {};
    if (body !== undefined) headers["Content-Type"] = kind;
    if (token.value) headers.Authorization = `Bearer ${token.value.trim()}`;
    try {
      return await fetch(path, { method: method ?? (body === undefined ? "GET" : "POST"), body, headers, signal, cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      if (error instanceof TypeError && /[^\x20-\x7e]/.test(token.value)) {
        throw new Refused(401, "A token is made of plain ASCII characters.");
      }
      throw new Refused(0, "The service cannot be reached. See that it is running, then try again.");
    }
  }

  // The JSON of a good answer; else Refused, with what to tell.
  async function ask(path, options) {
    const answer = await send(path, options);
    const value = await answer.json().catch(() => null);
    if (answer.ok && value) return value;
    throw new Refused(answer.status, refusal(answer, value));
  }

  function refusal(answer, value) {
    const said = value && typeof value.error === "string" ? value.error : "";
    if (answer.status === 401) {
      return token.value ? "The service does not take this token." : "The service asks for a token. Type it in above.";
    }
    if (answer.status === 413) return `The text is too long for the service. ${said}`;
    if (answer.status === 503) return BUSY;
    return said ? `The service says: ${said}` : `The service answered with status ${answer.status} and no reason.`;
  }

  // Let the token be typed in where it is what is missing. Other errors are no refusal, and go on.
  function explain(error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) {
      const box = byId("token-box");
      box.hidden = false;
      box.open = true;
      token.focus();
    }
    return error.message;
  }

  byId("token-form").addEventListener("submit", (event) => event.preventDefault());

  // The address of a document. A segment of dots would be taken for a folder.
  const documentPath = (id) => `documents/${encodeURIComponent(id).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E"))}`;

  // Cut, not rounded: what is not the same is never called 100%. The first product of a decimal may lie just below it.
  const percent = (share) => `${String(Math.floor(share * 1000 + 1e-9) / 10)}%`;

  Object.assign(n, { ask, send, explain, documentPath, percent, token });
})(window.neardup);
