// The description of the API, /openapi.json, to be read and tried. What a description may hold and ours does not (cookies,
// callbacks, other servers, schemas by any but $ref, anyOf and properties) is not looked for.
(function (n) {
  "use strict";

  const { ask, byId, explain, make, send, token } = n;
  const METHODS = ["get", "post", "delete"];
  const code = (text) => make("code", {}, text);

  // ---- types -----------------------------------------------------------------------------------------------------

  const nameOf = (ref) => ref.split("/").at(-1);

  // A type in few words; names of schemas are links to them.
  function type(schema) {
    if (schema.$ref) return [make("a", { href: `#schema-${nameOf(schema.$ref)}` }, nameOf(schema.$ref))];
    if (schema.const !== undefined) return [code(JSON.stringify(schema.const))];
    if (schema.enum) return [schema.enum.map((one) => JSON.stringify(one)).join(", ")];
    const some = schema.anyOf ?? schema.oneOf;
    if (some && !schema.type) return some.flatMap((one, i) => (i ? [" or ", ...type(one)] : type(one)));
    if (schema.type === "array" && schema.items) return ["list of ", ...type(schema.items)];
    return [schema.type ?? "any"];
  }

  const LIMITS = {
    minimum: "at least", exclusiveMinimum: "above", maximum: "at most", minLength: "characters at least",
    maxLength: "characters at most", maxItems: "items at most", minItems: "items at least",
  };

  function limits(schema) {
    const parts = [schema, ...(schema.anyOf ?? [])].flatMap((one) =>
      Object.entries(LIMITS).filter(([name]) => one[name] !== undefined).map(([name, words]) => `${words} ${one[name]}`));
    if (schema.default !== undefined) parts.push(`default ${JSON.stringify(schema.default)}`);
    return parts.length ? ` (${[...new Set(parts)].join(", ")})` : "";
  }

  function field(name, schema, isRequired, about = schema.description ?? "") {
    return [make("dt", {}, code(name), " ", ...type(schema), limits(schema), isRequired ? make("strong", {}, " required") : null),
      make("dd", {}, about)];
  }

  function schemaView(name, schema) {
    const required = schema.required ?? [];
    const fields = Object.entries(schema.properties ?? {}).flatMap(([one, inner]) => field(one, inner, required.includes(one)));
    return make("details", { class: "card operation", id: `schema-${name}` },
      make("summary", {}, make("span", { class: "path" }, name), make("span", { class: "about" }, schema.description ?? "")),
      make("div", {}, make("dl", { class: "fields" }, ...fields)));
  }

  // ---- an operation ----------------------------------------------------------------------------------------------

  const parameterText = (one) => `${one.description ?? ""}${one.in === "path" ? " In the path." : ""}`;

  function responses(operation) {
    return Object.entries(operation.responses).flatMap(([status, answer]) => {
      const content = Object.entries(answer.content ?? {}).flatMap(([kind, { schema }], i) => [i ? ", " : " ", ...type(schema), ` (${kind})`]);
      return [make("dt", {}, code(status), ...content), make("dd", {}, answer.description)];
    });
  }

  function tryIt(path, method, parameters, content) {
    const place = `${method}-${path}`.replace(/\W+/g, "-");
    const inputs = parameters.map((one) => {
      const id = `${place}-${one.name}`;
      const words = one.schema.enum ?? (one.schema.type === "boolean" ? ["false", "true"] : null);
      const value = words
        ? make("select", { id }, ...[...(one.required ? [] : [""]), ...words].map((word) => make("option", { value: word }, word)))
        : make("input", { type: "text", id, autocomplete: "off", spellcheck: "false" });
      return { one, value, label: make("label", { for: id }, one.name) };
    });
    const kinds = Object.keys(content);
    const kind = kinds.length > 1 ? make("select", { id: `${place}-kind` }, ...kinds.map((one) => make("option", { value: one }, one))) : null;
    const body = kinds.length ? make("textarea", { id: `${place}-body`, rows: 5, spellcheck: "false" }) : null;
    const fill = () => {
      const { example } = content[kind?.value ?? kinds[0]];
      body.value = typeof example === "string" ? example : JSON.stringify(example, null, 1);
    };
    if (body) fill();
    kind?.addEventListener("change", fill);
    const answer = make("pre", { class: "answer", role: "status", tabindex: 0, "aria-label": "Answer", hidden: true });

    async function go(event) {
      event.preventDefault();
      answer.hidden = false;
      answer.textContent = "…";
      const given = inputs.filter(({ value }) => value.value !== "");
      let address = path;
      for (const { one, value } of inputs) if (one.in === "path") address = n.documentPath(value.value);
      const query = new URLSearchParams(given.filter(({ one }) => one.in === "query").map(({ one, value }) => [one.name, value.value]));
      try {
        const options = { method: method.toUpperCase(), body: body?.value, kind: kind?.value ?? kinds[0] };
        const got = await send(address.replace(/^\//, "") + (query.size ? `?${query}` : ""), options);
        const text = await got.text();
        const isJson = got.headers.get("content-type") === "application/json";
        answer.textContent = `${got.status}\n${isJson ? JSON.stringify(JSON.parse(text), null, 1) : text}`;
      } catch (error) {
        answer.textContent = explain(error);
      }
    }

    return make("form", { class: "try", novalidate: true, onsubmit: go },
      ...inputs.flatMap(({ label, value }) => [label, value]),
      kind ? make("label", { for: kind.id }, "Content-Type") : null, kind,
      body ? make("label", { for: body.id }, "Body") : null, body,
      make("p", {}, make("button", { type: "submit", class: "main" }, "Send")), answer);
  }

  function operationView(path, method, operation, shared) {
    const parameters = [...shared, ...(operation.parameters ?? [])];
    const content = operation.requestBody?.content ?? {};
    const details = make("details", { class: "card operation", id: operation.operationId },
      make("summary", {}, make("span", { class: "method" }, method.toUpperCase()), make("span", { class: "path" }, path),
        make("span", { class: "about" }, operation.summary)));
    details.addEventListener("toggle", () => {
      if (!details.open || details.childElementCount > 1) return;
      const fields = parameters.flatMap((one) => field(one.name, one.schema, one.required, parameterText(one)));
      const bodies = Object.entries(content).flatMap(([kind, { schema }]) => [make("dt", {}, ...type(schema)), make("dd", {}, kind)]);
      details.append(make("div", {},
        ...(fields.length ? [make("h3", {}, "Parameters"), make("dl", { class: "fields" }, ...fields)] : []),
        ...(bodies.length ? [make("h3", {}, "Body"), make("dl", { class: "fields" }, ...bodies)] : []),
        make("h3", {}, "Answers"), make("dl", { class: "fields" }, ...responses(operation)),
        make("h3", {}, "Try it"), tryIt(path, method, parameters, content)));
    });
    return details;
  }

  // ---- the page --------------------------------------------------------------------------------------------------

  function follow() {
    const to = byId(decodeURIComponent(location.hash.slice(1)));
    if (to?.matches("details")) {
      to.open = true;
      to.scrollIntoView({ block: "start" });
    }
  }

  async function show() {
    try {
      const described = await ask("openapi.json");
      byId("title").textContent = `API of neardup ${described.info.version}`;
      byId("about").replaceChildren(described.info.description, " As ", make("a", { href: "openapi.json" }, `OpenAPI ${described.openapi}`), ".");
      byId("operations").replaceChildren(...Object.entries(described.paths).flatMap(([path, item]) =>
        METHODS.filter((method) => item[method]).map((method) => operationView(path, method, item[method], item.parameters ?? []))));
      byId("schemas").replaceChildren(make("h2", {}, "Schemas"),
        ...Object.entries(described.components.schemas).map(([name, schema]) => schemaView(name, schema)));
      follow();
    } catch (error) {
      byId("about").textContent = explain(error);
    }
  }

  window.addEventListener("hashchange", follow);
  token.addEventListener("change", () => {
    byId("token-box").open = false;
    show();
  });
  show();
})(window.neardup);
