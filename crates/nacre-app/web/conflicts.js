// Conflicts between stored statements: both sides with their dates and sources. One key settles each.

import { call, hasTool } from "./api.js";
import { button, fileAddress, h, link, show } from "./dom.js";
import { attempt, toast } from "./feedback.js";
import { date } from "./format.js";

const TOOL = "memory_conflicts";

/** The open conflicts; none if the server does not report them. */
export async function openConflicts() {
  return await hasTool(TOOL) ? (await call(TOOL)).conflicts : [];
}

/** The id of a conflict among the decisions that wait. */
export function conflictId(conflict) {
  return `conflict-${conflict.number}`;
}

/** The row of a conflict in the list. `choose(row)` shows it. */
export function conflictRow(conflict, choose) {
  const row = h("article", { class: "item proposal", dataset: { id: conflictId(conflict) } },
    h("span", { class: "nocheck" }),
    h("div", { class: "middle" },
      link(`approvals/${conflictId(conflict)}`, { class: "cover", onclick: (event) => { event.preventDefault(); choose(row); } }, conflict.second.text),
      h("div", { class: "meta" }, h("span", { class: "warn" }, "contradicts"), h("span", {}, conflict.first.text))));
  return row;
}

/** Shows a conflict. `settled()` is called after a decision. Returns the keys that settle it. */
export function showConflict(detail, conflict, { settled, back }) {
  const { number, first, second } = conflict;
  const settle = (how) => attempt(async () => {
    const { note, proposals } = await call(TOOL, { number, ...how });
    const undo = () => attempt(async () => { await call(TOOL, { number, undo: true }); settled(); });
    toast(note ?? "Settled", proposals?.length || how.replace ? {} : { action: ["Undo", undo] });
    settled();
  });
  const keys = {
    1: () => settle({ keep: "first" }),
    2: () => settle({ keep: "second" }),
    b: () => settle({ keep: "both" }),
    e: () => edit(),
  };
  const time = (statement) => (statement.at ? Date.parse(statement.at) : -Infinity);
  const newer = time(second) >= time(first) ? second : first;
  const side = (statement, key) => h("article", { class: "card" },
    h("p", { class: "meta" }, h("strong", {}, statement === newer ? "Newer" : "Older"), h("span", {}, statement.at ? date(statement.at) : "undated")),
    h("p", { class: "content" }, statement.text),
    h("p", { class: "meta" }, origin(statement), statement.session && link(`sessions/${encodeURIComponent(statement.session)}?at=${encodeURIComponent(statement.at)}`, {}, "conversation")),
    h("div", { class: "buttons" }, button("Keep this one", keys[key], { key, kind: statement === newer ? "primary" : "" })));
  const buttons = h("div", { class: "buttons" }, button("Keep both", keys.b, { key: "b" }), button("Write another", keys.e, { key: "e" }));

  function edit() {
    const text = h("textarea", { rows: "3", maxlength: "2000", required: true, "aria-label": "The statement that replaces both" }, newer.text);
    const form = h("form", { onsubmit: (event) => { event.preventDefault(); settle({ replace: text.value.trim() }); } }, text,
      h("div", { class: "buttons" }, button("Cancel", () => form.replaceWith(buttons)), h("button", { class: "primary" }, "Replace both")));
    buttons.replaceWith(form);
    text.focus();
  }

  show(detail,
    link("approvals", { class: "back", onclick: back }, "‹ All approvals"),
    h("h2", {}, "Which one is right?"),
    h("div", { class: "sides" }, side(first, "1"), side(second, "2")), buttons);
  return keys;
}

/** Where a statement is stored, and who said it. */
function origin({ id, kind, source }) {
  const said = source && source !== kind ? ` by ${source === "person" ? "you" : source}` : "";
  if (kind === "document") return ["in ", link(fileAddress(...id.split(/:(?=\d+$)/)), {}, id)];
  if (kind === "entry") return [link(`entry/${id.replace("id:", "")}`, {}, `memory #${id.replace("id:", "")}`), said];
  return [`${kind} ${id}`, said];
}
