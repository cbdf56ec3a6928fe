// The page on which pairs are judged: one at a time, by buttons or keys, until the command has what it needs.
(function (n) {
  "use strict";

  const KEYS = { y: "yes", n: "no", s: "skip", u: "undo", q: "stop" };
  let open = null; // the number of the question that waits for an answer

  async function follow() {
    let seen = 0;
    for (;;) {
      let state;
      try {
        const answer = await fetch(`state?after=${seen}`);
        if (!answer.ok) throw new Error(String(answer.status));
        state = await answer.json();
      } catch {
        ended("The command has ended or cannot be reached.", "This page can be closed. What was answered is kept; run the command again to go on.");
        return;
      }
      if (state.turn === seen) continue; // nothing new came for a while
      seen = state.turn;
      if (state.pair === null) {
        ended("Done. Thank you.", "The command tells what was found. This page can be closed.");
        return;
      }
      show(state);
    }
  }

  function show({ turn, number, budget, can_undo: canUndo, pair }) {
    const { members, texts } = pair;
    const [a, b] = members;
    open = turn;
    const shown = n.sideBySide({ a, b, texts, pair: pair.pair });
    n.byId("view").replaceChildren(n.make("div", { class: "pair is-page" }, shown.tools, n.make("div", { class: "workplace" }, shown.texts)));
    n.byId("question").textContent = "Are these duplicates, in the sense that you mean?";
    n.byId("count").textContent = `pair ${n.count(number)} of at most ${n.count(budget)}`;
    n.byId("bar").value = (number - 1) / budget;
    n.byId("answers").hidden = false;
    for (const button of buttons()) button.disabled = button.dataset.answer === "undo" && !canUndo;
    n.say(`Pair ${number}`);
    n.byId("question").focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }

  function ended(head, body) {
    open = null;
    n.byId("answers").hidden = true;
    n.byId("view").replaceChildren(n.make("p", {}, body));
    n.byId("question").textContent = head;
    n.byId("count").textContent = "";
    n.byId("bar").hidden = true;
    n.say(head);
  }

  const buttons = () => n.byId("answers").querySelectorAll("button");

  function reply(word) {
    const button = [...buttons()].find((one) => one.dataset.answer === word);
    if (open === null || button.disabled) return;
    const body = JSON.stringify({ turn: open, answer: word });
    open = null; // a second key before the next pair is for nothing
    for (const one of buttons()) one.disabled = true;
    fetch("answer", { method: "POST", headers: { "Content-Type": "application/json" }, body }).catch(() => {});
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const button of buttons()) button.addEventListener("click", () => reply(button.dataset.answer));
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
      const word = KEYS[event.key.toLowerCase()];
      if (word) reply(word);
    });
    follow();
  });
})(window.neardup);
