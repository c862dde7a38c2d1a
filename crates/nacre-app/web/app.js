// The shell: routing, navigation and keyboard shortcuts.

import { call, follow } from "./api.js";
import { h, icon, link, put, show, problem, toast } from "./dom.js";
import * as approvals from "./views/approvals.js";
import * as entry from "./views/entry.js";
import * as files from "./views/files.js";
import * as graph from "./views/graph.js";
import * as health from "./views/health.js";
import * as search from "./views/search.js";
import * as sessions from "./views/sessions.js";
import * as tasks from "./views/tasks.js";
import * as timeline from "./views/timeline.js";

// Every view: its name in the address, its title, its key after `g`, and its module.
const VIEWS = [
  { name: "search", title: "Memory", key: "m", view: search },
  { name: "approvals", title: "Approvals", key: "a", view: approvals },
  { name: "graph", title: "Graph", key: "g", view: graph },
  { name: "timeline", title: "Timeline", key: "t", view: timeline },
  { name: "files", title: "Files", key: "f", view: files },
  { name: "sessions", title: "Sessions", key: "s", view: sessions },
  { name: "tasks", title: "Tasks", key: "k", view: tasks },
  { name: "health", title: "Health", key: "h", view: health },
  { name: "entry", view: entry, within: "search" },
];

const view = document.getElementById("view");
const rail = document.getElementById("rail");
let leave = null;
let keys = {};
let waiting = 0;

function where() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  return { name: name || "search", rest: rest.map(decodeURIComponent), query: new URLSearchParams(query) };
}

async function go() {
  const place = where();
  const found = VIEWS.find((one) => one.name === place.name) ?? VIEWS[0];
  leave?.();
  leave = null;
  keys = {};
  const turn = ++waiting;
  const shown = found.within ?? found.name;
  for (const one of rail.querySelectorAll("a[data-view]")) {
    one.toggleAttribute("data-here", one.dataset.view === shown);
    if (one.dataset.view === shown) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  const title = VIEWS.find((one) => one.name === shown).title;
  document.title = `${title} · Nacre`;
  const room = h("div", { class: `room ${found.name}` });
  try {
    const made = await found.view.open(room, place);
    if (turn !== waiting) return made?.leave?.();
    leave = made?.leave ?? null;
    keys = made?.keys ?? {};
  } catch (error) {
    if (error.name === "AbortError") return;
    show(room, problem(error));
  }
  if (turn === waiting) show(view, room);
}

/** Shows in every view how many proposals wait. */
async function count() {
  const badge = rail.querySelector("[data-view=approvals] .count");
  try {
    const { proposals } = await call("proposal_list", {});
    badge.textContent = proposals.length || "";
    badge.hidden = !proposals.length;
  } catch { badge.hidden = true; }
}

function shell() {
  const entry = ({ name, title, key }) =>
    link(name, { dataset: { view: name }, title: `${title} (g ${key})` },
      icon(name), h("span", { class: "label" }, title), name === "approvals" && h("span", { class: "count", hidden: true }));
  put(rail,
    h("a", { class: "brand", href: "#/search", "aria-label": "Nacre" },
      h("img", { src: "/assets/nacre.svg", alt: "", width: "26", height: "26" }), h("span", { class: "label" }, "Nacre")),
    h("nav", { "aria-label": "Views" }, VIEWS.filter((one) => one.title).map(entry)),
    h("div", { class: "foot" },
      h("button", { class: "quiet", title: "Switch between light and dark", "aria-label": "Switch between light and dark", onclick: flip }, icon("sun")),
      h("button", { class: "quiet", title: "Keyboard shortcuts (?)", "aria-label": "Keyboard shortcuts", onclick: help }, icon("help"))));
}

function flip() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("theme", next);
  dispatchEvent(new Event("theme"));
}

function help() {
  const rows = [
    ["/", "Search"], ["g then a letter", VIEWS.filter((one) => one.key).map((one) => `${one.key} ${one.title}`).join(", ")],
    ["j  k", "Next, previous"], ["Enter", "Open"], ["e", "Edit"], ["r", "Reinforce"], ["d", "Demote"], ["x", "Delete"],
    ["a", "Approve"], ["n", "Deny"], ["Esc", "Back"], ["?", "Show this list"],
  ];
  const dialog = h("dialog", { class: "keys", onclose: () => dialog.remove() },
    h("h2", {}, "Keyboard shortcuts"),
    h("dl", {}, rows.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("div", { class: "buttons" }, h("button", { autofocus: true, onclick: () => dialog.close() }, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}

let going = false;
function pressed(event) {
  const typing = event.target.matches?.("input, textarea, select, [contenteditable]");
  if (event.key === "Escape" && typing) return event.target.blur();
  if (typing || event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (going) {
    going = false;
    const found = VIEWS.find((one) => one.key === event.key);
    if (found) { event.preventDefault(); location.hash = `#/${found.name}`; }
    return;
  }
  if (event.key === "g") { going = true; setTimeout(() => { going = false; }, 1200); return; }
  if (event.key === "?") return help();
  if (event.key === "/") {
    event.preventDefault();
    const box = view.querySelector("input[type=search]");
    if (box) { box.focus(); box.select(); } else location.hash = "#/search";
    return;
  }
  const act = keys[event.key];
  if (act) { event.preventDefault(); act(event); }
}

const theme = localStorage.getItem("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
shell();
addEventListener("hashchange", go);
addEventListener("keydown", pressed);
addEventListener("approvals", count);
addEventListener("unhandledrejection", ({ reason }) => {
  if (reason?.name !== "AbortError") toast(reason?.message ?? String(reason), "error");
});
go();
count();
follow((name, data) => {
  dispatchEvent(new CustomEvent("happened", { detail: { name, data } }));
  if (name === "memory:write") count();
});
