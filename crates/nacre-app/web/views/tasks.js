// Tasks by status, with what each waits for.

import { note } from "../address.js";
import { call } from "../api.js";
import { button, h, show } from "../dom.js";
import { attempt, empty, toast } from "../feedback.js";
import { age } from "../format.js";

const STATES = [["in_progress", "In progress"], ["pending", "To do"], ["done", "Done"], ["cancelled", "Cancelled"]];
// The actions on a task by its status: action, title, and the action that undoes it.
const ACTIONS = {
  pending: [["start", "Start", "reopen"], ["done", "Done", "reopen"], ["cancel", "Cancel", "reopen"]],
  in_progress: [["done", "Done", "reopen"], ["reopen", "Back to To do", "start"]],
  done: [["reopen", "Reopen", "done"]],
  cancelled: [["reopen", "Reopen", "cancel"]],
};

export async function open(room, { query }) {
  const title = h("h1", {}, "Tasks");
  const body = h("div");
  const field = h("input", { name: "description", required: true, maxlength: "2000", placeholder: "What is to be done?", "aria-label": "New task" });
  const milestone = h("input", { name: "milestone", placeholder: "Milestone", "aria-label": "Milestone", class: "short" });
  const after = h("select", { name: "after", "aria-label": "Waits for" });
  const add = async (event) => {
    event.preventDefault();
    const task = { description: field.value.trim(), ...(milestone.value.trim() && { milestone: milestone.value.trim() }), ...(after.value && { blocked_by: [after.value] }) };
    if (!(await attempt(() => call("task_add", task)))) return;
    field.value = "";
    toast("Added");
    await load();
    field.focus();
  };
  let tasks = [];

  async function load() {
    ({ tasks } = await call("task_list"));
    const open = tasks.filter((task) => task.status === "pending" || task.status === "in_progress");
    show(title, "Tasks ", h("small", {}, `${open.length} open`));
    show(after, h("option", { value: "" }, "waits for nothing"), open.map((task) => h("option", { value: task.id }, `waits for ${task.id}`)));
    show(body, tasks.length ? STATES.map(section) : empty("No tasks yet", "Add the first one above. Agents can add tasks too."));
  }

  function section([status, name]) {
    const some = tasks.filter((task) => task.status === status);
    if (!some.length) return null;
    const list = h("ul", { class: "tasks" }, some.map(item));
    return status === "done" || status === "cancelled" ? h("details", {}, h("summary", {}, `${name} (${some.length})`), list) : h("section", {}, h("h2", {}, name), list);
  }

  function item(task) {
    const waits = waitsFor(task);
    return h("li", { class: `task ${task.ready ? "ready" : ""} ${task.status}` },
      h("div", { class: "middle" },
        h("p", {}, task.description),
        h("p", { class: "meta" }, h("code", {}, task.id), h("span", {}, `priority ${task.priority}`), task.milestone && h("span", { class: "tag" }, task.milestone), age(task.completed ?? task.created)),
        waits.length > 0 && chain(task, waits),
        task.acceptance_criteria?.length ? h("ul", { class: "criteria" }, task.acceptance_criteria.map((one) => h("li", {}, one))) : null),
      h("div", { class: "buttons" }, (ACTIONS[task.status] ?? []).filter(([action]) => !waits.length || action === "cancel").map(([action, name, undo]) => button(name, () => act(task, action, undo), { kind: action === "done" ? "primary" : "" }))));
  }

  /** The open tasks that must be finished first. */
  function waitsFor(task) {
    return (task.blocked_by ?? []).map((id) => tasks.find((other) => other.id === id)).filter((other) => other && other.status !== "done" && other.status !== "cancelled");
  }

  /** The tasks before this one as a small picture: first the one that can start now. */
  function chain(task, waits) {
    const steps = [];
    const seen = new Set([task.id]);
    for (let layer = waits; layer.length; layer = layer.flatMap(waitsFor).filter((one) => !seen.has(one.id))) {
      layer.forEach((one) => seen.add(one.id));
      steps.unshift([...new Set(layer)]);
    }
    const box = (one) => h("span", { class: `step ${one.ready ? "ready" : ""}`, title: one.description }, one.id);
    return h("div", { class: "waiting", role: "img", "aria-label": `Waits for ${waits.map((one) => one.id).join(", ")}` },
      steps.map((layer) => [h("span", { class: "layer" }, layer.map(box)), h("span", { class: "arrow" }, "→")]), h("span", { class: "step self" }, task.id));
  }

  async function act(task, action, undo) {
    const done = await attempt(async () => {
      // A task has to be started before it can be done.
      if (action === "done" && task.status === "pending") await call("task_update", { id: task.id, action: "start" });
      await call("task_update", { id: task.id, action });
    });
    if (done) toast(`${task.id}: ${{ start: "started", done: "done", reopen: "open again", cancel: "cancelled" }[action]}`, { action: ["Undo", () => attempt(async () => { await call("task_update", { id: task.id, action: undo }); await load(); })] });
    await load();
  }

  await load();
  show(room, title,
    h("form", { class: "addtask", onsubmit: add }, field, milestone, after, h("button", { class: "primary" }, "Add")),
    body);
  const heard = ({ detail: { data } }) => { if (data.type === "task") load(); };
  addEventListener("happened", heard);
  if (query.get("new")) note("tasks");
  return { focus: query.get("new") ? field : null, keys: { n: () => field.focus() }, leave: () => removeEventListener("happened", heard) };
}
