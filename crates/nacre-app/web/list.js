// A list with keyboard navigation: j, k and the arrows move, Enter opens.

import { show } from "./dom.js";

export class List {
  /** `moved(item)` is called when the current item changes. */
  constructor(node, moved = () => {}) {
    this.node = node;
    this.moved = moved;
    this.current = null;
  }

  set(...children) {
    show(this.node, children);
    this.current = null;
  }

  get items() {
    return [...this.node.querySelectorAll(".item")].filter((item) => !item.closest("[hidden]"));
  }

  /** Makes an item the current one. */
  choose(item, { focus = true } = {}) {
    this.current?.removeAttribute("data-current");
    this.current = item ?? null;
    if (!item) return;
    item.setAttribute("data-current", "");
    if (focus) (item.querySelector("a, button") ?? item).focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
    this.moved(item);
  }

  move(step) {
    const items = this.items;
    const place = Math.max(0, Math.min(items.length - 1, items.indexOf(this.current) + step));
    if (items[place]) this.choose(items[place]);
  }

  get keys() {
    const down = () => this.move(1);
    const up = () => this.move(-1);
    return { j: down, k: up, ArrowDown: down, ArrowUp: up };
  }
}
