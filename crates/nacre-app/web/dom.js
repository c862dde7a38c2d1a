// Elements. Stored text is untrusted: it only ever becomes a text node, never markup, and no attribute that could run or load
// something is set from it.

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element. `props`: class, on… listeners, dataset, style, attributes; children: nodes, text or nothing. */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name === "style") for (const [property, set] of Object.entries(value)) node.style.setProperty(property, set);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  return put(node, children);
}

// Characters that change the direction of text are shown, so that no text can disguise itself. Text being edited is left alone.
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;
const shown = (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase()}⟩`;

/** Appends children. */
export function put(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(node.tagName === "TEXTAREA" ? child : String(child).replace(BIDI_CONTROLS, shown)));
  }
  return node;
}

/** Replaces all children. */
export function show(node, ...children) {
  node.replaceChildren();
  return put(node, children);
}

export function icon(name) {
  const node = svg("svg", { class: "icon", "aria-hidden": "true" });
  node.append(svg("use", { href: `/assets/icons.svg#${name}` }));
  return node;
}

export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Links to a view of this dashboard: stored text never becomes an address of another kind. */
export function link(hash, props, ...children) {
  return h("a", { ...props, href: `#/${hash}` }, ...children);
}

/** The address of a workspace file, and of a line of it. */
export function fileAddress(path, line) {
  return `files/${path.split("/").map(encodeURIComponent).join("/")}${line ? `?line=${line}` : ""}`;
}

/** A button. `key` is the keyboard shortcut that does the same. */
export function button(text, onclick, { key, kind = "", ...props } = {}) {
  return h("button", { type: "button", class: kind, onclick, title: key && `${text} (${key})`, "aria-keyshortcuts": key, ...props }, text);
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
