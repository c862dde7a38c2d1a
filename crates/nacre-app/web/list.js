// A list with keyboard navigation: j and k move, Enter opens.

import { show } from "./dom.js";

export class List {
  constructor(node) {
    this.node = node;
    this.place = -1;
    node.setAttribute("role", "list");
  }

  set(items) {
    show(this.node, items);
    for (const item of this.items) item.setAttribute("role", "listitem");
    this.place = -1;
  }

  get items() {
    return [...this.node.querySelectorAll(":scope > .item")];
  }

  get current() {
    return this.items[this.place] ?? null;
  }

  move(step) {
    const items = this.items;
    if (!items.length) return;
    this.current?.removeAttribute("data-current");
    this.place = Math.max(0, Math.min(items.length - 1, this.place + step));
    const item = this.current;
    item.setAttribute("data-current", "");
    (item.querySelector("a") ?? item).focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  }

  get keys() {
    return { j: () => this.move(1), k: () => this.move(-1), ArrowDown: () => this.move(1), ArrowUp: () => this.move(-1) };
  }
}
