// Approvals: each write that waits for the user as a diff against the current file, with keys to approve, edit or deny it.
// Conflicts between memories come first, if the server reports them; lessons that wait come last.

import { go, note } from "../address.js";
import { call } from "../api.js";
import { conflictId, conflictRow, openConflicts, showConflict } from "../conflicts.js";
import { countChanges, diffLines } from "../diff.js";
import { button, h, icon, link, show } from "../dom.js";
import { attempt, empty, postpone, toast } from "../feedback.js";
import { age, plural } from "../format.js";
import { lessonId, lessonRow, showLesson, waitingLessons } from "../lessons.js";
import { List } from "../list.js";

const NARROW = matchMedia("(max-width: 860px)");

export async function open(room, { rest: [number] }) {
  const rows = h("div", { class: "rows" });
  const detail = h("section", { class: "detail", "aria-live": "polite" });
  const bulk = h("div", { class: "bulk", hidden: true });
  const list = new List(rows, (item) => { picked = attempt(() => pick(item.dataset.id)); });
  const selected = new Set();
  const denied = new Set();
  let proposals = [];
  let conflicts = [];
  let lessons = [];
  let actions = {};
  let picked = null;
  // The decision that is being edited: a list that is loaded again must not take the text away.
  let editing = null;

  async function load() {
    const [waiting, open, learned] = await Promise.all([call("proposal_list"), openConflicts(), waitingLessons()]);
    if (editing) return;
    lessons = learned.filter((one) => !denied.has(lessonId(one)));
    proposals = waiting.proposals.filter((one) => !denied.has(one.number));
    conflicts = open;
    draw();
    await picked;
  }

  function draw() {
    const waiting = proposals.length + conflicts.length + lessons.length;
    if (!waiting) {
      actions = {};
      show(room, h("h1", {}, "Approvals"), empty("Nothing waits for you",
        "Agents store memories and add to the daily log by themselves. Changes to your files wait here until you approve them."));
      return;
    }
    const files = groupBy(proposals, (one) => one.target);
    list.set(
      conflicts.length > 0 && h("h2", {}, `Conflicts (${conflicts.length})`),
      conflicts.map((one) => conflictRow(one, (item) => list.choose(item))),
      [...files].map(([target, some]) => [
        h("div", { class: "filehead" }, h("h2", {}, targetName(some[0])), some.length > 1 && some[0].kind === "file" && button(`Approve all ${some.length}`, () => approveAll(some))),
        some.map(row),
      ]),
      lessons.length > 0 && h("h2", {}, `Lessons (${lessons.length})`),
      lessons.map((one) => lessonRow(one, (item) => list.choose(item))));
    show(room, h("h1", {}, "Approvals ", h("small", {}, plural(waiting, "decision waits", "decisions wait"))), bulk,
      h("div", { class: "split pair" }, rows, detail));
    const wanted = list.items.find((item) => item.dataset.id === number) ?? (NARROW.matches ? null : list.items[0]);
    room.toggleAttribute("data-detail", Boolean(wanted));
    if (wanted) list.choose(wanted, { focus: false });
    drawBulk();
  }

  function row(one) {
    const check = h("input", { type: "checkbox", checked: selected.has(one.number), "aria-label": `Select #${one.number}`, onchange: () => {
      check.checked ? selected.add(one.number) : selected.delete(one.number);
      drawBulk();
    } });
    const item = h("article", { class: "item proposal", dataset: { id: String(one.number) } },
      check,
      h("div", { class: "middle" },
        link(`approvals/${one.number}`, { class: "cover", onclick: (event) => { event.preventDefault(); list.choose(item); } }, one.reason || `Change #${one.number}`),
        h("div", { class: "meta" }, h("code", {}, `#${one.number}`), h("span", { class: "come" }, `+${one.lines[0]}`), h("span", { class: "gone" }, `−${one.lines[1]}`),
          age(one.at), one.private && icon("lock"), one.conflict && h("span", { class: "warn" }, "the file changed"))));
    return item;
  }

  function drawBulk() {
    const some = proposals.filter((one) => selected.has(one.number));
    bulk.hidden = some.length < 2;
    show(bulk, h("strong", {}, `${some.length} selected`), button("Approve", () => approveAll(some), { kind: "primary" }),
      button("Deny", () => deny(some)), button("Clear", () => { selected.clear(); draw(); }));
  }

  async function pick(id) {
    number = id;
    if (editing !== id) editing = null;
    note(`approvals/${id}`);
    room.toggleAttribute("data-detail", true);
    const conflict = conflicts.find((one) => conflictId(one) === id);
    if (conflict) {
      actions = showConflict(detail, conflict, { settled: next, back });
      return;
    }
    const lesson = lessons.find((one) => lessonId(one) === id);
    if (lesson) {
      actions = showLesson(detail, lesson, { decided: next, remove: () => removeLesson(lesson), back });
      return;
    }
    const one = await call("proposal_show", { number: Number(id) });
    if (number === id && editing !== id) drawDetail(one);
  }

  function drawDetail(one) {
    editing = null;
    const isFile = one.kind === "file";
    const canApprove = !one.conflict || one.mergeable;
    actions = { a: canApprove && (() => approve(one)), n: () => deny([one]), e: isFile && (() => edit(one)) };
    show(detail,
      link("approvals", { class: "back", onclick: back }, "‹ All approvals"),
      h("div", { class: "line" }, h("h2", {}, targetName(one)), h("span", { class: "meta" }, "proposed ", age(one.at), ` by ${one.actor === "person" ? "you" : "an agent"}`,
        one.session && link(`sessions/${encodeURIComponent(one.session)}?at=${encodeURIComponent(one.at)}`, {}, "conversation"))),
      one.reason && h("p", { class: "reason" }, one.reason),
      one.sources?.length ? h("p", { class: "meta" }, "from ", one.sources.map((source) => h("code", {}, source))) : null,
      isFile ? fileChange(one) : toolCall(one),
      h("div", { class: "buttons sticky" },
        button("Deny", actions.n, { key: "n" }),
        isFile && button("Edit", actions.e, { key: "e" }),
        button("Approve", () => actions.a?.(), { key: "a", kind: "primary", disabled: !canApprove })));
  }

  /** Edits the result before it is approved. Changes that can't be merged start from the current file. */
  function edit(one) {
    editing = String(one.number);
    const merged = one.result !== undefined || !one.conflict;
    const text = h("textarea", { class: "whole", spellcheck: "false", "aria-label": one.target }, merged ? one.result ?? one.proposed ?? "" : one.current ?? "");
    show(detail, h("form", { onsubmit: (event) => { event.preventDefault(); approve(one, text.value); } },
      h("h2", {}, `Edit ${one.target}`),
      !merged && h("p", { class: "reason" }, "This is the current file. Add what you want to keep of the proposal."),
      text,
      h("div", { class: "buttons sticky" }, button("Cancel", () => drawDetail(one)), h("button", { class: "primary" }, "Approve with these changes"))));
    text.focus();
  }

  async function approve(one, content) {
    const done = await attempt(async () => {
      if (content !== undefined) return call("proposal_decide", { number: one.number, decision: "approve", content, base: one.hash });
      if (one.conflict) await call("proposal_decide", { number: one.number, decision: "rebase" });
      return call("proposal_decide", { number: one.number, decision: "approve" });
    });
    // An edit that was refused is still there.
    if (!done && content !== undefined) return;
    if (done) told([one]);
    next();
  }

  async function approveAll(some) {
    const written = [];
    await attempt(async () => {
      for (const one of some) {
        // One approval may bring another into conflict, so each is looked at again.
        const now = await call("proposal_show", { number: one.number });
        if (now.conflict) await call("proposal_decide", { number: one.number, decision: "rebase" });
        await call("proposal_decide", { number: one.number, decision: "approve" });
        written.push(one);
      }
    });
    if (written.length) told(written);
    selected.clear();
    next();
  }

  function told(some) {
    const what = some.length === 1 ? some[0].target : `${some.length} changes`;
    const files = some.filter((one) => one.kind === "file");
    const undo = () => attempt(async () => {
      for (const one of [...files].reverse()) await call("proposal_decide", { number: one.number, decision: "revert" });
      toast(`${what}: undone`);
    });
    toast(some[0].kind === "file" ? `${what} was written` : `${targetName(some[0])} was done`, files.length ? { action: ["Undo", undo] } : {});
  }

  function deny(some) {
    some.forEach((one) => denied.add(one.number));
    const back = () => { some.forEach((one) => denied.delete(one.number)); load(); };
    postpone(some.length === 1 ? `#${some[0].number} was denied` : `${some.length} were denied`, async (options) => {
      for (const one of some) await call("proposal_decide", { number: one.number, decision: "deny" }, options);
      dispatchEvent(new Event("approvals"));
    }, back);
    selected.clear();
    next();
  }

  function removeLesson(lesson) {
    const id = lessonId(lesson);
    denied.add(id);
    postpone("The lesson was removed", async (options) => {
      await call("lesson_decide", { number: lesson.number, decision: "remove" }, options);
      dispatchEvent(new Event("approvals"));
    }, () => { denied.delete(id); load(); });
    next();
  }

  /** Loads what still waits, and shows the one after the decided one. */
  async function next() {
    editing = null;
    const ids = list.items.map((item) => item.dataset.id);
    const at = ids.indexOf(number);
    number = ids[at + 1] ?? ids[at - 1];
    dispatchEvent(new Event("approvals"));
    await attempt(load);
  }

  function back(event) {
    event.preventDefault();
    number = undefined;
    room.removeAttribute("data-detail");
    note("approvals");
  }

  await load();
  const heard = ({ detail: { data } }) => { if (["proposal", "lesson"].includes(data.type)) attempt(load); };
  addEventListener("happened", heard);
  const keys = { ...list.keys, x: () => list.current?.querySelector("input[type=checkbox]")?.click(), Escape: () => go("home") };
  for (const key of ["a", "n", "e", "b", "1", "2"]) keys[key] = () => actions[key]?.();
  return { keys, leave: () => removeEventListener("happened", heard) };
}

