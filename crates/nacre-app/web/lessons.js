// Lessons that wait: rules learned from one correction. Agents get them once the user confirms them.

import { call } from "./api.js";
import { button, h, link, show } from "./dom.js";
import { attempt, toast } from "./feedback.js";
import { age } from "./format.js";

/** The lessons that wait for the user, newest first. */
export async function waitingLessons() {
  return (await call("lesson_list")).lessons.filter((lesson) => lesson.state === "waiting");
}

/** The id of a lesson among the decisions that wait. */
export function lessonId(lesson) {
  return `lesson-${lesson.number}`;
}

/** The row of a lesson in the list. `choose(row)` shows it. */
export function lessonRow(lesson, choose) {
  const row = h("article", { class: "item proposal", dataset: { id: lessonId(lesson) } },
    h("span", { class: "nocheck" }),
    h("div", { class: "middle" },
      link(`approvals/${lessonId(lesson)}`, { class: "cover", onclick: (event) => { event.preventDefault(); choose(row); } }, lesson.text),
      h("div", { class: "meta" }, "learned ", age(lesson.learned_at))));
  return row;
}

/** Shows a lesson. `decided()` is called after it was confirmed, `remove()` takes it out of sight. Returns the keys that decide. */
export function showLesson(detail, lesson, { decided, remove, back }) {
  const confirm = () => attempt(async () => {
    await call("lesson_decide", { number: lesson.number, decision: "confirm" });
    toast("Confirmed: agents follow it from now on");
    decided();
  });
  const keys = { a: confirm, n: remove };
  show(detail,
    link("approvals", { class: "back", onclick: back }, "‹ All approvals"),
    h("div", { class: "line" }, h("h2", {}, "Should agents follow this?"), h("span", { class: "meta" }, "learned ", age(lesson.learned_at),
      link(`sessions/${encodeURIComponent(lesson.session)}?at=${encodeURIComponent(lesson.learned_at)}`, {}, "conversation"))),
    h("article", { class: "card" },
      h("p", { class: "content" }, lesson.text),
      lesson.asked && h("p", { class: "meta" }, `You had asked: ${lesson.asked}`)),
    h("p", { class: "meta" }, "You said it once, as a correction. If you say it again in another session, it is confirmed by itself."),
    h("div", { class: "buttons sticky" }, button("Remove", remove, { key: "n" }), button("Confirm", confirm, { key: "a", kind: "primary" })));
  return keys;
}
