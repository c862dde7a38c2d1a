// The form of a memory: a new one, a correction in place, or a replacement.

import { go } from "./address.js";
import { call } from "./api.js";
import { button, h } from "./dom.js";
import { attempt, dialog, toast } from "./feedback.js";

export const TYPES = ["preference", "fact", "instruction", "context", "correction"];

/** Builds the form. `save(fields)` stores them; `close(saved)` is called after that and on Cancel. */
export function entryForm({ title, entry = {}, save, close }) {
  const text = h("textarea", { name: "content", rows: "4", maxlength: "2000", required: true, autofocus: true }, entry.content ?? "");
  const type = h("select", { name: "type" }, TYPES.map((name) => h("option", { value: name, selected: name === (entry.type ?? "fact") }, name)));
  const tags = h("input", { name: "tags", value: (entry.tags ?? []).join(", "), placeholder: "separated by commas" });
  const hidden = h("input", { type: "checkbox", name: "private", checked: Boolean(entry.private) });
  const submit = async (event) => {
    event.preventDefault();
    const fields = { content: text.value.trim(), type: type.value, tags: splitTags(tags.value), private: hidden.checked };
    if (await attempt(() => save(fields))) close(true);
  };
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  const form = h("form", { class: "edit", onsubmit: submit },
    h("h2", { id: "form-title" }, title),
    h("label", {}, "Text", text),
    h("div", { class: "row" }, h("label", {}, "Type", type), h("label", { class: "grow" }, "Tags", tags)),
    h("label", { class: "check" }, hidden, "Private: never shown in shared sessions"),
    h("div", { class: "buttons" }, button("Cancel", () => close(false)), h("button", { class: "primary" }, "Save")));
  return form;
}

export function splitTags(text) {
  return text.split(",").map((tag) => tag.trim()).filter(Boolean);
}

/** Asks for a new memory in a dialog. */
export function newMemory(entry = {}) {
  const node = dialog("form", entryForm({
    title: "New memory",
    entry: entry instanceof Event ? {} : entry,
    save: async (fields) => told(await call("memory_store", fields)),
    close: () => node.close(),
  }));
  node.setAttribute("aria-labelledby", "form-title");
}

/** Says how a memory was stored, and what it contradicts or repeats. */
function told(stored) {
  const see = ["Open", () => go(`entry/${stored.number}`)];
  if (stored.duplicate_of) return toast(`Already remembered as #${stored.number}`, { action: see });
  const other = stored.contradicts?.[0];
  if (other) return toast(`Stored as #${stored.number}. It contradicts: ${other.text}`, { kind: "warning", action: see });
  if (stored.resembles) return toast(`Stored as #${stored.number}. It resembles another memory.`, { action: see });
  toast(`Stored as #${stored.number}`, { action: see });
}
