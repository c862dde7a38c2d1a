// Memory: results as the user types, with a preview of the current one.

import { go, note } from "../address.js";
import { call } from "../api.js";
import { button, fileAddress, h, icon, link, marked, put, show } from "../dom.js";
import { deleteEntries, entryCard, isGoing } from "../entry-card.js";
import { newMemory, splitTags, TYPES } from "../entry-form.js";
import { attempt, empty, problem, toast } from "../feedback.js";
import { age, DAY, plural } from "../format.js";
import { body, cut, headings, hitAddress, hitPlace, hitSource, hitTitle, hitWords, ORIGINS, PARTS, reasons, recordLink } from "../hits.js";
import { List } from "../list.js";
import { markdown } from "../markdown.js";

// Where to search: the scope of the tool, the title, and the kinds of its hits.
const SCOPES = [
  ["entries", "Memories", ["entry"]],
  ["memory", "Documents", ["document"]],
  ["graph", "Facts", ["fact", "relation"]],
  ["sessions", "Conversations", ["message", "exchange"]],
  ["items", "Projects and tasks", ["item", "task"]],
  ["sources", "Collections", ["source"]],
];
const USUAL_SCOPES = ["entries", "memory", "graph"];
const AGES = [["", "Any time"], ["1", "Last day"], ["7", "Last week"], ["30", "Last month"], ["365", "Last year"]];
const MAX_HITS = 100;
/** How many rows are drawn at once: a screen of them. */
const FIRST_HITS = 20;
const PREVIEW_MS = 120;

