// Opens the view that the address names. A view exports `open(room, place)`, fills the room, and may return `{ focus, keys, leave }`:
// the element to focus, its keyboard shortcuts, and a function that is called before another view opens.

import { show, h } from "./dom.js";
import { loading, problem } from "./feedback.js";
import { VIEWS } from "./views.js";

const main = document.getElementById("view");
let opened = {};
let turn = 0;

/** The view that the address names, with the rest of its path and its query. */
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const found = VIEWS.find((view) => view.name === name) ?? VIEWS[0];
  return { view: found, shown: found.within ?? found.name, rest: rest.map(decode), query: new URLSearchParams(query) };
}

function decode(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

/** Opens the view of the address. `quietly` leaves the focus where it is. */
export async function open({ quietly = false } = {}) {
  const mine = turn += 1;
  const { view, shown, rest, query } = place();
  opened.leave?.();
  opened = {};
  document.title = `${VIEWS.find((one) => one.name === shown).title} · Nacre`;
  dispatchEvent(new CustomEvent("opened", { detail: shown }));
  const room = h("div", { class: `room ${view.name}` }, loading());
  show(main, room);
  scrollTo(0, 0);
  let made;
  try {
    made = await view.view.open(room, { rest, query }) ?? {};
  } catch (error) {
    if (error.name === "AbortError" || mine !== turn) return;
    show(room, h("h1", {}, VIEWS.find((one) => one.name === shown).title), problem(error, () => open()));
    made = {};
  }
  if (mine !== turn) return made.leave?.();
  opened = made;
  room.setAttribute("data-ready", "");
  if (made.focus) made.focus.focus();
  else if (!quietly) focusTitle(room);
}

/** The focus goes to the title, so that a screen reader says where the user is. */
function focusTitle(room) {
  const title = room.querySelector("h1");
  title?.setAttribute("tabindex", "-1");
  title?.focus({ preventScroll: true });
}

/** The keyboard shortcuts of the open view. */
export function viewKeys() {
  return opened.keys ?? {};
}
