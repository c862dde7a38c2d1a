// A search box with a list of suggestions below it (the combobox pattern): arrows move, Enter takes, Esc closes.

import { h, icon, show } from "./dom.js";

let count = 0;

/** `find(text)` returns items `{ title, hint, icon, run }`, or a promise of them. */
export function picker({ label, placeholder, find, always = false }) {
  const id = `picker-${count += 1}`;
  const list = h("ul", { id, role: "listbox", "aria-label": label, hidden: !always });
  const box = h("input", {
    type: "search", placeholder, "aria-label": label, role: "combobox", autocomplete: "off", spellcheck: "false",
    "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list",
    oninput: update, onfocus: update, onkeydown: pressed, onblur: () => { if (!always) setTimeout(close, 150); },
  });
  let items = [];
  let place = 0;
  let turn = 0;

  async function update() {
    const mine = turn += 1;
    const found = await find(box.value.trim());
    if (mine !== turn) return;
    items = found;
    place = 0;
    draw();
  }

  function draw() {
    show(list, items.map((item, at) => h("li", {
      id: `${id}-${at}`, role: "option", "aria-selected": String(at === place),
      onpointerdown: (event) => { event.preventDefault(); take(at); },
    }, item.icon && icon(item.icon), h("span", { class: "option" }, item.title), item.hint && h("small", {}, item.hint))));
    const open = items.length > 0 && (always || document.activeElement === box);
    list.hidden = !open;
    box.setAttribute("aria-expanded", String(open));
    if (open) {
      box.setAttribute("aria-activedescendant", `${id}-${place}`);
      list.children[place]?.scrollIntoView({ block: "nearest" });
    } else box.removeAttribute("aria-activedescendant");
  }

  function pressed(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && items.length) {
      event.preventDefault();
      place = (place + step + items.length) % items.length;
      draw();
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(place);
    }
  }

  function take(at) {
    const item = items[at];
    if (!item) return;
    close();
    item.run(box);
  }

  function close() {
    if (always) return;
    list.hidden = true;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }

  return { node: h("div", { class: "picker" }, box, list), box, update };
}

/** Rates how well a name fits what was typed: 0 is not at all. Letters may be left out, case and accents do not matter. */
export function fits(name, typed) {
  const [text, wanted] = [plain(name), plain(typed)];
  if (!wanted) return 1;
  const at = text.indexOf(wanted);
  if (at >= 0) return 3 + (at === 0 ? 2 : /\W/.test(text[at - 1]) ? 1 : 0) - text.length / 1000;
  let from = 0;
  let jumps = 0;
  for (const letter of wanted) {
    const found = text.indexOf(letter, from);
    if (found < 0) return 0;
    if (found > from) jumps += 1;
    from = found + 1;
  }
  // Letters that are scattered over the name are a coincidence.
  return jumps <= Math.max(2, wanted.length / 2) ? 1 / (1 + jumps) : 0;
}

function plain(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}
