// Files and logs: the workspace. The user can edit a file; a version that changed meanwhile is never overwritten.

import { call } from "../api.js";
import { age, bytes, empty, h, icon, link, plural, put, show, toast } from "../dom.js";

export async function open(room, { rest, query }) {
  const wanted = rest.join("/");
  const { files } = await call("file_list", {});
  const tree = h("nav", { class: "tree", "aria-label": "Files" });
  const page = h("article", { class: "page" });
  const address = (path) => `files/${path.split("/").map(encodeURIComponent).join("/")}`;
  const folders = Map.groupBy ? Map.groupBy(files, folder) : group(files);
  put(tree, [...folders].map(([name, inside]) => h("section", {}, h("h2", {}, name || "Workspace"),
    h("ul", {}, inside.map((file) => h("li", {}, link(address(file.path), { "aria-current": file.path === wanted ? "page" : undefined },
      file.path.split("/").at(-1), file.private && icon("lock")), h("small", {}, bytes(file.size))))))));
  show(room, h("h1", {}, "Files"), files.length ? h("div", { class: "split" }, tree, page)
    : empty("There are no files yet", "`nacre init` creates a few useful ones."));
  if (wanted) await read();
  else if (files.length) show(page, empty("Choose a file", "The workspace holds what an agent reads at the start of a session, the daily logs and longer notes."));

  async function read() {
    const file = await call("file_show", { path: wanted });
    const line = Number(query.get("line") ?? 0);
    const known = files.find((one) => one.path === wanted);
    const lines = (file.text ?? "").split("\n");
    show(page,
      h("div", { class: "line" }, h("h2", {}, wanted), known && h("span", { class: "meta" }, plural(lines.length, "line"), age(known.modified)),
        file.masked && h("span", { class: "note", title: "The file contains credentials; they are not shown" }, icon("lock"), "masked"),
        h("button", { onclick: edit, title: "e" }, "Edit")),
      h("ol", { class: "source" }, lines.map((text, place) => h("li", { class: place + 1 === line ? "here" : "", id: `L${place + 1}` }, render(text)))));
    page.querySelector(".here")?.scrollIntoView({ block: "center" });

    function edit() {
      const text = h("textarea", { class: "whole", spellcheck: "false", "aria-label": wanted }, file.text ?? "");
      show(page, h("form", { onsubmit: save },
        h("h2", {}, wanted), text,
        h("div", { class: "buttons sticky" }, h("button", { type: "button", onclick: read }, "Cancel"), h("button", { class: "primary" }, "Save"))));
      text.focus();
      async function save(event) {
        event.preventDefault();
        try {
          await call("file_save", { path: wanted, content: text.value, base: file.hash });
          toast("Saved");
          await read();
        } catch (error) { toast(`${error.message} ${error.hint ?? ""}`, "error"); }
      }
    }
  }
  return { keys: { e: () => page.querySelector("button[title=e]")?.click() } };
}

function folder(file) {
  return file.path.includes("/") ? file.path.slice(0, file.path.lastIndexOf("/")) : "";
}

function group(files) {
  const all = new Map();
  for (const file of files) all.set(folder(file), [...(all.get(folder(file)) ?? []), file]);
  return all;
}

/** Renders a line of Markdown: headings and tags of log lines are highlighted. Nothing becomes a link or an image. */
function render(text) {
  const heading = /^(#{1,6})\s+(.*)$/.exec(text);
  if (heading) return h("strong", { class: `h${heading[1].length}` }, text);
  const tagged = /^(\s*[-*]\s+)\[([^\]|]{1,40})\|i=([\d.]+)\]\s?(.*)$/.exec(text);
  if (tagged) return [tagged[1], h("span", { class: "tag" }, tagged[2]), h("meter", { min: "0", max: "1", value: tagged[3], title: `importance ${tagged[3]}` }), " ", tagged[4]];
  return text || " ";
}
