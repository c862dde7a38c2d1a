// The command palette: go to a view, run a command, or find a memory, from everywhere.

import { go } from "./address.js";
import { call } from "./api.js";
import { dialog } from "./feedback.js";
import { fits, picker } from "./picker.js";
import { VIEWS } from "./views.js";
import { newMemory } from "./entry-form.js";
import { hitAddress, hitTitle } from "./hits.js";

const MAX_HITS = 7;
const ICONS = { document: "files", source: "files", fact: "graph", relation: "graph", message: "sessions", exchange: "sessions", task: "tasks", item: "tasks" };

export function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  const then = (act) => () => { node.close(); act(); };
  const commands = [
    ...VIEWS.filter((view) => view.title).map((view) => ({ title: view.title, hint: `g ${view.key}`, icon: view.name, run: then(() => go(view.name)) })),
    { title: "New memory", hint: "c", icon: "add", run: then(newMemory) },
    { title: "Add a task", icon: "tasks", run: then(() => go("tasks?new=1")) },
    { title: "Switch between light and dark", icon: "sun", run: then(() => dispatchEvent(new Event("flip-theme"))) },
    { title: "Keyboard shortcuts", hint: "?", icon: "help", run: then(() => dispatchEvent(new Event("shortcuts"))) },
  ];
  let asking = null;
  const { node: box, box: input, update } = picker({
    label: "Go to a view, a memory or a command", placeholder: "Go to a view, a memory or a command", always: true,
    find: async (text) => {
      asking?.abort();
      asking = new AbortController();
      const named = commands.map((item) => ({ item, fit: fits(item.title, text) })).filter(({ fit }) => fit > 0);
      named.sort((a, b) => b.fit - a.fit);
      const found = named.map(({ item }) => item);
      if (text.length < 2) return text ? found : commands;
      const hits = await call("memory_search", { query: text, limit: MAX_HITS }, { signal: asking.signal }).then((answer) => answer.hits, () => []);
      const all = { title: `Search for “${text}”`, icon: "memory", run: then(() => go(`memory?q=${encodeURIComponent(text)}`)) };
      const memories = hits.map((hit) => ({ title: hitTitle(hit), hint: hit.type ?? hit.kind, icon: ICONS[hit.kind] ?? "memory", run: then(() => go(hitAddress(hit) ?? `memory?q=${encodeURIComponent(text)}`)) }));
      return [...found.slice(0, 4), ...memories, all];
    },
  });
  const node = dialog("palette", box);
  node.setAttribute("aria-label", "Command palette");
  // A search box would first empty itself.
  input.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.preventDefault(); node.close(); } });
  input.focus();
  update();
}
