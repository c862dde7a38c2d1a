// Draws a graph on a canvas. A worker computes the layout; the user drags, zooms and points.

import { h } from "./dom.js";

const RADIUS = 5;
/** Larger graphs have names only at their largest entities. */
const MAX_NAMED = 70;
const NAMED_OF_MANY = 20;
/** The longest name in a picture of this width. */
const NARROW = 600;
const longest = (width) => (width < NARROW ? 18 : 28);
/** Larger graphs have words and arrows only at the relations of the chosen entity. */
const MAX_LABELLED = 60;

// The only script that may be loaded besides those that index.html names.
const trusted = globalThis.trustedTypes?.createPolicy("nacre", { createScriptURL: () => "/assets/layout.js" });

export class GraphCanvas {
  /** Tells whether the picture has the width of a phone. */
  get isNarrow() { return this.node.clientWidth < NARROW; }

  /** `chose(node)` is called with the entity that was clicked, or null. */
  constructor(chose) {
    this.chose = chose;
    this.node = h("canvas", { tabindex: "-1", role: "img" });
    this.context = this.node.getContext("2d");
    this.eye = { x: 0, y: 0, scale: 1 };
    this.nodes = [];
    this.links = [];
    this.hovered = -1;
    this.chosen = -1;
    this.listen();
    this.resized = new ResizeObserver(() => { if (!this.touched) this.fit(); this.draw(); });
    this.resized.observe(this.node);
    this.readColours();
  }

  /** Shows another graph. `chosen` is the number of the entity that is marked, or -1. */
  set({ nodes, links, clustered = false }, chosen) {
    this.worker?.terminate();
    Object.assign(this, { nodes, links, clustered, chosen, hovered: -1, touched: false, settled: false });
    this.place = new Float32Array(nodes.length * 2);
    this.size = nodes.map((one) => one.radius ?? RADIUS + Math.min(13, 1.3 * Math.sqrt(one.weight)));
    this.near = nodes.map(() => []);
    for (const one of links) { this.near[one.source].push(one); this.near[one.target].push(one); }
    const named = nodes.length <= MAX_NAMED ? nodes.map((_, at) => at) : nodes.map((_, at) => at).sort((a, b) => nodes[b].weight - nodes[a].weight).slice(0, NAMED_OF_MANY);
    this.named = named.sort((a, b) => this.size[b] - this.size[a]);
    this.worker = new Worker(trusted ? trusted.createScriptURL("") : "/assets/layout.js");
    this.worker.postMessage({ count: nodes.length, size: this.size, links: links.map((one) => [one.source, one.target]) });
    this.worker.onmessage = ({ data }) => {
      this.place.set(data.place);
      this.settled = data.done;
      if (!this.touched) this.fit();
      this.draw();
    };
  }

  /** Marks an entity of the graph. */
  mark(chosen) {
    this.chosen = chosen;
    this.draw();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    this.colours = { ink: read("--ink"), soft: read("--soft"), edge: read("--edge"), card: read("--card"), accent: read("--accent"),
      kinds: [1, 2, 3, 4, 5, 6, 7, 8].map((n) => read(`--hue-${n}`)) };
    this.draw();
  }

