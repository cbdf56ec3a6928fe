// The data of the report: the summary's stands in the page, the rest comes in chunks when it is asked for.
//
// A page from disk may not fetch, but it may load scripts: in a folder a chunk is one that calls `neardup.take`. In a
// single file it is an element of the page.
(function (n) {
  "use strict";

  const KEPT = 6; // chunks of texts, and of pairs, that stay in memory
  const waiting = new Map();
  const clusterChunks = new Map();
  const pairChunks = new Map();
  const peopleChunks = new Map();
  const pageChunks = new Map();

  n.take = (name, data) => waiting.get(name)?.resolve(data);

  const numbered = (kind, number) => `${kind}-${String(number).padStart(4, "0")}`;

  function load(name) {
    const inside = n.byId(name);
    if (inside) return Promise.resolve(JSON.parse(inside.textContent));
    if (!waiting.has(name)) {
      let settle;
      const promise = new Promise((resolve, reject) => { settle = { resolve, reject }; });
      waiting.set(name, { promise, ...settle });
      const script = n.make("script", { src: `data/${name}.js` });
      const done = () => {
        script.remove();
        waiting.delete(name);
      };
      script.onload = () => {
        settle.reject(new Error(`data/${name}.js is damaged. Make the report again.`)); // no effect when it was taken
        done();
      };
      script.onerror = () => {
        settle.reject(new Error(`data/${name}.js cannot be read. Keep the folder data beside index.html.`));
        done();
      };
      document.head.append(script);
    }
    return waiting.get(name).promise;
  }

  function once(cache, kind, number, kept) {
    const known = cache.get(number);
    if (known) {
      cache.delete(number); // to the end: the one that was not used for longest goes first
      cache.set(number, known);
      return known;
    }
    const promise = load(numbered(kind, number));
    cache.set(number, promise);
    promise.catch(() => cache.delete(number));
    if (cache.size > kept) cache.delete(cache.keys().next().value);
    return promise;
  }

  // The rows of clusters of a chunk.
  const clusterChunk = (number) => once(clusterChunks, "clusters", number, Infinity);

  // The rows of the list of pairs of a chunk.
  const pairChunk = (number) => once(pairChunks, "pairs", number, KEPT);

  // A cluster by its number: its row, and its members and pairs where the report has them (else null).
  async function cluster(number) {
    const { listed, chunk } = n.meta.clusters;
    if (!(number < listed)) return null;
    const rows = await clusterChunk(Math.floor(number / chunk));
    const at = number - rows.first;
    const row = Object.fromEntries(["keeper", "size", "least", "mean", "highest", "source", "opening", "page"].map((name) => [name, rows[name][at]]));
    if (row.page < 0) return { row, cluster: null, texts: [] };
    const pages = await once(pageChunks, "pages", row.page, KEPT);
    return { row, cluster: pages.clusters[number] ?? null, texts: pages.texts };
  }

  // The people of a report about copying.
  const peopleChunk = () => once(peopleChunks, "people", 0, 1);

  // A chunk of repeated passages: of their list, of their pages, of the list of documents, or of their pages.
  const repeatedChunks = Object.fromEntries(["repeats", "places", "losses", "documents"].map((kind) => [kind, new Map()]));
  const repeatedChunk = (kind, number) => once(repeatedChunks[kind], kind, number, KEPT);

  const sourceName = (number) => (number >= 0 ? n.meta.sources?.names[number] ?? "" : "");

  Object.assign(n, { clusterChunk, pairChunk, peopleChunk, repeatedChunk, cluster, sourceName });
})(window.neardup);