export async function open(room, { query }) {
  const asked = {
    q: query.get("q") ?? "",
    type: query.get("type") ?? "",
    tag: query.get("tag") ?? "",
    days: query.get("days") ?? "",
    project: query.get("project") ?? "",
    source: query.get("source") ?? "",
    origin: query.get("origin") ?? "",
    in: (query.get("in") ?? "").split(",").filter(Boolean),
    past: query.get("past") ?? "",
  };
  const selected = new Map();
  let found = { hits: [], missing: [] };
  let running = null;
  let previewKeys = {};
  let previewed = null;

  const hits = h("div", { class: "hits" });
  const preview = h("aside", { class: "preview", "aria-label": "Preview" });
  const list = new List(hits, (item) => { clearTimeout(preview.soon); preview.soon = setTimeout(() => showPreview(item.hit), PREVIEW_MS); });
  const status = h("p", { class: "said", role: "status" });
  const bulk = h("div", { class: "bulk", hidden: true });
  const box = h("input", {
    type: "search", name: "q", value: asked.q, placeholder: "Search memories, documents and facts", autocomplete: "off",
    spellcheck: "false", "aria-label": "Search", oninput: typed,
    onkeydown: (event) => {
      const toList = () => list.choose(list.current ?? list.items[0]);
      if (event.key === "ArrowDown") { event.preventDefault(); toList(); }
      if (event.key === "Enter") { event.preventDefault(); if (box.value === asked.q) toList(); else change(); }
    },
  });
  const chips = SCOPES.map(([scope, title, kinds]) => {
    const count = h("span", { class: "chip-count" });
    const chip = h("button", { type: "button", class: "chip", onclick: () => {
      const now = new Set(scopes());
      now.has(scope) ? now.delete(scope) : now.add(scope);
      asked.in = [...now];
      change();
    } }, title, count);
    return { scope, kinds, chip, count };
  });
  const select = (name, label, options) => {
    const node = h("select", { "aria-label": label, onchange: () => { asked[name] = node.value; change(); } },
      options.map(([value, title]) => h("option", { value, selected: value === asked[name] }, title)));
    return node;
  };
  // Filters whose choices are what the hits have.
  const offered = [
    { name: "type", node: select("type", "Type", []), any: "Any type", all: TYPES, of: (hit) => hit.kind === "entry" && hit.type },
    { name: "project", node: select("project", "Project", []), any: "Any project", of: (hit) => hit.project },
    { name: "source", node: select("source", "Source", []), any: "Any source", of: hitSource },
    { name: "origin", node: select("origin", "Origin", []), any: "Written by anyone", of: (hit) => hit.origin, title: (origin) => ORIGINS[origin] ?? origin },
  ];
  const past = h("input", { type: "checkbox", checked: Boolean(asked.past), onchange: () => { asked.past = past.checked ? "1" : ""; change(); } });

  show(room,
    h("h1", { class: "hidden" }, "Memory"),
    h("div", { class: "searchrow" },
      h("form", { class: "searchbar", role: "search", onsubmit: (event) => event.preventDefault() }, icon("memory"), box),
      h("button", { type: "button", class: "primary new", title: "New memory (c)", "aria-label": "New memory", "aria-keyshortcuts": "c", onclick: newMemory }, icon("add"), h("span", { class: "label" }, "New memory"))),
    h("div", { class: "filters", role: "group", "aria-label": "Filters" },
      chips.map(({ chip }) => chip),
      offered[0].node, select("days", "Age", AGES), offered.slice(1).map(({ node }) => node),
      h("label", { class: "check" }, past, "replaced ones too"),
      asked.tag && h("span", { class: "tag" }, `tag: ${asked.tag} `, link("memory", { "aria-label": "Remove the tag filter" }, "×"))),
    h("div", { class: "panes" }, h("div", { class: "results" }, h("div", { class: "saidrow" }, status, bulk), hits), preview));

  function scopes() {
    return asked.in.length ? asked.in : USUAL_SCOPES;
  }

  function change() {
    asked.q = box.value;
    const words = new URLSearchParams(Object.entries(asked).filter(([, value]) => value.length).map(([name, value]) => [name, String(value)]));
    note(`memory${words.size ? `?${words}` : ""}`);
    list.choose(null);
    return run();
  }

  // Whoever types gets results at once. While a search runs, only the latest text waits: what is overtaken is never searched.
  let busy = false;
  let waiting = false;
  async function typed() {
    waiting = true;
    while (waiting && !busy) {
      waiting = false;
      busy = true;
      await change();
      busy = false;
    }
  }

  async function run() {
    running?.abort();
    running = new AbortController();
    const filtered = asked.type || asked.tag;
    const args = { query: asked.q.trim(), limit: MAX_HITS, explain: true, include_superseded: Boolean(asked.past) };
    if (asked.type) args.type = asked.type;
    if (asked.tag) args.tags = [asked.tag];
    if (!filtered) args.scope = scopes();
    try {
      found = await call("memory_search", args, { signal: running.signal });
      draw();
    } catch (error) {
      if (error.name !== "AbortError") show(hits, problem(error, run));
    }
  }

  function draw() {
    const since = asked.days ? Date.now() - Number(asked.days) * DAY : 0;
    offered.forEach(offer);
    const all = found.hits.filter((hit) => !isGoing(hit.id) && (!since || Date.parse(hit.at) >= since) && offered.every(({ name, of, all }) => all || !asked[name] || of(hit) === asked[name]));
    for (const { scope, kinds, chip, count } of chips) {
      const on = scopes().includes(scope) && (scope === "entries" || !(asked.type || asked.tag));
      chip.setAttribute("aria-pressed", String(on));
      count.textContent = on && asked.q ? all.filter((hit) => kinds.includes(hit.kind)).length : "";
    }
    const [strong, weak] = asked.q ? cut(all) : [all, []];
    const current = list.current?.hit.id;
    show(status, summary(all, strong), found.missing.map((one) => h("span", { class: "warn" }, ` Missing: ${one}`)));
    if (!all.length) {
      list.set(nothing());
      show(preview);
      return;
    }
    const top = h("div", {}, strong.slice(0, FIRST_HITS).map(row));
    const more = weak.length > 0 && h("button", { type: "button", class: "weaker", onclick: () => more.replaceWith(...weak.map(row)) },
      `${plural(weak.length, "weaker hit")}: show`);
    list.set(top, more, standing());
    // The rest follows once the first screen is there; a later search takes `top` away.
    setTimeout(() => { if (top.isConnected) put(top, strong.slice(FIRST_HITS).map(row)); });
    // The current hit stays the current one when the list is loaded again.
    if (wide()) list.choose(list.items.find((item) => item.hit.id === current) ?? list.items[0], { focus: false });
  }

  /** Offers what the hits have, with counts, the most frequent first. With nothing to choose between, the filter is hidden. */
  function offer({ name, node, any, of, all, title = String }) {
    const counts = new Map([...(all ?? []), ...(asked[name] ? [asked[name]] : [])].map((value) => [value, 0]));
    for (const value of found.hits.map(of)) if (value) counts.set(value, (counts.get(value) ?? 0) + 1);
    node.hidden = !counts.size;
    const choices = [...counts];
    if (!all) choices.sort(([, one], [, other]) => other - one);
    // The server leaves the other types out, so nobody can count them.
    const counted = (value, count) => all && asked[name] && asked[name] !== value ? title(value) : `${title(value)} (${count})`;
    show(node, h("option", { value: "" }, any), choices.map(([value, count]) => h("option", { value, selected: value === asked[name] }, counted(value, count))));
  }

  function summary(all, strong) {
    // The hits say it to the eye.
    if (!all.length) return h("span", { class: "hidden" }, "Nothing found");
    if (!asked.q) return `The newest ${plural(all.length, "memory", "memories")}`;
    return plural(strong.length, "hit");
  }

  function nothing() {
    if (asked.q || asked.type || asked.tag || asked.days || offered.some(({ name }) => asked[name])) return empty("Nothing found", found.note ? `${found.note}.` : "Try other words, or search in more places.");
    return empty("No memories yet", "Store what an agent should know in every session: a preference, a decision, a name.", button("New memory", newMemory, { kind: "primary" }));
  }

  function standing() {
    if (!found.standing?.length) return null;
    return [h("h2", {}, "Standing instructions that may apply"), found.standing.filter((hit) => !isGoing(hit.id)).map(row)];
  }

  function row(hit) {
    const words = hitWords(hit);
    const label = hit.kind === "entry" ? hit.type : hit.kind;
    const text = h("span", { class: "text" }, marked(hitTitle(hit), words));
    const where = hitPlace(hit);
    const item = h("article", { class: `item hit ${hit.past ? "past" : ""}` },
      hit.kind === "entry" ? checkbox(hit) : h("span", { class: "nocheck" }),
      h("span", { class: "kind", dataset: { kind: label } }, label),
      h("div", { class: "middle" },
        h("a", { class: "cover", href: `#/${hitAddress(hit) ?? "memory"}`, onclick: (event) => { if (wide()) { event.preventDefault(); list.choose(item); } } }, text),
        h("div", { class: "meta" }, where && h("span", { class: "where" }, where), hit.author && h("span", {}, hit.author),
          (hit.tags ?? []).slice(0, 4).map((tag) => link(`memory?tag=${encodeURIComponent(tag)}`, { class: "tag" }, tag)),
          hit.project && h("span", {}, hit.project), originMark(hit.origin),
          hit.newer && h("span", { class: "warn" }, "a newer statement says otherwise: ", recordLink(hit.newer.id, hit.newer.at)),
          hit.stale && h("span", { class: "warn", title: hit.stale.join("; ") }, "stale"),
          hit.past && h("span", { class: "warn" }, hit.past === "superseded" ? "replaced" : hit.past))),
      h("div", { class: "end" }, age(hit.at), asked.q && relevance(hit)));
    item.hit = hit;
    return item;
  }

  function checkbox(hit) {
    const node = h("input", { type: "checkbox", checked: selected.has(hit.id), "aria-label": `Select #${hit.number}`, onchange: () => {
      node.checked ? selected.set(hit.id, hit) : selected.delete(hit.id);
      drawBulk();
    } });
    return node;
  }

  function drawBulk() {
    const some = [...selected.values()];
    bulk.hidden = !some.length;
    const clear = () => { selected.clear(); for (const node of hits.querySelectorAll("input:checked")) node.checked = false; drawBulk(); };
    const tags = h("input", { "aria-label": "Tags to add", placeholder: "tags to add", onkeydown: (event) => { if (event.key === "Enter") add(); } });
    async function add() {
      const more = splitTags(tags.value);
      if (!more.length) return tags.focus();
      await tagAll(some, more);
      clear();
      run();
    }
    show(bulk, h("strong", {}, `${some.length} selected`), tags, button("Tag", add),
      button("Delete", () => deleteEntries(some, { hide: () => { clear(); draw(); }, restore: draw }), { kind: "danger" }), button("Clear", clear));
  }

  async function showPreview(hit) {
    // A text that is being edited stays.
    if (!hit || !wide() || (previewed === hit.id && preview.querySelector("form"))) return;
    previewed = hit.id;
    const card = h("article", { class: "card" });
    previewKeys = {};
    if (hit.kind === "entry") {
      try {
        const entry = await call("memory_get", { id: hit.id });
        if (list.current?.hit !== hit) return;
        previewKeys = entryCard(card, entry, {
          changed: () => { previewed = null; showPreview(hit); },
          replaced: () => run(),
          deleted: { hide: draw, restore: draw },
        });
      } catch (error) { show(card, problem(error)); }
    } else {
      const path = headings(hit);
      const address = hitAddress(hit);
      put(card,
        h("div", { class: "line" }, h("span", { class: "kind", dataset: { kind: hit.kind } }, hit.kind), h("h2", {}, path.at(-1) ?? hit.title ?? hit.author ?? hitPlace(hit) ?? "Known in the graph")),
        hit.path && h("p", { class: "meta" }, h("code", {}, `${hit.collection ? `${hit.collection}: ` : ""}${hit.path}:${hit.lines[0]}`)),
        hit.kind === "document" ? markdown(body(hit)) : h("p", { class: "content" }, marked(hit.text, hitWords(hit))),
        (hit.cites ?? []).length > 0 && h("p", { class: "meta" }, "From ", hit.cites.slice(0, 3).map((cite) => link(fileAddress(cite.path, cite.line), {}, `${cite.path}:${cite.line} `))),
        h("p", { class: "meta" }, hit.at && age(hit.at), hit.origin && h("span", {}, `written by ${ORIGINS[hit.origin] ?? hit.origin}`)),
        address && h("div", { class: "buttons" }, link(address, { class: "button" }, hit.session ? "Open the conversation" : hit.path ? "Open the file" : "Open the graph")));
    }
    show(preview, card, asked.q && why(hit));
  }

  /** Why a hit was found, in words; the numbers are behind a click. Parts that are equal for all hits explain nothing. */
  function why(hit) {
    const parts = (hit.explain ?? []).filter(({ part, value }) => found.hits.some((other) => (other.explain ?? []).find((one) => one.part === part)?.value !== value));
    const top = Math.max(...parts.map(({ value }) => Math.abs(value)), 0.01);
    const words = reasons(hit);
    return h("section", { class: "why" }, h("h2", {}, "Why it was found"),
      h("p", {}, words.length ? `${words.join("; ")}.` : "It belongs to another hit."),
      parts.length > 0 && h("details", {}, h("summary", {}, "Parts of its score"),
        h("dl", { class: "parts" }, parts.map(({ part, value }) => [h("dt", {}, PARTS[part] ?? part), h("dd", {},
          h("span", { class: `bar ${value < 0 ? "against" : ""}`, style: { width: `${Math.max(2, (Math.abs(value) / top) * 60)}%` } }), value.toFixed(2))]))));
  }

  const onCurrent = (act) => () => list.current && act(list.current);
  const keys = {
    ...list.keys,
    Enter: onCurrent((item) => go(hitAddress(item.hit) ?? "memory")),
    x: onCurrent((item) => item.querySelector("input[type=checkbox]")?.click()),
    Escape: () => { box.focus(); box.select(); },
  };
  for (const key of ["e", "r", "d", "Delete"]) keys[key] = () => previewKeys[key]?.();

  const heard = ({ detail }) => { if (detail.name === "memory:write" && !preview.querySelector("form")) run(); };
  addEventListener("happened", heard);
  await run();
  return {
    focus: matchMedia("(pointer: coarse)").matches ? null : box,
    keys,
    leave: () => { removeEventListener("happened", heard); waiting = false; running?.abort(); clearTimeout(preview.soon); },
  };
}

