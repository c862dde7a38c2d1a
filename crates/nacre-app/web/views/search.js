// Search over the memory, with the same results that agents get, and the reasons for each hit.

import { call } from "../api.js";
import { age, empty, h, icon, link, marked, plural, put, show, problem } from "../dom.js";
import { List } from "../list.js";

const SCOPES = [["entries", "Memories"], ["memory", "Documents"], ["graph", "Facts"], ["sessions", "Conversations"], ["items", "Items"], ["sources", "Collections"]];
const USUAL = ["entries", "memory", "graph"];
const TYPES = ["", "preference", "fact", "instruction", "context", "correction"];

export async function open(room, { query }) {
  const asked = {
    query: query.get("q") ?? "",
    type: query.get("type") ?? "",
    tag: query.get("tag") ?? "",
    scope: (query.get("in") ?? "").split(",").filter(Boolean),
    past: query.get("past") === "1",
    why: query.get("why") === "1",
  };
  const hits = h("div", { class: "hits" });
  const list = new List(hits);
  const said = h("p", { class: "said", role: "status" });
  let running = null;

  const box = h("input", {
    type: "search", name: "q", value: asked.query, placeholder: "Search memories", autocomplete: "off",
    spellcheck: "false", "aria-label": "Search", oninput: () => { clearTimeout(box.soon); box.soon = setTimeout(change, 160); },
    onkeydown: (event) => { if (event.key === "ArrowDown") { event.preventDefault(); box.blur(); list.move(1); } },
  });
  const chip = ([scope, title]) => {
    const on = () => (asked.scope.length ? asked.scope : USUAL).includes(scope);
    const button = h("button", { type: "button", class: "chip", "aria-pressed": String(on()), onclick: () => {
      const now = new Set(asked.scope.length ? asked.scope : USUAL);
      now.has(scope) ? now.delete(scope) : now.add(scope);
      asked.scope = [...now];
      button.setAttribute("aria-pressed", String(on()));
      change();
    } }, title);
    return button;
  };
  const type = h("select", { "aria-label": "Type", onchange: () => { asked.type = type.value; change(); } },
    TYPES.map((name) => h("option", { value: name, selected: name === asked.type }, name || "any type")));
  const toggle = (name, title) => h("label", { class: "check" },
    h("input", { type: "checkbox", checked: asked[name], onchange: (event) => { asked[name] = event.target.checked; change(); } }), title);

  put(room,
    h("form", { class: "searchbar", role: "search", onsubmit: (event) => { event.preventDefault(); change(); } },
      icon("search"), box),
    h("div", { class: "filters" }, SCOPES.map(chip), type, toggle("past", "include superseded"), toggle("why", "explain")),
    asked.tag && h("p", { class: "said" }, "tagged ", h("span", { class: "tag" }, asked.tag), " ", link("search", {}, "all")),
    said, hits);

  function change() {
    asked.query = box.value;
    const words = new URLSearchParams();
    if (asked.query) words.set("q", asked.query);
    if (asked.type) words.set("type", asked.type);
    if (asked.tag) words.set("tag", asked.tag);
    if (asked.scope.length) words.set("in", asked.scope.join(","));
    if (asked.past) words.set("past", "1");
    if (asked.why) words.set("why", "1");
    history.replaceState(null, "", `#/search${words.size ? `?${words}` : ""}`);
    run();
  }

  async function run() {
    running?.abort();
    running = new AbortController();
    const args = { query: asked.query, limit: 50, explain: asked.why, include_superseded: asked.past };
    if (asked.type) args.type = asked.type;
    if (asked.tag) args.tags = [asked.tag];
    if (asked.scope.length && !(asked.type || asked.tag)) args.scope = asked.scope;
    const begun = performance.now();
    try {
      const found = await call("memory_search", args, { signal: running.signal });
      const took = Math.max(1, Math.round(performance.now() - begun));
      show(said, found.hits.length
        ? (asked.query ? `${plural(found.hits.length, "hit")} in ${took} ms` : `The newest ${plural(found.hits.length, "memory", "memories")}`)
        : "", found.missing.map((one) => h("span", { class: "warn" }, ` Missing: ${one}`)));
      list.set(found.hits.length ? found.hits.map(item)
        : empty(asked.query ? "Nothing found" : "No memories yet", found.note ?? ""));
      if (found.standing?.length) {
        put(hits, h("h2", {}, "Standing instructions and preferences that may apply"), found.standing.map(item));
      }
    } catch (error) {
      if (error.name !== "AbortError") show(hits, problem(error));
    }
  }

  function item(hit) {
    const words = hit.why.flatMap((why) => why.words ?? []);
    const address =
      hit.kind === "entry" ? `entry/${hit.number}`
      : hit.kind === "document" && !hit.collection ? `files/${hit.path.split("/").map(encodeURIComponent).join("/")}?line=${hit.lines[0]}`
      : hit.session ? `sessions/${encodeURIComponent(hit.session)}?at=${encodeURIComponent(hit.message ?? "")}`
      : hit.kind === "fact" || hit.kind === "relation" ? `graph?about=${encodeURIComponent(hit.text.split(/[:=]/)[0].trim())}`
      : null;
    const label = hit.kind === "entry" ? hit.type : hit.kind;
    const text = h("span", { class: "text" }, marked(hit.text, words));
    return h("article", { class: `item hit ${hit.superseded_by ? "past" : ""}` },
      h("div", { class: "line" },
        h("span", { class: `kind ${label}` }, label),
        address ? link(address, { class: "cover" }, text) : text),
      h("div", { class: "meta" },
        hit.kind === "entry" && h("code", {}, `#${hit.number}`),
        hit.path && h("code", {}, `${hit.collection ? `${hit.collection}: ` : ""}${hit.path}:${hit.lines[0]}`),
        hit.author && h("span", {}, hit.author),
        (hit.tags ?? []).map((tag) => link(`search?tag=${encodeURIComponent(tag)}`, { class: "tag" }, tag)),
        hit.superseded_by && h("span", { class: "warn" }, "superseded"),
        (hit.cites ?? []).slice(0, 2).map((cite) => h("code", {}, `${cite.path}:${cite.line}`)),
        age(hit.at),
        h("span", { class: "lanes", title: "Retrievers that found it" }, hit.why.map((why) => h("span", { class: `lane ${why.lane}` }, why.lane)))),
      hit.explain?.length && h("div", { class: "explain" }, hit.explain.map(part)));
  }

  await run();
  if (!matchMedia("(pointer: coarse)").matches) queueMicrotask(() => box.focus());
  const heard = ({ detail }) => { if (detail.name === "memory:write" && document.activeElement !== box) run(); };
  addEventListener("happened", heard);
  return {
    keys: { ...list.keys, Enter: () => list.current?.querySelector("a")?.click() },
    leave: () => { removeEventListener("happened", heard); running?.abort(); clearTimeout(box.soon); },
  };
}

/** Draws one part of a score as a bar. */
function part({ part, value }) {
  const width = Math.min(100, Math.abs(value) * 20);
  return h("span", { class: "part" }, h("span", {}, part),
    h("meter", { min: "0", max: "100", value: String(width), class: value < 0 ? "against" : "for", title: String(value) }),
    h("code", {}, value.toFixed(2)));
}
