// Starts the dashboard: frame, navigation, keyboard and events.

import { go } from "./address.js";
import { follow, group, overview } from "./api.js";
import { fail, settle } from "./feedback.js";
import { newMemory } from "./entry-form.js";
import { openPalette } from "./palette.js";
import { open, viewKeys } from "./router.js";
import { buildShell, countWaiting, flipTheme, markView, offerGroups, restoreTheme, showSharing, showShortcuts, showSignedOut } from "./shell.js";
import { VIEWS } from "./views.js";

/** How long `g` waits for the letter of a view. */
const CHORD_MS = 1200;
let chord = null;

function pressed(event) {
  const typing = event.target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return openPalette();
  }
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && typing) return event.target.blur();
  if (typing || event.metaKey || event.ctrlKey || event.altKey) return;
  const act = chord ? toView(event.key) : shortcut(event.key);
  if (act) {
    event.preventDefault();
    act(event);
  }
}

function toView(key) {
  clearTimeout(chord);
  chord = null;
  const found = VIEWS.find((view) => view.key === key);
  return found && (() => go(found.name));
}

function shortcut(key) {
  return viewKeys()[key] ?? {
    g: () => { chord = setTimeout(() => { chord = null; }, CHORD_MS); },
    "?": showShortcuts,
    c: newMemory,
    "/": () => {
      const box = document.querySelector("#view input[type=search]");
      if (box) { box.focus(); box.select(); } else go("memory");
    },
  }[key];
}

async function chooseGroup() {
  try {
    const { groups } = await overview();
    if (!groups.includes(group.name)) group.name = groups[0];
    offerGroups(groups);
  } catch (error) {
    if (error.status === 403 && group.name !== "main") group.name = "main";
    else if (error.status !== 401) fail(error);
  }
}

function start() {
  restoreTheme();
  const usedLink = location.pathname === "/login";
  addEventListener("signed-out", () => showSignedOut(usedLink), { once: true });
  if (usedLink) history.replaceState(null, "", `/${location.hash}`);
  buildShell();
  addEventListener("hashchange", () => open());
  addEventListener("keydown", pressed);
  addEventListener("opened", ({ detail }) => markView(detail));
  addEventListener("approvals", countWaiting);
  addEventListener("flip-theme", flipTheme);
  addEventListener("shortcuts", showShortcuts);
  addEventListener("group", () => { settle(); open().then(showSharing); countWaiting(); });
  addEventListener("unhandledrejection", ({ reason }) => { if (reason?.status !== 401) fail(reason); });
  open({ quietly: true }).then(showSharing);
  chooseGroup();
  countWaiting();
  follow((name, data) => {
    dispatchEvent(new CustomEvent("happened", { detail: { name, data } }));
    if (name === "memory:write") countWaiting();
  });
}

start();
