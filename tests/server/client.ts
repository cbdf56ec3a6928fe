// What a program in TypeScript does with the types that openapi-typescript makes: insert, query, stream, remove.
// test_clients.py compiles it against them and runs it against a service; the address and a token are its arguments.
import createClient from "openapi-fetch";
import type { components, paths } from "./api";

const [baseUrl, token] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
const fox = "the quick brown fox jumps over the lazy dog";

function check(is: boolean, what: string): void {
  if (!is) throw new Error(what);
}

async function main(): Promise<void> {
  const added = await client.POST("/documents", { body: { id: "fox", text: fox } });
  check(added.data?.status === "added", "insert");

  const found = await client.POST("/query", { body: { text: `${fox}!`, top: 3 } });
  check(found.data !== undefined && "hits" in found.data && found.data.hits[0].id === "fox", "query");

  const lines = ["a", "fox"].map((id) => JSON.stringify({ id, text: `${id} has a line of its own` })).join("\n");
  const told = await client.POST("/stream", {
    params: { query: { on_duplicate: "skip" } },
    body: lines,
    bodySerializer: (body) => body,
    headers: { "Content-Type": "application/octet-stream" },
    parseAs: "text",
  });
  const statuses = String(told.data).trim().split("\n").map((line) => JSON.parse(line) as components["schemas"]["LineStatus"]);
  check(statuses.map((each) => each.status).join() === "added,skipped", "stream");

  const removed = await client.DELETE("/documents/{id}", { params: { path: { id: "fox" } } });
  check(removed.response.status === 204, "remove");
  const gone = await client.GET("/documents/{id}", { params: { path: { id: "fox" } } });
  check(gone.error !== undefined && gone.error.field === "id", "problem");
  const old = await client.DELETE("/documents", { params: { query: { older_than: "1d", dry_run: true } } });
  check(old.data?.removed === 0, "remove by age");
  console.log("done");
}

void main();
