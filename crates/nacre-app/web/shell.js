// The frame around every view: navigation, the group switch, the theme, and how many writes wait.

import { call, group } from "./api.js";
import { openConflicts } from "./conflicts.js";
import { button, h, icon, link, put, show } from "./dom.js";
import { dialog, inline } from "./feedback.js";
import { waitingLessons } from "./lessons.js";
import { openPalette } from "./palette.js";
import { askSharing, sharingLine } from "./sharing.js";
import { VIEWS } from "./views.js";

const rail = document.getElementById("rail");
const named = VIEWS.filter((view) => view.title);

export function buildShell() {
  const entry = ({ name, title, key, phone }) =>
    link(name, { dataset: { view: name }, class: phone ? "" : "wide", title: `${title} (g ${key})` },
      icon(name), h("span", { class: "label" }, title), name === "approvals" && h("span", { class: "count", hidden: true }));
  const quiet = (title, name, act) => h("button", { type: "button", class: "quiet", title, "aria-label": title, onclick: act }, icon(name));
  put(rail,
    h("div", { class: "top" },
      h("a", { class: "brand", href: "#/home", "aria-label": "Nacre, home" },
        h("img", { src: "/assets/nacre.svg", alt: "", width: "26", height: "26" }), h("span", { class: "label" }, "Nacre")),
      h("div", { class: "groups" }), h("div", { class: "shared" }),
      h("button", { type: "button", class: "find", onclick: openPalette, "aria-label": "Go to a view, a memory or a command", "aria-keyshortcuts": "Control+K" },
        icon("memory"), h("span", { class: "label" }, "Go to…"), h("kbd", {}, /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘K" : "Ctrl K"))),
    h("nav", { "aria-label": "Views" }, named.map(entry),
      h("button", { type: "button", class: "more", onclick: showMore }, icon("more"), h("span", { class: "label" }, "More"))),
    h("div", { class: "foot" },
      quiet("Switch between light and dark", "sun", flipTheme),
      quiet("Keyboard shortcuts", "help", showShortcuts)));
}

/** Marks the open view in the navigation. */
export function markView(name) {
  for (const one of rail.querySelectorAll("[data-view]")) {
    if (one.dataset.view === name) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  rail.querySelector(".more").toggleAttribute("data-here", !named.find((view) => view.name === name)?.phone);
}

/** Offers the other groups, if there are some. */
export function offerGroups(names) {
  const choice = h("select", { "aria-label": "Group", onchange: () => { group.name = choice.value; dispatchEvent(new Event("group")); } },
    names.map((name) => h("option", { value: name, selected: name === group.name }, name)));
  show(rail.querySelector(".groups"), names.length > 1 && choice);
}

/** Shows who shares the open group, if anybody does. It matters less than the view, so it comes later and never fails loudly. */
export async function showSharing() {
  const place = rail.querySelector(".shared");
  try { show(place, sharingLine(await askSharing())); } catch { show(place); }
}

/** Shows how many writes, conflicts and lessons wait for the user. */
export async function countWaiting() {
  const badge = rail.querySelector("[data-view=approvals] .count");
  try {
    const [{ proposals }, conflicts, lessons] = await Promise.all([call("proposal_list"), openConflicts(), waitingLessons()]);
    const waiting = proposals.length + conflicts.length + lessons.length;
    badge.textContent = waiting || "";
    badge.hidden = !waiting;
    badge.setAttribute("aria-label", `${waiting} waiting`);
  } catch { badge.hidden = true; }
}

export function restoreTheme() {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

export function flipTheme() {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const next = (document.documentElement.dataset.theme ?? system) === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("theme", next);
  dispatchEvent(new Event("theme"));
}

function showMore() {
  const node = dialog("sheet",
    h("h2", { id: "sheet" }, "More"),
    h("nav", { "aria-label": "More views" }, named.filter((view) => !view.phone).map(({ name, title }) =>
      link(name, { onclick: () => node.close() }, icon(name), title))),
    h("div", { class: "buttons" }, button("Light or dark", flipTheme), button("Close", () => node.close())));
  node.setAttribute("aria-labelledby", "sheet");
}

const SHORTCUTS = [
  ["Ctrl K", "Go to a view, a memory or a command"], ["/", "Search"], ["c", "New memory"],
  ["j k", "Next, previous"], ["Enter", "Open"], ["x", "Select"], ["e", "Edit"],
  ["r d", "Helpful, not helpful"], ["Del", "Delete"], ["a n", "Approve, deny"], ["Esc", "Back"], ["?", "Show this list"],
];

export function showShortcuts() {
  const views = ["g then a letter", named.map((view) => `${view.key} ${view.title}`).join(", ")];
  const node = dialog("keys",
    h("h2", { id: "keys" }, "Keyboard shortcuts"),
    h("dl", {}, [...SHORTCUTS, views].flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("div", { class: "buttons" }, button("Close", () => node.close(), { autofocus: true })));
  node.setAttribute("aria-labelledby", "keys");
}

/** The page of somebody who is not signed in: how to get in, and nothing else. */
export function showSignedOut(usedLink) {
  document.title = "Sign in · Nacre";
  show(document.body, h("main", { class: "signed-out" },
    h("img", { src: "/assets/nacre.svg", alt: "", width: "56", height: "56" }),
    h("h1", {}, usedLink ? "This link was used already or is too old" : "This page needs a link"),
    h("p", {}, inline("Run `nacre ui` in a terminal. It opens the dashboard with a link that works once.")),
    h("p", { class: "meta" }, "Your memory stays on this machine; the link proves that you are its owner.")));
}
