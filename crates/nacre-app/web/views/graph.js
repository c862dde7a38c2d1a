// The graph as a picture to explore: entities and their relations. A worker computes the layout, a canvas draws it, and a list
// next to it has the same in words, for the keyboard and for screen readers.

import { call } from "../api.js";
import { age, empty, h, link, plural, put, show } from "../dom.js";

const RADIUS = 4;

// The only script that may be loaded besides those that index.html names.
const trusted = globalThis.trustedTypes?.createPolicy("nacre", { createScriptURL: () => "/assets/layout.js" });

export async function open(room, { query }) {
  const { entities, facts, relations } = await call("graph_picture", {});
  if (!entities.length) {
    show(room, h("h1", {}, "Graph"), empty("The graph is empty", "Facts are read from your documents, set by agents, or set with `nacre fact set`."));
    return {};
  }
  const index = new Map(entities.map((one, place) => [one.name, place]));
  const links = relations.map((one) => ({ ...one, source: index.get(one.subject), target: index.get(one.object) }))
    .filter((one) => one.source !== undefined && one.target !== undefined);
  const near = entities.map(() => []);
  links.forEach((one, place) => { near[one.source].push(place); near[one.target].push(place); });
  const size = entities.map((_, place) => RADIUS + Math.min(14, 1.6 * Math.sqrt(near[place].length * 2 + (entities[place].facts ?? 0))));
  const groups = [...new Set(entities.map((one) => one.category))].sort();

  const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": `${plural(entities.length, "entity", "entities")} and ${plural(links.length, "relation")}; the list next to it has the same content` });
  const side = h("aside", { class: "side", "aria-live": "polite" });
  const find = h("input", { type: "search", placeholder: "Find a name", "aria-label": "Find a name", list: "names",
    onchange: () => { const at = index.get(find.value); if (at !== undefined) choose(at, true); } });
  const names = h("datalist", { id: "names" }, entities.slice(0, 2000).map((one) => h("option", { value: one.name })));
  show(room,
    h("div", { class: "graphbar" }, h("h1", {}, "Graph ", h("small", {}, `${plural(entities.length, "entity", "entities")}, ${plural(links.length, "relation")}`)), find, names,
      h("button", { class: "quiet", onclick: fit }, "Show all")),
    h("div", { class: "split picture" }, h("div", { class: "stage" }, canvas), side));

  const place = new Float32Array(entities.length * 2);
  const eye = { x: 0, y: 0, scale: 1 };
  let chosen = -1;
  let hovered = -1;
  let colours = {};
  let due = false;
  let touched = false;

  const worker = new Worker(trusted ? trusted.createScriptURL("") : "/assets/layout.js");
  worker.postMessage({ count: entities.length, size, links: links.map((one) => [one.source, one.target]) });
  worker.onmessage = ({ data }) => { place.set(data.place); if (!touched) fit(); draw(); };

  function theme() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    colours = { ink: read("--ink"), soft: read("--soft"), line: read("--line"), paper: read("--paper"), accent: read("--accent"),
      kinds: [1, 2, 3, 4, 5, 6, 7, 8].map((n) => read(`--hue-${n}`)) };
    draw();
  }

  const context = canvas.getContext("2d");
  function draw() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; paint(); });
  }

  function paint() {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.translate(width / 2, height / 2);
    context.scale(eye.scale, eye.scale);
    context.translate(-eye.x, -eye.y);
    const focus = chosen >= 0 ? chosen : hovered;
    const lit = new Set(focus >= 0 ? near[focus].flatMap((one) => [links[one].source, links[one].target]) : []);
    if (focus >= 0) lit.add(focus);
    // All lines in one stroke, then those of the selection on top.
    context.lineWidth = 1 / eye.scale;
    context.strokeStyle = colours.line;
    context.beginPath();
    for (const one of links) {
      context.moveTo(place[one.source * 2], place[one.source * 2 + 1]);
      context.lineTo(place[one.target * 2], place[one.target * 2 + 1]);
    }
    context.stroke();
    if (focus >= 0) {
      context.strokeStyle = colours.accent;
      context.lineWidth = 1.6 / eye.scale;
      context.beginPath();
      for (const at of near[focus]) {
        const one = links[at];
        context.moveTo(place[one.source * 2], place[one.source * 2 + 1]);
        context.lineTo(place[one.target * 2], place[one.target * 2 + 1]);
      }
      context.stroke();
    }
    groups.forEach((group, number) => {
      context.fillStyle = colours.kinds[number % colours.kinds.length];
      for (const faint of focus >= 0 ? [true, false] : [false]) {
        context.globalAlpha = faint ? 0.25 : 1;
        context.beginPath();
        entities.forEach((one, at) => {
          if (one.category !== group || (focus >= 0 && faint === lit.has(at))) return;
          const [x, y] = [place[at * 2], place[at * 2 + 1]];
          context.moveTo(x + size[at], y);
          context.arc(x, y, size[at], 0, 2 * Math.PI);
        });
        context.fill();
      }
    });
    context.globalAlpha = 1;
    context.fillStyle = colours.ink;
    context.textAlign = "center";
    const font = 12 / eye.scale;
    context.font = `${font}px system-ui, sans-serif`;
    entities.forEach((one, at) => {
      const big = size[at] * eye.scale > 11;
      if (!(lit.has(at) || (focus < 0 && big) || entities.length < 60)) return;
      const text = one.name.length > 28 ? `${one.name.slice(0, 27)}…` : one.name;
      const [x, y] = [place[at * 2], place[at * 2 + 1] + size[at] + font];
      context.lineWidth = 3 / eye.scale;
      context.strokeStyle = colours.paper;
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    });
    if (chosen >= 0) {
      context.lineWidth = 2 / eye.scale;
      context.strokeStyle = colours.ink;
      context.beginPath();
      context.arc(place[chosen * 2], place[chosen * 2 + 1], size[chosen] + 3 / eye.scale, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  function fit() {
    touched = false;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let at = 0; at < entities.length; at += 1) {
      left = Math.min(left, place[at * 2]); right = Math.max(right, place[at * 2]);
      top = Math.min(top, place[at * 2 + 1]); bottom = Math.max(bottom, place[at * 2 + 1]);
    }
    eye.x = (left + right) / 2;
    eye.y = (top + bottom) / 2;
    eye.scale = Math.min(2.5, 0.9 * Math.min(canvas.clientWidth / Math.max(80, right - left), canvas.clientHeight / Math.max(80, bottom - top)));
    draw();
  }

  const toWorld = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left - box.width / 2) / eye.scale + eye.x, (event.clientY - box.top - box.height / 2) / eye.scale + eye.y];
  };
  function at(event) {
    const [x, y] = toWorld(event);
    let [best, nearest] = [-1, 12 / eye.scale];
    for (let one = 0; one < entities.length; one += 1) {
      const far = Math.hypot(place[one * 2] - x, place[one * 2 + 1] - y) - size[one];
      if (far < nearest) { best = one; nearest = far; }
    }
    return best;
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (drag.moved || Math.hypot(dx, dy) > 4) {
        touched = drag.moved = true;
        eye.x -= dx / eye.scale; eye.y -= dy / eye.scale;
        Object.assign(drag, { x: event.clientX, y: event.clientY });
        draw();
      }
      return;
    }
    const over = at(event);
    canvas.style.cursor = over >= 0 ? "pointer" : "grab";
    if (over !== hovered) { hovered = over; draw(); }
  });
  canvas.addEventListener("pointerup", (event) => { if (drag && !drag.moved) { const over = at(event); over >= 0 ? choose(over) : choose(-1); } drag = null; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    touched = true;
    const [x, y] = toWorld(event);
    const by = Math.exp(-event.deltaY * 0.0015);
    eye.scale = Math.max(0.02, Math.min(12, eye.scale * by));
    eye.x = x - (x - eye.x) / by;
    eye.y = y - (y - eye.y) / by;
    draw();
  }, { passive: false });

  function choose(which, move = false) {
    chosen = which;
    if (which >= 0) {
      history.replaceState(null, "", `#/graph?about=${encodeURIComponent(entities[which].name)}`);
      if (move) { touched = true; eye.x = place[which * 2]; eye.y = place[which * 2 + 1]; eye.scale = Math.max(eye.scale, 1.2); }
    } else history.replaceState(null, "", "#/graph");
    tell();
    draw();
  }

  function step(name, words) {
    const to = index.get(name);
    return h("button", { class: "step", dataset: { name }, onclick: () => { choose(to, true); side.querySelector("button.step")?.focus(); } }, ...words);
  }

  function tell() {
    if (chosen < 0) {
      const most = entities.map((_, one) => one).sort((a, b) => near[b].length - near[a].length).slice(0, 40);
      show(side, h("h2", {}, "Most connected"), h("ul", { class: "steps" }, most.map((one) => h("li", {}, step(entities[one].name,
        [h("strong", {}, entities[one].name), " ", h("small", {}, plural(near[one].length, "relation"))])))));
      return;
    }
    const one = entities[chosen];
    const mine = facts.filter((fact) => fact.entity === one.name);
    show(side,
      h("h2", {}, one.name, " ", h("small", {}, one.category)),
      one.aliases?.length ? h("p", { class: "meta" }, "also ", one.aliases.join(", ")) : null,
      mine.length ? h("dl", { class: "facts" }, mine.flatMap((fact) => [h("dt", {}, fact.key.replaceAll("_", " ")),
        h("dd", {}, fact.value, h("span", { class: "meta" }, h("span", { class: `tier ${fact.tier}` }, fact.tier), age(fact.since),
          (fact.cites ?? []).slice(0, 1).map((cite) => link(`files/${cite.path.split("/").map(encodeURIComponent).join("/")}?line=${cite.line}`, {}, `${cite.path}:${cite.line}`))))])) : null,
      near[chosen].length ? h("h3", {}, "Relations") : null,
      h("ul", { class: "steps" }, near[chosen].map((which) => {
        const { subject, predicate, object } = links[which];
        const out = subject === one.name;
        const words = predicate.replaceAll("_", " ");
        return h("li", {}, step(out ? object : subject, out ? [h("span", {}, `${words} `), h("strong", {}, object)] : [h("strong", {}, subject), h("span", {}, ` ${words}`)]));
      })),
      h("p", {}, link(`search?q=${encodeURIComponent(one.name)}`, {}, "Search")));
  }

  const about = query.get("about");
  if (about) {
    const wanted = index.get(about) ?? entities.findIndex((one) => one.name.toLowerCase() === about.toLowerCase() || about.startsWith(`${one.name} `));
    if (wanted >= 0) chosen = wanted;
  }
  tell();
  const resized = new ResizeObserver(() => { if (!touched) fit(); draw(); });
  queueMicrotask(() => { theme(); resized.observe(canvas); });
  addEventListener("theme", theme);
  return {
    keys: { Escape: () => choose(-1), f: fit, "+": () => { eye.scale *= 1.25; draw(); }, "-": () => { eye.scale /= 1.25; draw(); } },
    leave: () => { worker.terminate(); resized.disconnect(); removeEventListener("theme", theme); },
  };
}
