// One memory on its own page.

import { go } from "../address.js";
import { call } from "../api.js";
import { h, link, show } from "../dom.js";
import { entryCard } from "../entry-card.js";

export async function open(room, { rest: [id] }) {
  const card = h("article", { class: "card" });
  const keys = { Escape: () => history.back() };

  async function load() {
    const entry = await call("memory_get", { id: /^\d+$/.test(id) ? Number(id) : id });
    Object.assign(keys, entryCard(card, entry, {
      heading: "h1",
      changed: load,
      replaced: (number) => go(`entry/${number}`),
      deleted: { hide: () => go("memory"), restore: () => go(`entry/${entry.number}`) },
    }));
  }

  await load();
  show(room, h("nav", { class: "crumbs", "aria-label": "Path" }, link("memory", {}, "Memory"), " / ", `#${id}`), card);
  return { keys };
}