/** The origin of a hit, where it is not the user's own word. A document's hit has its path. */
function originMark(origin) {
  if (!origin || origin === "person" || origin === "document") return null;
  return h("span", { class: origin === "untrusted" ? "warn" : "" }, ORIGINS[origin] ?? origin);
}

const WIDE = matchMedia("(min-width: 1100px)");
const wide = () => WIDE.matches;

/** How much of the question a hit matches, as a bar. */
function relevance(hit) {
  const share = Math.round(hit.relevance * 100);
  return h("span", { class: "relevance", role: "img", "aria-label": `matches ${share}% of the question`, title: `Matches ${share}% of the question` },
    h("span", { style: { width: `${Math.max(4, share)}%` } }));
}

/** Adds tags to memories. Undo puts the earlier tags back. */
async function tagAll(hits, tags) {
  const set = (hit, all) => call("memory_update", { id: hit.id, tags: all });
  const done = await attempt(async () => {
    for (const hit of hits) await set(hit, [...new Set([...(hit.tags ?? []), ...tags])]);
  });
  if (done) {
    toast(`Tagged ${plural(hits.length, "memory", "memories")}`, { action: ["Undo", () => attempt(async () => {
      for (const hit of hits) await set(hit, hit.tags ?? []);
    })] });
  }
}
