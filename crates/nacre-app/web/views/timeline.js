// Timeline: every write, decision and refusal in sentences, by day.

import { call } from "../api.js";
import { button, h, link, put, show } from "../dom.js";
import { attempt, empty, toast } from "../feedback.js";
import { clock, dayName } from "../format.js";
import { ACTORS, fold, kindOf, KINDS, sentence, subject } from "../sentences.js";

const PAGE = 300;
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
  }

  function draw() {
    const wanted = all.filter((row) => (!asked.actor || row.actor === asked.actor) && (!asked.kind || kindOf(row) === asked.kind));
    show(days);
    let day = null;
    for (const { rows } of fold(wanted)) {
      const name = dayName(rows[0].at);
      if (day?.name !== name) {
        day = { name, list: h("ul", { class: "events" }) };
        put(days, h("section", {}, h("h2", {}, name), day.list));
      }
      day.list.append(item(rows));
    }
    if (!wanted.length) put(days, all.length ? empty("Nothing matches", "Choose another filter, or load earlier events.") : empty("Nothing has happened yet", "Every write and every refusal will be listed here."));
    earlier.hidden = !before;
  }

  function item(rows) {
    const one = rows.length === 1 ? subject(rows[0], known) : null;
    const first = rows[0];
    return h("li", { class: first.outcome === "refused" ? "refused" : "" },
      h("time", { datetime: first.at }, clock(first.at)),
      h("span", { class: `dot kind-${kindOf(first)}` }),
      h("div", {},
        rows.length > 1 ? h("details", { open: rows.length <= MAX_OPEN }, h("summary", {}, sentence(rows)), h("ul", { class: "fold" }, rows.map((row) => h("li", {}, h("time", { datetime: row.at }, clock(row.at)), subject(row, known) ?? row.action.replaceAll("_", " ")))))
          : h("span", {}, sentence(rows), one && [": ", one]),
        first.session && first.actor === "agent" && kindOf(first) !== "upkeep" && [" ", link(`sessions/${encodeURIComponent(first.session)}?at=${encodeURIComponent(first.at)}`, { class: "meta" }, "conversation")],
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