  draw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => { this.due = false; this.paint(); });
  }

  /** Moves and scales the graph so that it fills the canvas, with room for names at the edges. */
  fit() {
    this.touched = false;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < this.nodes.length; at += 1) {
      const [x, y] = [this.place[at * 2], this.place[at * 2 + 1]];
      left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
    }
    const [width, height] = [this.node.clientWidth, this.node.clientHeight];
    const margin = Math.min(70, width / 6);
    this.eye.x = (left + right) / 2 || 0;
    this.eye.y = (top + bottom) / 2 || 0;
    this.eye.scale = Math.max(0.02, Math.min(2.6, (width - 2 * margin) / Math.max(60, right - left), (height - 80) / Math.max(60, bottom - top)));
  }

  zoom(by) {
    this.touched = true;
    this.eye.scale = Math.max(0.02, Math.min(12, this.eye.scale * by));
    this.draw();
  }

  paint() {
    const { context, node, eye, place, size, colours } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [node.clientWidth, node.clientHeight];
    if (!width || !this.nodes.length) return;
    if (node.width !== Math.round(width * ratio) || node.height !== Math.round(height * ratio)) {
      node.width = Math.round(width * ratio);
      node.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const X = (at) => (place[at * 2] - eye.x) * eye.scale + width / 2;
    const Y = (at) => (place[at * 2 + 1] - eye.y) * eye.scale + height / 2;
    const R = (at) => Math.max(2, size[at] * Math.min(1.4, Math.max(0.5, eye.scale)));
    const focus = this.hovered >= 0 ? this.hovered : this.nodes.length > MAX_LABELLED ? this.chosen : -1;
    const lit = new Set(focus >= 0 ? this.near[focus].flatMap((one) => [one.source, one.target]) : []);
    if (focus >= 0) lit.add(focus);
    const labelled = this.links.length <= MAX_LABELLED && !this.clustered ? this.links : focus >= 0 ? this.near[focus].slice(0, MAX_LABELLED) : [];

    context.strokeStyle = colours.edge;
    context.globalAlpha = focus >= 0 ? 0.35 : this.clustered ? 0.6 : 1;
    for (const width of new Set(this.links.map((one) => one.width ?? 1))) {
      context.lineWidth = width;
      context.beginPath();
      for (const one of this.links) {
        if ((one.width ?? 1) !== width) continue;
        context.moveTo(X(one.source), Y(one.source));
        context.lineTo(X(one.target), Y(one.target));
      }
      context.stroke();
    }
    context.globalAlpha = 1;
    if (focus >= 0) {
      context.strokeStyle = colours.accent;
      context.lineWidth = 1.8;
      context.beginPath();
      for (const one of this.near[focus]) { context.moveTo(X(one.source), Y(one.source)); context.lineTo(X(one.target), Y(one.target)); }
      context.stroke();
    }
    // Relations between clusters go both ways.
    if (!this.clustered) for (const one of labelled) this.arrow(X(one.source), Y(one.source), X(one.target), Y(one.target), R(one.target), focus >= 0 && (one.source === focus || one.target === focus));

    colours.kinds.forEach((colour, number) => {
      context.fillStyle = colour;
      for (const faint of focus >= 0 ? [true, false] : [false]) {
        context.globalAlpha = faint ? 0.3 : 1;
        context.beginPath();
        this.nodes.forEach((one, at) => {
          if (one.colour !== number || (focus >= 0 && faint === lit.has(at))) return;
          context.moveTo(X(at) + R(at), Y(at));
          context.arc(X(at), Y(at), R(at), 0, 2 * Math.PI);
        });
        context.fill();
      }
    });
    context.globalAlpha = 1;
    if (this.chosen >= 0) {
      context.lineWidth = 2.5;
      context.strokeStyle = colours.ink;
      context.beginPath();
      context.arc(X(this.chosen), Y(this.chosen), R(this.chosen) + 3.5, 0, 2 * Math.PI);
      context.stroke();
    }
    this.words(labelled, focus, lit, X, Y, R, width);
  }

  arrow(x1, y1, x2, y2, radius, isLit) {
    const { context, colours } = this;
    const angle = Math.atan2(y2 - y1, x2 - x1);
    const [x, y] = [x2 - Math.cos(angle) * (radius + 1), y2 - Math.sin(angle) * (radius + 1)];
    if (Math.hypot(x2 - x1, y2 - y1) < radius + 14) return;
    context.fillStyle = isLit ? colours.accent : colours.soft;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 8 * Math.cos(angle - 0.4), y - 8 * Math.sin(angle - 0.4));
    context.lineTo(x - 8 * Math.cos(angle + 0.4), y - 8 * Math.sin(angle + 0.4));
    context.fill();
  }

  /** Names and relations, the most important first. A name without room below its dot moves above or beside it, or else over a dot; what
   * would still cover another name is left out. */
  words(labelled, focus, lit, X, Y, R, width) {
    const { context, colours } = this;
    const dots = this.nodes.length > MAX_NAMED ? [] : this.nodes.map((_, at) => [X(at) - R(at), Y(at) - R(at), X(at) + R(at), Y(at) + R(at)]);
    const taken = [];
    const isFree = (box, others) => others.every((one) => one[0] >= box[2] || one[2] <= box[0] || one[1] >= box[3] || one[3] <= box[1]);
    const write = (text, places, font, colour) => {
      context.font = font;
      const half = context.measureText(text).width / 2;
      const boxes = places.map(([x, y, side = 0]) => {
        // A name at the edge moves inside.
        const middle = Math.max(half + 4, Math.min(width - half - 4, x + side * half));
        return [middle - half - 2, y - 11, middle + half + 2, y + 4];
      });
      const free = boxes.filter((box) => isFree(box, taken));
      const box = free.find((box) => isFree(box, dots)) ?? free[0];
      if (!box) return;
      taken.push(box);
      const [middle, y] = [(box[0] + box[2]) / 2, box[3] - 4];
      context.lineWidth = 4;
      context.strokeStyle = colours.card;
      context.strokeText(text, middle, y);
      context.fillStyle = colour;
      context.fillText(text, middle, y);
    };
    context.textAlign = "center";
    context.lineJoin = "round";
    const order = [...new Set([this.chosen, focus, ...lit, ...(focus >= 0 ? [] : this.named)])].filter((at) => at >= 0);
    for (const at of order) {
      const [x, y, r] = [X(at), Y(at), R(at)];
      const around = [[x, y + r + 14], [x, y - r - 7], [x + r + 6, y + 4, 1], [x - r - 6, y + 4, -1]];
      const { name, more } = this.nodes[at];
      write(`${shorten(name, longest(width))}${more ? ` +${more}` : ""}`, around, at === this.chosen ? "600 13px system-ui, sans-serif" : "13px system-ui, sans-serif", colours.ink);
    }
    for (const one of labelled) {
      const [dx, dy] = [X(one.target) - X(one.source), Y(one.target) - Y(one.source)];
      if (Math.hypot(dx, dy) > 55) write(shorten(one.label, 22), [[X(one.source) + dx / 2, Y(one.source) + dy / 2 + 4]], "11px system-ui, sans-serif", colours.soft);
    }
  }

  /** The entity under the pointer, or -1. */
  under(event) {
    const box = this.node.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left - box.width / 2) / this.eye.scale + this.eye.x, (event.clientY - box.top - box.height / 2) / this.eye.scale + this.eye.y];
    let [best, nearest] = [-1, 14 / this.eye.scale];
    for (let at = 0; at < this.nodes.length; at += 1) {
      const far = Math.hypot(this.place[at * 2] - x, this.place[at * 2 + 1] - y) - this.size[at];
      if (far < nearest) { best = at; nearest = far; }
    }
    return best;
  }

  listen() {
    const { node, eye } = this;
    let drag = null;
    node.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, moved: false }; node.setPointerCapture(event.pointerId); });
    node.addEventListener("pointermove", (event) => {
      if (!drag) {
        const over = this.under(event);
        node.style.cursor = over >= 0 ? "pointer" : "grab";
        if (over !== this.hovered) { this.hovered = over; this.draw(); }
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) <= 4) return;
      this.touched = true;
      eye.x -= dx / eye.scale;
      eye.y -= dy / eye.scale;
      drag = { x: event.clientX, y: event.clientY, moved: true };
      this.draw();
    });
    node.addEventListener("pointerup", (event) => { if (drag && !drag.moved) this.chose(this.nodes[this.under(event)] ?? null); drag = null; });
    node.addEventListener("pointerleave", () => { if (this.hovered >= 0) { this.hovered = -1; this.draw(); } });
    node.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY * 0.0015)); }, { passive: false });
  }

  end() {
    this.worker?.terminate();
    this.resized.disconnect();
  }
}

function shorten(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
