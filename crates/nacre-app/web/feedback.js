// Feedback for the user: toasts with undo, questions, and the states of a view without data.

import { button, h } from "./dom.js";

const TOAST_MS = 4000;
const MAX_TOASTS = 3;
export const UNDO_MS = 10_000;

/** Shows a short message. `action` is [title, function], such as Undo. Returns a function that removes the toast. */
export function toast(text, { kind = "done", action, ms = action ? UNDO_MS : kind === "error" ? 2 * TOAST_MS : TOAST_MS } = {}) {
  const node = h("div", { class: `toast ${kind}` }, h("span", {}, text));
  const remove = () => node.remove();
  const shown = document.getElementById("toasts");
  // What can be undone stays until its time is over.
  for (const old of [...shown.querySelectorAll(":scope > :not(:has(button))")].slice(0, Math.max(0, shown.children.length - MAX_TOASTS))) old.remove();
  if (action) node.append(button(action[0], () => { remove(); action[1](); }));
  shown.append(node);
  setTimeout(remove, ms);
  return remove;
}

/** Says why something failed, and what to do. */
export function fail(error) {
  if (error.name !== "AbortError") toast([error.message, error.hint].filter(Boolean).map(asSentence).map(inline), { kind: "error" });
}

/** The server's messages begin in lower case and end without a full stop. */
function asSentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? " " : ". "}`;
}

/** Runs an action and reports its failure. Returns whether it succeeded. */
export async function attempt(action) {
  try {
    await action();
    return true;
  } catch (error) {
    fail(error);
    return false;
  }
}

const postponed = new Set();

/** Does something that can't be undone only after the time for Undo has passed, or when the page is left. */
export function postpone(text, act, undone) {
  const job = { act };
  const timer = setTimeout(() => run(job), UNDO_MS);
  postponed.add(job);
  toast(text, { action: ["Undo", () => { clearTimeout(timer); postponed.delete(job); undone(); }] });
}

function run(job, options) {
  if (!postponed.delete(job)) return;
  attempt(() => job.act(options));
}

/** Does everything that was postponed, now. */
export function settle(options) {
  for (const job of [...postponed]) run(job, options);
}

addEventListener("pagehide", () => settle({ keepalive: true }));

/** Opens a dialog; it is removed when it is closed, and the focus goes back. */
export function dialog(name, ...children) {
  const before = document.activeElement;
  const node = h("dialog", { class: name, onclose: () => { node.remove(); before?.focus?.(); } }, ...children);
  node.addEventListener("click", (event) => { if (event.target === node) node.close(); });
  document.body.append(node);
  node.showModal();
  return node;
}

/** Asks before something that can't be undone. The focus is on Cancel. Resolves to whether the user agreed. */
export function ask(question, details, yes) {
  return new Promise((resolve) => {
    let agreed = false;
    const node = dialog("ask",
      h("h2", { id: "ask" }, question), details && h("p", {}, details),
      h("div", { class: "buttons" },
        button("Cancel", () => node.close(), { autofocus: true }),
        button(yes, () => { agreed = true; node.close(); }, { kind: "danger" })));
    node.setAttribute("aria-labelledby", "ask");
    node.addEventListener("close", () => resolve(agreed));
  });
}

/** The state of a view before its data is there. It becomes visible only if that takes a moment. */
export function loading() {
  return h("div", { class: "loading", role: "status" }, h("span", { class: "hidden" }, "Loading"),
    ["w40", "w90", "w75", "w60", "w85"].map((width) => h("div", { class: `bone ${width}` })));
}

/** The state of a view that has nothing to show. */
export function empty(title, ...hints) {
  return h("div", { class: "empty" }, h("strong", {}, title), hints.map((hint) => hint instanceof Node ? hint : h("p", {}, inline(hint))));
}

/** The state of a view that failed. */
export function problem(error, retry) {
  return h("div", { class: "empty error", role: "alert" },
    h("strong", {}, inline(asSentence(error.message).trim())), error.hint && h("p", {}, inline(asSentence(error.hint).trim())),
    retry && button("Try again", retry));
}

/** Renders `code` in our own sentences. */
export function inline(text) {
  return text.split(/`([^`]+)`/).map((part, place) => place % 2 ? h("code", {}, part) : part);
}
