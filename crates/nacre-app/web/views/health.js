// Health: problems, sizes, jobs, clients and settings, with charts of growth, latency and use.

import { call, overview, request } from "../api.js";
import { chart, columns, growth, histogram, legend } from "../chart.js";
import { h, show } from "../dom.js";
import { age, bytes, date, plural, shortDate } from "../format.js";
import { problem } from "../feedback.js";
import { askSharing, machineRows, memberRows, sharingText, spaceRows, tokenRows } from "../sharing.js";

const LATENCY_MS = [5, 10, 25, 50, 100, 250];

export async function open(room) {
  const [{ status, growth: weeks, tiers, problems }, { latency }, about] = await Promise.all([call("health"), request("GET", "/v1/recalls"), overview()]);
  const sharing = h("section", { class: "panel", "aria-live": "polite" });
  show(room,
    h("h1", {}, "Health ", h("small", {}, `Nacre ${about.version}`)),
    problems.length ? h("ul", { class: "problems" }, problems.map((one) => h("li", { class: "warn" }, one))) : h("p", { class: "fine" }, "Everything is in order."),
    h("div", { class: "numbers" },
      number("memories", status.entries.current, status.entries.superseded ? `${status.entries.superseded.toLocaleString()} replaced` : ""),
      number("documents", status.documents.indexed, `${plural(status.documents.chunks, "passage")}${status.documents.skipped ? `, ${status.documents.skipped} skipped` : ""}`),
      number("facts", status.graph.facts, plural(status.graph.entities, "entity", "entities")),
      number("passages in the index", status.passages),
      number("on disk", bytes(status.database_bytes)),
      number("last write", age(status.last_write) ?? "never"),
      status.tokens && number("tokens of models today", status.tokens.tokens, `${status.tokens.limit ? `of ${count(status.tokens.limit)}, ` : ""}${plural(status.tokens.requests, "request")}`)),
    status.distil && h("p", { class: status.distil.problem ? "warn" : "meta" }, `${plural(status.distil.due, "conversation")} to distil${status.distil.problem ? `; the last attempt failed: ${status.distil.problem}` : ""}.`),
    h("div", { class: "charts" },
      chart("Memory growth", "memories and archived messages, by week", weeks.length > 1 ? growth(weeks.map((week) => ({ name: date(week.week), added: week.added }))) : soon(`${plural(weeks[0]?.added ?? 0, "record")} in the first week. The curve begins in the second one.`)),
      chart("Injections", "messages per day that got memories", about.activity.some((day) => day.turns) ? columns(about.activity.map((day) => ({ name: shortDate(day.day), values: [day.turns] })), ["messages"]) : soon("No message got a memory in the last 30 days.")),
      chart("Tokens", "injected into sessions and answered by tools, per day", about.activity.some(tokensOf) ? columns(about.activity.map((day) => ({ name: shortDate(day.day), values: [day.startup_tokens + day.turn_tokens, 0, day.answer_tokens] })), ["tokens injected", "", "tokens answered"]) : soon("No agent has read this memory in the last 30 days."), legend(["injected", null, "answered"])),
      chart("Search latency", latency.length ? `${plural(latency.length, "search", "searches")} since the server started, in ms: ${percentiles(latency)}` : "", latency.length ? histogram(latency, LATENCY_MS, "ms") : soon("No search since the server started."))),
    h("div", { class: "tables" },
      table("Maintenance jobs", ["Job", "When", "Last run", "Next"], about.jobs.map((job) => [
        [h("strong", {}, job.name), h("span", { class: "meta" }, job.about)], h("span", { class: "whole" }, job.schedule),
        job.ran_at ? [age(job.ran_at), job.failed ? h("span", { class: "warn" }, ` failed: ${job.says ?? ""}`) : h("span", { class: "meta" }, job.says ?? "")] : "never",
        h("span", { class: "whole" }, job.due ? "due now" : moment(job.next))])),
      table("Contents", ["Kind", "Count"], [
        ["memories", `${count(status.entries.current)}${status.entry_bytes ? ` (${bytes(status.entry_bytes)} of at most ${bytes(status.entry_limit)})` : ""}`], ["documents", count(status.documents.indexed)], ["facts", count(status.graph.facts)], ["relations", count(status.graph.relations ?? 0)],
        ["collections", count(status.collections)], ["projects", count(status.projects)], ["items", count(status.items)], ["tasks", count(status.tasks)], ["rows of the audit log", count(status.audit_rows)],
        ["facts recalled recently", `${count(tiers.hot ?? 0)} often, ${count(tiers.warm ?? 0)} sometimes, ${count(tiers.cool ?? 0)} rarely`]]),
      table("Clients", ["Client", "State"], about.clients.map((client) => [client.title,
        client.last_run ? [client.last_run.problem ? h("span", { class: "warn" }, client.last_run.problem) : `hook ${client.last_run.event}`, " ", age(client.last_run.at)] : client.connected ? "connected" : "not connected"])),
      sharing),
    settings(about.settings, status));
  fillSharing(sharing);
  return {};
}

