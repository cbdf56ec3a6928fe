/* How the search of the site ranks, in place of Sphinx's own: what tells how a thing is done comes before lists of
   names and before what only mentions it. Sphinx gives 15 for a word of a title or heading, 5 for a word of the text.
   Whoever looks for `add_if_new` or `Index.query` means a name of Python. */
var Scorer = {
  score: ([page, , , , score, , kind]) => {
    const query = new URLSearchParams(window.location.search).get("q") ?? "";
    if (kind === "object" && /\w[._]\w/.test(query)) return score + 20;
    const [, weight] = Scorer.weights.find(([start]) => page.startsWith(start)) ?? ["", 0];
    return score + weight;
  },
  weights: [
    ["howto/questions", 4],
    ["howto/", 3],
    ["tutorial/", 3],
    ["coming-from/", 3],
    ["explanation/", 2],
    ["benchmarks/", -2],
    ["reference/", -2],
    ["project/", -3],
    ["development/", -3],
  ],

  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 0, 1: 0, 2: -5 },
  objPrioDefault: 0,

  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
