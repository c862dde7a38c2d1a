// Files: the workspace, rendered or as source, with an editor and a history. A version that changed meanwhile is never overwritten.

import { call } from "../api.js";
import { diffLines } from "../diff.js";
import { button, fileAddress, h, icon, link, show } from "../dom.js";
import { attempt, empty, toast } from "../feedback.js";
import { age, bytes, plural } from "../format.js";
import { fits } from "../picker.js";
import { markdown } from "../markdown.js";

const LOG = /^memory\/(\d{4}-\d{2})-\d{2}\.md$/;

export async function open(room, { rest, query }) {
  const wanted = rest.join("/");
  const { files } = await call("file_list");
  if (!files.length) {
    show(room, h("h1", {}, "Files"), empty("There are no files yet", "`nacre init` creates a few useful ones: what an agent reads at the start of each session."));
    return {};
  }
  const tree = h("div", { class: "tree-body" });
  const page = h("article", { class: "page" });
  const filter = h("input", { type: "search", placeholder: "Filter files", "aria-label": "Filter files", oninput: () => draw(filter.value) });
  const keys = {};

  function draw(text = "") {
    const shown = files.filter((file) => fits(file.path, text) > 0);
    const logs = shown.filter((file) => LOG.test(file.path)).reverse();
    const others = shown.filter((file) => !LOG.test(file.path));
    const open = wanted && LOG.exec(wanted)?.[1];
    show(tree,
      [...groupBy(others, folder)].map(([name, some]) => section(name || "Workspace", some, true)),
      logs.length > 0 && h("h2", {}, "Daily logs"),
      [...groupBy(logs, (file) => LOG.exec(file.path)[1])].map(([month, some], at) =>
        h("details", { open: Boolean(text) || month === open || (at === 0 && !open) },
          h("summary", {}, new Date(`${month}-15`).toLocaleDateString(undefined, { month: "long", year: "numeric" }), h("small", {}, String(some.length))), items(some))));
  }
  const section = (name, some) => h("section", {}, h("h2", {}, name), items(some));
  const items = (some) => h("ul", {}, some.map((file) => h("li", {}, link(fileAddress(file.path), { "aria-current": file.path === wanted ? "page" : undefined },
    file.path.split("/").at(-1), file.private && icon("lock")), h("small", {}, bytes(file.size)))));

  draw();
  show(room, h("h1", {}, "Files ", h("small", {}, plural(files.length, "file"))),
    h("div", { class: "split pair" }, h("nav", { class: "tree", "aria-label": "Files" }, filter, tree), page));
  room.toggleAttribute("data-detail", Boolean(wanted));
  if (wanted) await read();
  else show(page, empty("Choose a file", "The workspace holds what an agent reads at the start of a session, the daily logs and longer notes."));

  async function read() {
    const file = await call("file_show", { path: wanted });
    const line = Number(query.get("line") ?? 0);
    const known = files.find((one) => one.path === wanted);
    let source = localStorage.getItem("files") === "source";
    const content = h("div");
    const toggle = button("", () => { source = !source; localStorage.setItem("files", source ? "source" : "text"); render(); }, { key: "s" });
    const render = () => {
      toggle.textContent = source ? "Rendered" : "Source";
      show(content, source ? sourceOf(file.text, line) : markdown(file.text ?? "", { line, folder: wanted.includes("/") ? wanted.slice(0, wanted.lastIndexOf("/") + 1) : "" }));
      content.querySelector(".here")?.scrollIntoView({ block: "center" });
    };
    keys.e = () => edit(file);
    keys.s = () => toggle.click();
    show(page,
      link("files", { class: "back" }, "‹ All files"),
      h("div", { class: "line" }, h("h2", {}, wanted), h("span", { class: "meta" }, known && [bytes(known.size), age(known.modified)],
        file.masked && h("span", { class: "note", title: "The file contains credentials; they are not shown" }, icon("lock"), "masked")),
        h("span", { class: "buttons" }, toggle, button("Edit", keys.e, { key: "e" }))),
      file.text?.trim() ? content : empty("This file is empty", "Edit it, or let an agent propose something."),
      pastChanges(file));
    render();
  }

  function edit(file) {
    const text = h("textarea", { class: "whole", spellcheck: "false", "aria-label": wanted }, file.text ?? "");
    const save = async (event) => {
      event.preventDefault();
      const saved = await attempt(async () => {
        const { hash } = await call("file_save", { path: wanted, content: text.value, base: file.hash });
        const undo = async () => {
          if (await attempt(() => call("file_save", { path: wanted, content: file.text ?? "", base: hash }))) { toast("The earlier text is back"); read(); }
        };
        toast("Saved", { action: ["Undo", undo] });
      });
      if (saved) await read();
    };
    show(page, h("form", { onsubmit: save },
      h("h2", {}, `Edit ${wanted}`), text,
      h("div", { class: "buttons sticky" }, button("Cancel", read), h("button", { class: "primary" }, "Save"))));
    text.focus();
  }

  /** The changes that agents proposed to the file, newest first. */
  function pastChanges(file) {
    const body = h("div");
    const details = h("details", { class: "history", ontoggle: async () => {
      if (!details.open || body.children.length) return;
      await attempt(async () => {
        const { proposals } = await call("proposal_list", { all: true });
        const mine = proposals.filter((one) => one.target === file.path).reverse();
        show(body, mine.length ? mine.map(change) : h("p", { class: "meta" }, "No agent has proposed a change to this file."));
      });
    } }, h("summary", {}, "History of proposed changes"), body);
    return details;
  }

  function change(one, at) {
    const restore = async () => {
      if (await attempt(() => call("proposal_decide", { number: one.number, decision: "revert" }))) { toast("The earlier text is back"); read(); }
    };
    return h("section", { class: "version" },
      h("p", { class: "meta" }, h("code", {}, `#${one.number}`), h("strong", {}, one.state), age(one.decided_at ?? one.at), one.reason && h("span", {}, one.reason),
        one.state === "approved" && at === 0 && button("Restore the text before it", restore, { kind: "small" }),
        one.state === "pending" && link(`approvals/${one.number}`, {}, "Decide")),
      lazyDiff(one.number));
  }

  return { keys };
}

/** A diff that is loaded when it is opened. */
function lazyDiff(number) {
  const body = h("div");
  const load = async () => {
    if (!node.open || body.children.length) return;
    const one = await call("proposal_show", { number });
    show(body, diffLines(one.base ?? "", one.proposed ?? ""));
  };
  const node = h("details", { ontoggle: () => attempt(load) }, h("summary", {}, "Show the change"), body);
  return node;
}

function sourceOf(text, line) {
  return h("ol", { class: "source" }, (text ?? "").split("\n").map((one, place) => h("li", { class: place + 1 === line ? "here" : "", id: `L${place + 1}` }, one || " ")));
}

function folder(file) {
  return file.path.includes("/") ? file.path.slice(0, file.path.lastIndexOf("/")) : "";
}

function groupBy(all, key) {
  const groups = new Map();
  for (const one of all) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}
