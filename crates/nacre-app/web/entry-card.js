// One memory with the actions on it, for the preview and for its own page.

import { call } from "./api.js";
import { button, h, icon, link, show } from "./dom.js";
import { diffLines } from "./diff.js";
import { entryForm } from "./entry-form.js";
import { ask, attempt, postpone, toast } from "./feedback.js";
import { age } from "./format.js";
import { ORIGINS } from "./hits.js";

const going = new Set();

/** Tells whether a memory was deleted and is only there until the time for Undo has passed. */
export function isGoing(id) {
  return going.has(id);
}

/** Erases memories after the time for Undo. `hide` takes them out of sight, `restore` brings them back. */
export async function deleteEntries(entries, { hide, restore }) {
  const what = entries.length === 1 ? `memory #${entries[0].number}` : `${entries.length} memories`;
  if (!(await ask(`Delete ${what}?`, "The text is erased everywhere, including its history.", "Delete"))) return;
  const ids = entries.map((entry) => entry.id);
  const stay = () => ids.forEach((id) => going.delete(id));
  ids.forEach((id) => going.add(id));
  hide();
  const erase = async (options) => {
    try {
      for (const id of ids) await call("memory_delete", { id }, options);
    } finally { stay(); }
  };
  postpone(`Deleted ${what}`, erase, () => { stay(); restore(); });
}

/** Fills `node` with a memory. `changed()` is called after an action, `deleted.hide()` and `deleted.restore()` around a deletion. */
export function entryCard(node, entry, { changed, deleted, replaced, heading = "h2" }) {
  const past = Boolean(entry.superseded_by || entry.superseded_at);
  const newer = (entry.chain ?? []).find((one) => one.id === entry.superseded_by);
  const rate = async (helpful) => {
    if (await attempt(() => call(helpful ? "memory_reinforce" : "memory_demote", { id: entry.id }))) {
      toast(helpful ? "It now ranks higher" : "It now ranks lower");
      changed();
    }
  };
  const actions = {
    e: () => edit(false),
    r: () => rate(true),
    d: () => rate(false),
    Delete: () => deleteEntries([entry], deleted),
  };

  function draw() {
    show(node,
      past && h("p", { class: "banner" }, h("span", {}, "Replaced", newer && [" by ", link(`entry/${newer.number}`, {}, `#${newer.number}`)], ". It is kept as history and is no longer used.")),
      entry.archived_at && h("p", { class: "banner" }, "Archived. It is no longer used.", button("Make current", async () => {
        if (await attempt(() => call("memory_unarchive", { id: entry.id }))) changed();
      })),
      h("div", { class: "line" },
        h("span", { class: "kind", dataset: { kind: entry.type } }, entry.type),
        h(heading, { class: "number" }, `Memory #${entry.number}`),
        entry.private && h("span", { class: "note" }, icon("lock"), "private"),
        h("span", { class: "score", title: "Helpful raises it, Not helpful lowers it" }, `usefulness ${entry.score}`)),
      h("p", { class: `content ${past ? "past" : ""}` }, entry.content),
      entry.stale?.length > 0 && h("p", { class: "warn" }, `Stale: ${entry.stale.join("; ")}.`),
      entry.behavioral && h("p", { class: "meta" }, "It tells agents how to act."),
      h("div", { class: "meta" }, (entry.tags ?? []).map((tag) => link(`memory?tag=${encodeURIComponent(tag)}`, { class: "tag" }, tag))),
      h("dl", { class: "facts" },
        fact("Stored", [age(entry.provenance.timestamp), " by ", h("span", { class: entry.origin === "untrusted" ? "warn" : "" }, ORIGINS[entry.origin] ?? entry.origin)]),
        entry.provenance.source !== "person" && fact("From", link(`sessions/${encodeURIComponent(entry.provenance.session)}?at=${encodeURIComponent(entry.provenance.timestamp)}`, {}, "the conversation that made it")),
        entry.provenance.project && fact("Project", entry.provenance.project),
        entry.last_hit_at && fact("Confirmed", age(entry.last_hit_at)),
        entry.last_returned_at && fact("Last shown to an agent", age(entry.last_returned_at))),
      h("div", { class: "buttons" },
        !past && button("Edit", actions.e, { key: "e", kind: "primary" }),
        !past && button("Replace", () => edit(true)),
        !past && button("Helpful", actions.r, { key: "r" }),
        !past && button("Not helpful", actions.d, { key: "d" }),
        button("Delete", actions.Delete, { key: "Delete", kind: "danger" })),
      replacements(entry, heading), versions(entry, heading));
  }

  function edit(replace) {
    const form = entryForm({
      title: replace ? `Replace #${entry.number}` : `Edit #${entry.number}`,
      entry,
      save: async (fields) => {
        if (!replace) {
          await call("memory_update", { id: entry.id, ...fields });
          toast("Saved; the earlier text is kept as history");
          return changed();
        }
        const stored = await call("memory_store", { ...fields, supersedes: entry.id });
        toast(`Stored as #${stored.number}, which replaces #${entry.number}`);
        replaced(stored.number);
      },
      // After a change the card is filled again.
      close: (saved) => { if (!saved) draw(); },
    });
    show(node, form);
    form.elements.content.focus();
    form.elements.content.setSelectionRange(entry.content.length, entry.content.length);
  }

  draw();
  return past ? { Delete: actions.Delete } : actions;
}

function fact(name, value) {
  return [h("dt", {}, name), h("dd", {}, value)];
}

function replacements(entry, heading) {
  const links = entry.chain ?? [];
  if (!links.length) return null;
  const whole = [...links, { ...entry, here: true }].sort((a, b) => a.number - b.number);
  return h("section", {}, h(heading === "h1" ? "h2" : "h3", {}, "Replacements"),
    h("ol", { class: "chain" }, whole.map((one) => h("li", { class: one.here ? "here" : "" },
      one.here ? [h("code", {}, `#${one.number}`), " ", one.content]
        : link(`entry/${one.number}`, {}, h("code", {}, `#${one.number}`), " ", one.content)))));
}

function versions(entry, heading) {
  const all = entry.versions ?? [];
  if (!all.length) return null;
  const texts = [...all.map((one) => one.content), entry.content];
  return h("section", {}, h(heading === "h1" ? "h2" : "h3", {}, "Earlier versions"),
    all.map((version, place) => h("div", { class: "version" },
      h("p", { class: "meta" }, "until ", age(version.until)),
      diffLines(version.content, texts[place + 1], { form: "inline", wholeFile: false }))).reverse());
}