function number(title, value, remark) {
  return h("div", { class: "number" }, h("strong", {}, typeof value === "number" ? value.toLocaleString() : value), h("span", {}, title), remark && h("small", {}, remark));
}

const tokensOf = (day) => day.startup_tokens + day.turn_tokens + day.answer_tokens;
const count = (value) => value.toLocaleString();
const soon = (text) => h("p", { class: "meta soon" }, text);
const moment = (at) => h("time", { datetime: at }, new Date(at).toLocaleString(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" }));

function percentiles(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(1);
  return `median ${at(0.5)}, 95 % within ${at(0.95)}`;
}

function table(title, heads, rows) {
  return h("section", { class: "panel" }, h("h2", {}, title), rows.length ? grid(heads, rows) : h("p", { class: "meta" }, "None."));
}

function grid(heads, rows) {
  const node = h("div", { class: "scroll" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))));
  // A table that is wider than the screen is scrolled with the keyboard, too.
  new ResizeObserver(() => {
    const wide = node.scrollWidth > node.clientWidth;
    for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", `Table of ${heads[0].toLowerCase()}s`]]) {
      if (wide) node.setAttribute(name, value); else node.removeAttribute(name);
    }
  }).observe(node);
  return node;
}

/** Reading the logs of other machines takes a moment, so this panel fills itself. */
async function fillSharing(panel) {
  const title = h("h2", {}, "Who shares this memory");
  show(panel, title, h("p", { class: "meta" }, "Reading…"));
  try {
    const answer = await askSharing();
    show(panel, title, sharingText(answer), answer.team && team(answer.team),
      answer.sync && grid(["Machine", "Last seen", "State"], machineRows(answer.sync)),
      answer.tokens.length > 0 && grid(["Token", "Opens", "Rights"], tokenRows(answer.tokens)));
  } catch (error) { show(panel, title, problem(error, () => fillSharing(panel))); }
}

/** The spaces and members of a team, as the caller sees them. */
function team(about) {
  return [h("h3", {}, "Spaces"), grid(["Space", "Your role", "Members"], spaceRows(about)),
    h("h3", {}, "Members"), grid(["Member", "Roles", "Tokens"], memberRows(about))];
}

/** The settings in force, changed ones first. They are changed with `nacre config`. */
function settings(all, status) {
  const changed = all.filter((setting) => setting.changed);
  const rows = (some) => h("dl", { class: "facts settings" }, some.map(({ key, value }) => [h("dt", {}, h("code", {}, key)), h("dd", {}, h("code", {}, value))]));
  return h("section", { class: "panel" }, h("h2", {}, "Settings"),
    h("p", { class: "meta" }, `Profile ${status.profile}. Folder ${status.folder}. `, "Change them with ", h("code", {}, "nacre config set KEY VALUE"), "."),
    changed.length ? rows(changed) : h("p", { class: "meta" }, "Every setting has its default."),
    h("details", {}, h("summary", {}, `All ${all.length} settings`), rows(all)));
}
