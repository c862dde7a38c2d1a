// Elements and helpers for every view. Stored text is untrusted: it only ever becomes a text node, never markup, and no
// attribute that could run or load something is set from it.

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element. `props`: class, text, on… listeners, dataset, attributes; children: nodes, text or nothing. */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  put(node, children);
  return node;
}

// Characters that change the direction of text are shown, so that no text can disguise itself. Text being edited is left alone.
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;
const shown = (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase()}⟩`;

export function put(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(node.tagName === "TEXTAREA" ? child : String(child).replace(BIDI_CONTROLS, shown)));
  }
  return node;
}

export function show(node, ...children) {
  node.replaceChildren();
  return put(node, children);
}

export function icon(name) {
  const node = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  node.setAttribute("class", "icon");
  node.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `/assets/icons.svg#${name}`);
  node.append(use);
  return node;
}

export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const DAY = 86_400_000;

/** "3d ago", with the moment itself as a title. */
export function age(at, now = Date.now()) {
  if (!at) return "";
  const then = Date.parse(at);
  const past = Math.max(0, now - then);
  const text =
    past < 60_000 ? "just now"
    : past < 3_600_000 ? `${Math.floor(past / 60_000)} min ago`
    : past < DAY ? `${Math.floor(past / 3_600_000)} h ago`
    : past < 60 * DAY ? `${Math.floor(past / DAY)} d ago`
    : new Date(then).toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
  return h("time", { datetime: at, title: new Date(then).toLocaleString() }, text);
}

export function bytes(count) {
  const units = ["B", "KB", "MB", "GB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) { count /= 1000; unit += 1; }
  return `${count >= 10 || unit === 0 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** Returns the text with the words of the query highlighted. */
export function marked(text, words) {
  const wanted = words.filter((word) => word.length > 1).map((word) => word.toLowerCase());
  if (!wanted.length) return [text];
  return text.split(/([\p{L}\p{N}_]+)/u).map((part) => {
    const low = part.toLowerCase();
    const hit = wanted.some((word) => low === word || (word.length > 3 && low.startsWith(word)));
    return hit ? h("mark", {}, part) : part;
  });
}

export function toast(text, kind = "done") {
  const node = h("div", { class: `toast ${kind}` }, text);
  document.getElementById("toasts").append(node);
  setTimeout(() => node.remove(), kind === "error" ? 8000 : 3500);
}

/** Asks a question; resolves to true for yes. Esc and the other button mean no. */
export function ask(question, yes, danger = false) {
  return new Promise((resolve) => {
    const answer = (value) => { dialog.close(); dialog.remove(); resolve(value); };
    const dialog = h("dialog", { class: "ask", oncancel: () => answer(false) },
      h("p", {}, question),
      h("div", { class: "buttons" },
        h("button", { onclick: () => answer(false) }, "Cancel"),
        h("button", { class: danger ? "danger" : "primary", autofocus: true, onclick: () => answer(true) }, yes)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Renders the empty state of a view. */
export function empty(title, hint) {
  return h("div", { class: "empty" }, h("strong", {}, title), h("p", {}, hint));
}

export function problem(error) {
  return h("div", { class: "empty error", role: "alert" },
    h("strong", {}, error.message), error.hint && h("p", {}, error.hint));
}

/** Links to views of this dashboard only: stored text never becomes an address. */
export function link(hash, props, ...children) {
  return h("a", { ...props, href: `#/${hash}` }, ...children);
}
