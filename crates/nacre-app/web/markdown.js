// Markdown as elements. Text stays text: no HTML is read, images are not loaded, and links lead only into this dashboard.

import { fileAddress, h, link } from "./dom.js";

/** Renders Markdown. `line` is the line to highlight, `folder` the place of the file that relative links start from. */
export function markdown(text, { line: wanted = 0, folder = "" } = {}) {
  const root = h("div", { class: "markdown" });
  const lines = text.split("\n");
  let at = 0;
  if (lines[0]?.trim() === "---") {
    const end = lines.indexOf("---", 1);
    if (end > 0) { root.append(h("pre", { class: "front" }, lines.slice(1, end).join("\n"))); at = end + 1; }
  }
  const mark = (node, from, to = from) => { if (wanted > from && wanted <= to + 1) node.classList.add("here"); return node; };
  while (at < lines.length) {
    const line = lines[at];
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    const fence = /^\s*(```+|~~~+)/.exec(line);
    if (!line.trim()) { at += 1; continue; }
    const from = at;
    if (heading) {
      // The page has its own first heading.
      root.append(mark(h(`h${Math.min(6, heading[1].length + 1)}`, {}, inlineMarkdown(heading[2], folder)), at));
      at += 1;
    } else if (fence) {
      at += 1;
      while (at < lines.length && !lines[at].trim().startsWith(fence[1])) at += 1;
      root.append(mark(h("pre", {}, lines.slice(from + 1, at).join("\n")), from, at));
      at += 1;
    } else if (/^\s*([-*+]|\d+[.)])\s+/.test(line)) {
      [at] = list(root, lines, at, mark, folder);
    } else if (/^\s*>/.test(line)) {
      while (at < lines.length && /^\s*>/.test(lines[at])) at += 1;
      root.append(mark(h("blockquote", {}, inlineMarkdown(lines.slice(from, at).map((one) => one.replace(/^\s*>\s?/, "")).join(" "), folder)), from, at - 1));
    } else if (/^\s*\|.*\|\s*$/.test(line) && /^\s*\|[\s:|-]+\|\s*$/.test(lines[at + 1] ?? "")) {
      while (at < lines.length && /^\s*\|/.test(lines[at])) at += 1;
      const cells = (row) => row.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
      root.append(mark(h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, cells(line).map((cell) => h("th", { scope: "col" }, inlineMarkdown(cell, folder))))),
        h("tbody", {}, lines.slice(from + 2, at).map((row) => h("tr", {}, cells(row).map((cell) => h("td", {}, inlineMarkdown(cell, folder)))))))), from, at - 1));
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      root.append(h("hr"));
      at += 1;
    } else {
      while (at < lines.length && lines[at].trim() && !/^(#{1,6}\s|\s*(```|~~~)|\s*>|\s*([-*+]|\d+[.)])\s)/.test(lines[at])) at += 1;
      if (at === from) at += 1;
      root.append(mark(h("p", {}, inlineMarkdown(lines.slice(from, at).join("\n"), folder)), from, at - 1));
    }
  }
  return root;
}

/** Reads a list with its nested lists. Returns where it ends. */
function list(root, lines, at, mark, folder) {
  const marker = /^(\s*)([-*+]|\d+[.)])\s+(.*)$/;
  const stack = [];
  while (at < lines.length) {
    const found = marker.exec(lines[at]);
    if (!found) {
      // A line that is indented belongs to the item before it.
      if (lines[at].trim() && /^\s{2,}/.test(lines[at]) && stack.length) {
        stack.at(-1).node.lastChild.append(" ", ...inlineMarkdown(lines[at].trim(), folder));
        at += 1;
        continue;
      }
      break;
    }
    const [, { length: indent }, sign, text] = found;
    while (stack.length > 1 && indent < stack.at(-1).indent) stack.pop();
    if (!stack.length || indent > stack.at(-1).indent + 1) {
      const node = h(/\d/.test(sign) ? "ol" : "ul");
      (stack.length ? stack.at(-1).node.lastChild ?? root : root).append(node);
      stack.push({ indent, node });
    }
    const tagged = /^\[([^\]|]{1,40})\|i=([\d.]+)\]\s?(.*)$/.exec(text);
    const task = /^\[([ xX])\]\s+(.*)$/.exec(text);
    const item = tagged ? h("li", {}, h("span", { class: "tag", title: `importance ${tagged[2]}` }, tagged[1]), " ", inlineMarkdown(tagged[3], folder))
      : task ? h("li", { class: "task" }, task[1] === " " ? "☐ " : "☑ ", inlineMarkdown(task[2], folder))
      : h("li", {}, inlineMarkdown(text, folder));
    stack.at(-1).node.append(mark(item, at));
    at += 1;
  }
  return [at];
}

const INLINE = /(`+)([^`]|[^`].*?[^`])\1(?!`)|\*\*([^*]+)\*\*|__([^_]+)__|\*([^*\s][^*]*)\*|\[\[([^\]]+)\]\]|\[([^\]]*)\]\(([^()\s]*)\)/s;

/** Code, bold, emphasis and links of a text. */
function inlineMarkdown(text, folder) {
  const parts = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
    const [whole, , code, bold, strong, emphasis, wiki, title, target] = found;
    parts.push(rest.slice(0, found.index));
    if (code !== undefined) parts.push(h("code", {}, code));
    else if (bold ?? strong) parts.push(h("strong", {}, bold ?? strong));
    else if (emphasis !== undefined) parts.push(h("em", {}, emphasis));
    else if (wiki !== undefined) parts.push(h("span", { class: "wiki" }, wiki));
    else parts.push(...place(title, target, folder));
    rest = rest.slice(found.index + whole.length);
  }
  parts.push(rest);
  return parts.filter((part) => part !== "");
}

/** A link to another file of the workspace works. Every other address is only shown. */
function place(title, target, folder) {
  const path = /^[\w./ %-]+\.md(#.*)?$/.test(target) && !target.startsWith("/") && !target.includes("..") ? target.replace(/#.*$/, "") : null;
  if (path) return [link(fileAddress(folder + path.replace(/^\.\//, "")), {}, title || path)];
  return [title, " ", h("span", { class: "target" }, `(${target})`)];
}
