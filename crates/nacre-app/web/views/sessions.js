// Archived conversations, message by message.

import { call } from "../api.js";
import { age, empty, h, link, plural, put, show } from "../dom.js";
import { List } from "../list.js";

export async function open(room, { rest: [id], query }) {
  return id ? one(room, id, query.get("at")) : all(room);
}

async function all(room) {
  const { sessions, total } = await call("session_list", { limit: 200 });
  const rows = h("div", { class: "rows" });
  const list = new List(rows);
  show(room, h("h1", {}, "Sessions ", h("small", {}, plural(total, "conversation"))),
    sessions.length ? rows : empty("No conversations yet", "Hooks archive conversations as they happen; `nacre session import` imports older ones."));
  list.set(sessions.map((session) => h("article", { class: "item row" },
    link(`sessions/${encodeURIComponent(session.id)}`, { class: "cover" }, h("strong", {}, session.id)),
    h("div", { class: "meta" }, plural(session.messages, "message"), h("span", {}, session.format), age(session.ended_at)))));
  return { keys: { ...list.keys, Enter: () => list.current?.querySelector("a")?.click() } };
}

async function one(room, id, at) {
  const said = h("ol", { class: "said-list" });
  let next = 1;
  const button = h("button", { onclick: more }, "More");
  async function more() {
    const shown = await call("session_show", { id, from: next, limit: 100 });
    for (const message of shown.messages) {
      said.append(h("li", { class: `${message.author ?? ""} ${message.id === at ? "here" : ""}` },
        h("div", { class: "meta" }, h("strong", {}, message.author ?? ""), age(message.at)), h("p", {}, message.text)));
    }
    next = shown.next ?? 0;
    button.hidden = !next;
    return shown.session;
  }
  show(room, h("nav", { class: "crumbs" }, link("sessions", {}, "Sessions"), " / ", id), said, h("div", { class: "buttons" }, button));
  try {
    const session = await more();
    room.querySelector(".crumbs").append(" ", h("small", {}, plural(session.messages, "message")));
  } catch (error) {
    if (error.status !== 404) throw error;
    show(said, empty("This conversation was not archived", "Memories that it stored are still there."));
  }
  room.querySelector(".here")?.scrollIntoView({ block: "center" });
  return { keys: { Escape: () => { location.hash = "#/sessions"; } } };
}
