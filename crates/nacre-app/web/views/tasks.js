// Tasks by status, with their dependencies.

import { call } from "../api.js";
import { empty, h, plural, show, toast } from "../dom.js";

const STATES = [["in_progress", "In progress"], ["pending", "To do"], ["done", "Done"], ["cancelled", "Cancelled"]];
const NEXT = {
  pending: [["start", "Start"], ["cancel", "Cancel"]],
  in_progress: [["done", "Done"], ["reopen", "Move back to To do"]],
  done: [["reopen", "Reopen"]],
  cancelled: [["reopen", "Reopen"]],
};

export async function open(room) {
  async function load() {
    const { tasks } = await call("task_list", {});
    if (!tasks.length) return show(room, h("h1", {}, "Tasks"), empty("No tasks yet", "`nacre task add` adds one; agents can add tasks too."));
    show(room, h("h1", {}, "Tasks ", h("small", {}, plural(tasks.length, "task"))), STATES.map(([status, title]) => {
      const some = tasks.filter((task) => task.status === status);
      return some.length ? h("section", {}, h("h2", {}, title), h("ul", { class: "tasks" }, some.map(item))) : null;
    }));
  }
  const item = (task) => h("li", { class: task.ready ? "ready" : "" },
    h("span", { class: "priority" }, task.priority), h("span", { class: "text" }, task.description,
      h("span", { class: "meta" }, h("code", {}, task.id), task.milestone, task.blocked_by?.length ? h("span", { class: "warn" }, `waits for ${task.blocked_by.join(", ")}`) : null),
      task.acceptance_criteria?.length ? h("ul", { class: "criteria" }, task.acceptance_criteria.map((one) => h("li", {}, one))) : null),
    (NEXT[task.status] ?? []).map(([action, title]) => h("button", { onclick: async () => {
      try {
        const { task: now } = await call("task_update", { id: task.id, action });
        toast(`${task.id} is ${now.status.replace("_", " ")}`);
      } catch (error) { toast(`${error.message}. ${error.hint ?? ""}`, "error"); }
      await load();
    } }, title)));
  await load();
  return {};
}
