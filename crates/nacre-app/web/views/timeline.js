// Every write, decision and refusal by day, from the audit log.

import { call } from "../api.js";
import { empty, h, link, plural, put, show } from "../dom.js";

const WORDS = { done: "", refused: "refused" };

export async function open(room) {
  const days = h("div", { class: "days" });
  let before = null;
  let last = null;

  async function more() {
    const { rows, next } = await call("audit_list", { limit: 200, ...(before ? { before } : {}) });
    before = next ?? null;
    for (const row of rows) {
      const day = new Date(row.at).toLocaleDateString(undefined, { weekday: "long", year: "numeric", month: "long", day: "numeric" });
      if (last?.day !== day) {
        last = { day, list: h("ul", { class: "events" }) };
        put(days, h("section", {}, h("h2", {}, day), last.list));
      }
      const ids = row.ids.map((id) => id.startsWith("mem-") ? link(`entry/${id}`, {}, `${id.slice(0, 12)}…`) : h("code", {}, id)).slice(0, 3);
      last.list.append(h("li", { class: row.outcome === "refused" ? "refused" : "" },
        h("time", { datetime: row.at }, new Date(row.at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })),
        h("span", { class: "what" }, row.action.replaceAll("_", " ")), WORDS[row.outcome] && h("span", { class: "warn" }, WORDS[row.outcome]),
        h("span", { class: "meta" }, row.actor, " ", ids, row.ids.length > 3 && ` and ${row.ids.length - 3} more`,
          " ", Object.entries(row.detail).map(([name, value]) => `${name} ${value}`).join(", "))));
    }
    button.hidden = !before;
    return rows.length;
  }

  const button = h("button", { onclick: more }, "Earlier");
  show(room, h("h1", {}, "Timeline"), days, h("div", { class: "buttons" }, button));
  if (!(await more())) show(days, empty("Nothing has happened yet", "Every write and refusal will be listed here."));
  return {};
}