/** A change of a file: the current file against the result, and both sides of a conflict. */
function fileChange(one) {
  if (!one.conflict) return [stats(one.current, one.result ?? one.proposed), diffLines(one.current ?? "", one.result ?? one.proposed ?? "", { labels: ["file now", "after approval"] })];
  const since = h("details", { open: !one.mergeable }, h("summary", {}, "What changed in the file since then"),
    diffLines(one.base ?? "", one.current ?? "", { labels: ["when it was proposed", "file now"] }));
  const proposed = h("details", { open: !one.mergeable }, h("summary", {}, "What was proposed"),
    diffLines(one.base ?? "", one.proposed ?? "", { labels: ["when it was proposed", "proposed"] }));
  return [
    h("p", { class: "banner warn", role: "alert" }, one.mergeable
      ? "The file has changed since this was proposed. The result keeps both changes."
      : "The file has changed at the same place since this was proposed. Edit the file by hand, or deny the proposal."),
    one.mergeable && [stats(one.current, one.result), diffLines(one.current ?? "", one.result ?? "", { labels: ["file now", "after approval"] })],
    since, proposed,
  ];
}

function stats(before, after) {
  const { added, removed } = countChanges(before ?? "", after ?? "");
  return h("p", { class: "meta" }, after === undefined && "The file is deleted. ", before === undefined && "A new file. ",
    h("span", { class: "come" }, plural(added, "line added", "lines added")), h("span", { class: "gone" }, plural(removed, "line removed", "lines removed")));
}

/** A tool that an agent wants to call. */
function toolCall(one) {
  const value = (given) => typeof given === "string" ? given : JSON.stringify(given);
  return [h("dl", { class: "facts" }, Object.entries(one.arguments ?? {}).map(([name, given]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, value(given))])),
    h("pre", { tabindex: "0", role: "group", "aria-label": "Change" }, one.diff)];
}

function targetName(one) {
  return one.kind === "file" ? one.target : one.target.replaceAll("_", " ");
}

function groupBy(all, key) {
  const groups = new Map();
  for (const one of all) groups.set(key(one), [...(groups.get(key(one)) ?? []), one]);
  return groups;
}
