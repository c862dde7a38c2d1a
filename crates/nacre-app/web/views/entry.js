// One memory: its text, source and history, and the actions on it.

import { call } from "../api.js";
import { age, ask, h, icon, link, put, show, toast } from "../dom.js";
import { diffLines } from "../diff.js";

const TYPES = ["preference", "fact", "instruction", "context", "correction"];

export async function open(room, { rest: [id] }) {
  let entry = null;
  const act = {};

  async function load() {
    entry = await call("memory_get", { id: /^\d+$/.test(id) ? Number(id) : id });
    draw();
  }

  async function judge(tool, words) {
    await call(tool, { id: entry.id });
    toast(words);
    await load();
  }

  function draw() {
    const past = Boolean(entry.superseded_by);
    show(room,
      h("nav", { class: "crumbs" }, link("search", {}, "Memory"), " / ", `#${entry.number}`),
      h("article", { class: `card ${past ? "past" : ""}` },
        h("div", { class: "line" },
          h("span", { class: `kind ${entry.type}` }, entry.type),
          entry.behavioral && h("span", { class: "note", title: "It tells the agent how to act; agents treat it as a suggestion" }, "behavioral"),
          entry.private && h("span", { class: "note" }, icon("lock"), "private"),
          h("span", { class: "score", title: "Raised by Reinforce, lowered by Demote" }, `score ${entry.score}`)),
        h("p", { class: "content" }, entry.content),
        h("div", { class: "meta" },
          (entry.tags ?? []).map((tag) => link(`search?tag=${encodeURIComponent(tag)}`, { class: "tag" }, tag)),
          h("span", {}, "stored ", age(entry.provenance.timestamp), ` by ${entry.provenance.source}`),
          entry.last_hit_at && h("span", {}, "confirmed ", age(entry.last_hit_at)),
          entry.last_returned_at && h("span", {}, "last shown ", age(entry.last_returned_at)),
          link(`sessions/${encodeURIComponent(entry.provenance.session)}`, { class: "quiet" }, "session")),
        h("div", { class: "buttons" },
          !past && h("button", { onclick: act.r, title: "r" }, "Reinforce"),
          !past && h("button", { onclick: act.d, title: "d" }, "Demote"),
          !past && h("button", { onclick: act.e, title: "e" }, "Edit"),
          !past && h("button", { onclick: () => edit(true) }, "Supersede"),
          h("button", { class: "danger", onclick: act.x, title: "x" }, "Delete"))),
      chain(), versions());
  }

  function chain() {
    const links = entry.chain ?? [];
    if (!links.length) return null;
    const whole = [...links, { id: entry.id, number: entry.number, content: entry.content, superseded_by: entry.superseded_by, here: true }]
      .sort((a, b) => a.number - b.number);
    return h("section", {}, h("h2", {}, "Replacements"),
      h("ol", { class: "chain" }, whole.map((one) => h("li", { class: one.here ? "here" : "" },
        one.here ? h("span", {}, h("code", {}, `#${one.number}`), " ", one.content)
          : link(`entry/${one.number}`, {}, h("code", {}, `#${one.number}`), " ", one.content)))));
  }

  function versions() {
    const all = entry.versions ?? [];
    if (!all.length) return null;
    const texts = [...all.map((one) => one.content), entry.content];
    return h("section", {}, h("h2", {}, "Earlier versions"),
      all.map((version, place) => h("div", { class: "version" },
        h("p", { class: "meta" }, "until ", age(version.until)),
        diffLines(version.content, texts[place + 1], "inline"))).reverse());
  }

  function edit(replace) {
    const text = h("textarea", { name: "content", rows: "5", maxlength: "2000", required: true }, entry.content);
    const type = h("select", { name: "type" }, TYPES.map((name) => h("option", { value: name, selected: name === entry.type }, name)));
    const tags = h("input", { name: "tags", value: (entry.tags ?? []).join(", ") });
    const hidden = h("input", { type: "checkbox", name: "private", checked: Boolean(entry.private) });
    const form = h("form", { class: "card edit", onsubmit: async (event) => {
      event.preventDefault();
      const fields = { content: text.value, type: type.value, tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean), private: hidden.checked };
      if (replace) {
        const stored = await call("memory_store", { ...fields, supersedes: entry.id });
        toast(`Stored as #${stored.number}, which replaces #${entry.number}`);
        location.hash = `#/entry/${stored.number}`;
      } else {
        await call("memory_update", { id: entry.id, ...fields });
        toast("Corrected; the earlier text is kept");
        await load();
      }
    } },
      h("h2", {}, replace ? "Replace with a new memory" : "Correct in place"),
      h("label", {}, "Text", text), h("div", { class: "row" }, h("label", {}, "Type", type), h("label", {}, "Tags", tags)),
      h("label", { class: "check" }, hidden, "private: never shown in shared sessions"),
      h("div", { class: "buttons" }, h("button", { type: "button", onclick: draw }, "Cancel"), h("button", { class: "primary" }, "Save")));
    room.querySelector(".card").replaceWith(form);
    text.focus();
    text.setSelectionRange(text.value.length, text.value.length);
  }

  Object.assign(act, {
    r: () => judge("memory_reinforce", "It now ranks higher"),
    d: () => judge("memory_demote", "It now ranks lower"),
    e: () => edit(false),
    x: async () => {
      if (!(await ask(`Delete #${entry.number}? It is erased everywhere, including its history.`, "Delete", true))) return;
      await call("memory_delete", { id: entry.id });
      toast("Deleted");
      location.hash = "#/search";
    },
    Escape: () => history.back(),
  });
  await load();
  return { keys: act };
}
