// Timeline: every write, decision and refusal in sentences, by day.

import { call } from "../api.js";
import { button, h, link, put, show } from "../dom.js";
import { attempt, empty, toast } from "../feedback.js";
import { clock, dayName } from "../format.js";
import { ACTORS, fold, kindOf, KINDS, sentence, subject } from "../sentences.js";

const PAGE = 300;
/** How many facts and relations are named. Rows about others have their counts. */
const MAX_KNOWN = 1000;
/** A fold with more rows opens only on request. */
const MAX_OPEN = 3;

export async function open(room, { query }) {
  const [memories, { proposals }, { tasks }] = await Promise.all([
    call("memory_search", { limit: 100, include_superseded: true }), call("proposal_list", { all: true }), call("task_list"),
  ]);
  const known = new Map([
    ...memories.hits.map((hit) => [hit.id, { text: hit.text, hash: `entry/${hit.number}` }]),
    ...proposals.map((one) => [`proposal:${one.number}`, { text: one.target, hash: one.state === "pending" ? `approvals/${one.number}` : null }]),
    ...tasks.map((task) => [task.id, { text: task.description, hash: "tasks" }]),
  ]);
  const undoable = new Set(proposals.filter((one) => one.state === "approved" && one.kind === "file").map((one) => `proposal:${one.number}`));

  const asked = { actor: query.get("actor") ?? "", kind: query.get("kind") ?? "" };
  const days = h("div", { class: "days" });
  const all = [];
  let before = null;
  let statements = null;

  const choice = (name, label, options) => {
    const node = h("select", { "aria-label": label, onchange: () => { asked[name] = node.value; draw(); } },
      options.map(([value, title]) => h("option", { value, selected: value === asked[name] }, title)));
    return node;
  };

  async function more() {
    const { rows, next } = await call("audit_list", { limit: PAGE, ...(before ? { before } : {}) });
    before = next ?? null;
    all.push(...rows);
    draw();
    if (!statements && rows.some((row) => row.ids.some((id) => /^(fact|relation)-/.test(id)))) nameStatements();
  }

  /** Gives rows about facts and relations their words. The lists may be long, so the timeline does not wait for them. */
  async function nameStatements() {
    statements = attempt(async () => {
      const args = { history: true, limit: MAX_KNOWN };
      const [{ facts }, { relations }] = await Promise.all([call("fact_list", args), call("relation_list", args)]);
      const words = (name) => name.replaceAll("_", " ");
      const note = (id, text, entity) => known.set(id, { text, hash: `graph?about=${encodeURIComponent(entity)}` });
      for (const { id, entity, key, value } of facts) note(id, `${entity}: ${words(key)} = ${value}`, entity);
      for (const { id, subject, predicate, object } of relations) note(id, `${subject} ${words(predicate)} ${object}`, subject);
      draw();
    });
  }

  function draw() {
    const wanted = all.filter((row) => (!asked.actor || row.actor === asked.actor) && (!asked.kind || kindOf(row) === asked.kind));
    // A fold that the user opened stays open.
    const opened = new Set([...days.querySelectorAll("details[open]")].map((fold) => fold.dataset.seq));
    show(days);
    let day = null;
    for (const { rows } of fold(wanted)) {
      const name = dayName(rows[0].at);
      if (day?.name !== name) {
        day = { name, list: h("ul", { class: "events" }) };
        put(days, h("section", {}, h("h2", {}, name), day.list));
      }
      day.list.append(item(rows, rows.length <= MAX_OPEN || opened.has(String(rows[0].seq))));
    }
    if (!wanted.length) put(days, all.length ? empty("Nothing matches", "Choose another filter, or load earlier events.") : empty("Nothing has happened yet", "Every write and every refusal will be listed here."));
    earlier.hidden = !before;
  }

  function item(rows, isOpen) {
    const one = rows.length === 1 ? subject(rows[0], known) : null;
    const first = rows[0];
    const said = first.session && first.actor === "agent" && kindOf(first) !== "upkeep" && link(`sessions/${encodeURIComponent(first.session)}?at=${encodeURIComponent(first.at)}`, { class: "meta" }, "In the conversation");
    return h("li", { class: first.outcome === "refused" ? "refused" : "" },
      h("time", { datetime: first.at }, clock(first.at)),
      h("span", { class: `dot kind-${kindOf(first)}` }),
      h("div", {},
        rows.length > 1 ? h("details", { open: isOpen, dataset: { seq: first.seq } }, h("summary", {}, sentence(rows)), h("ul", { class: "fold" }, rows.map((row) => h("li", {}, h("time", { datetime: row.at }, clock(row.at)), subject(row, known) ?? row.action.replaceAll("_", " "))), said && h("li", {}, said)))
          : [h("span", {}, sentence(rows), one && [": ", one]), said],
        first.action === "approve" && rows.length === 1 && undoable.has(first.ids[0]) && [" ", button("Undo", () => undo(first), { kind: "small" })]));
  }

  async function undo(row) {
    const number = Number(row.ids[0].split(":")[1]);
    if (!(await attempt(() => call("proposal_decide", { number, decision: "revert" })))) return;
    toast(`${known.get(row.ids[0])?.text ?? "The change"}: undone`);
    undoable.delete(row.ids[0]);
    all.length = 0;
    before = null;
    more();
  }

  const earlier = button("Earlier", () => attempt(more));
  show(room, h("h1", {}, "Timeline"),
    h("div", { class: "filters", role: "group", "aria-label": "Filters" },
      choice("actor", "Who", [["", "Everyone"], ...Object.entries(ACTORS)]), choice("kind", "What", [["", "Everything"], ...Object.entries(KINDS)])),
    days, h("div", { class: "buttons" }, earlier));
  await more();
  return {};
}
