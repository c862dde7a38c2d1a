// Home: what the agent sees now, what waits, what changed, and which clients are connected.

import { call, overview } from "../api.js";
import { chart, columns, legend } from "../chart.js";
import { openConflicts } from "../conflicts.js";
import { button, fileAddress, h, icon, link, show } from "../dom.js";
import { newMemory } from "../entry-form.js";
import { inline } from "../feedback.js";
import { age, DAY, plural, shortDate } from "../format.js";
import { waitingLessons } from "../lessons.js";
import { kindOf, KINDS, sentence } from "../sentences.js";

const MAX_CHANGES = 6;
const MAX_MEMORIES = 5;

export async function open(room) {
  let timer = null;
  async function load() {
    const [boot, about, waiting, health, audit, newest, conflicts, lessons] = await Promise.all([
      call("memory_boot"), overview(), call("proposal_list"), call("health"),
      call("audit_list", { limit: 300 }), call("memory_search", { limit: 20 }), openConflicts(), waitingLessons(),
    ]);
    const isNew = !health.status.entries.current && !health.status.graph.facts;
    show(room,
      h("h1", {}, isNew ? "Welcome to Nacre" : "Home"),
      isNew && welcome(about.clients),
      h("div", { class: "board" },
        h("div", { class: "column" }, sees(boot), tokens(about.activity)),
        h("div", { class: "column" }, waits(waiting.proposals, conflicts, lessons, health), changed(audit.rows, newest.hits), agents(about.clients))));
  }
  const heard = ({ detail: { name } }) => {
    if (name !== "memory:write") return;
    clearTimeout(timer);
    timer = setTimeout(load, 400);
  };
  await load();
  addEventListener("happened", heard);
  return { leave: () => { removeEventListener("happened", heard); clearTimeout(timer); } };
}

function panel(name, title, more, ...children) {
  return h("section", { class: `panel ${name}` }, h("div", { class: "line" }, h("h2", {}, title), more), children);
}

/** The first steps of somebody whose memory is empty. */
function welcome(clients) {
  const connected = clients.some((client) => client.connected);
  const step = (done, title, ...children) => h("li", { class: done ? "done" : "" }, h("strong", {}, title), h("p", {}, children));
  return h("ol", { class: "steps-first panel" },
    step(false, "Store the first memory", "Something that every agent should know, such as “I prefer tabs in Go”. ", button("New memory", newMemory, { key: "c", kind: "primary" })),
    step(connected, "Connect an agent", inline("Run `nacre install` in a terminal. It finds the agents on this machine and shows each change first.")),
    step(false, "Bring older knowledge in", inline("`nacre import` reads notes and the conversations of other programs.")));
}

/** The startup context: its tokens by part, and the whole text on request. */
function sees(boot) {
  const parts = boot.parts.filter((part) => part.chars > 0);
  const total = parts.reduce((sum, part) => sum + part.chars, 0);
  const share = (part) => Math.max(1, Math.round(part.chars * boot.tokens / Math.max(1, boot.chars)));
  const name = (part) => part.path === "brief" ? link("memory", {}, "Brief of your memories") : part.path.endsWith(".md") ? link(fileAddress(part.path), {}, part.path) : h("span", {}, part.path === "skills" ? "List of skills" : part.path);
  return panel("sees", "What your agent sees now", h("span", { class: "big" }, plural(boot.tokens, "token")),
    h("p", { class: "meta" }, "The startup context that a new session gets."),
    parts.length ? [
      h("div", { class: "stack", role: "img", "aria-label": parts.map((part) => `${part.path}: ${share(part)} tokens`).join(", ") },
        parts.map((part, at) => h("span", { class: `hue-${at % 8 + 1}`, style: { "flex-grow": String(part.chars / total) }, title: `${part.path}: ${share(part)} tokens` }))),
      h("ul", { class: "legend" }, parts.map((part, at) => h("li", {}, h("span", { class: `dot hue-${at % 8 + 1}` }), name(part), part.cut && h("small", { class: "warn" }, "cut"), h("small", { class: "count-of" }, `${share(part).toLocaleString()} tokens`)))),
      h("details", {}, h("summary", {}, "Show the text"), h("pre", { tabindex: "0", role: "group", "aria-label": "Startup context" }, boot.markdown)),
    ] : h("p", {}, "Nothing yet: there are no memories, and the files are still empty templates."));
}

/** Tokens by day, for the last two weeks. */
function tokens(activity) {
  const days = activity.slice(-14);
  const sum = (field) => days.reduce((total, day) => total + day[field], 0);
  const [startup, turns, answers, searches] = [sum("startup_tokens"), sum("turn_tokens"), sum("answer_tokens"), sum("searches")];
  if (!startup && !turns && !answers && !searches) return panel("tokens", "Tokens for your agents", null, h("p", { class: "meta" }, "No agent has read this memory in the last two weeks."));
  return panel("tokens", "Tokens for your agents", null,
    chart("", `Injected: ${startup.toLocaleString()} at the start of sessions, ${turns.toLocaleString()} before messages. Answered: ${answers.toLocaleString()} by tools, with ${plural(searches, "search", "searches")}. In two weeks.`,
      columns(days.map((day) => ({ name: shortDate(day.day), values: [day.startup_tokens, day.turn_tokens, day.answer_tokens] })), ["tokens at the start", "tokens before messages", "tokens in answers"])),
    legend(["at the start", "before messages", "answers of tools"]));
}

function waits(proposals, conflicts, lessons, { unused, problems }) {
  const waiting = [
    proposals.length && link("approvals", {}, icon("approvals"), plural(proposals.length, "change waits for your approval", "changes wait for your approval")),
    conflicts.length && link("approvals", {}, icon("approvals"), plural(conflicts.length, "pair of memories contradicts itself", "pairs of memories contradict each other")),
    lessons.length && link("approvals", {}, icon("approvals"), plural(lessons.length, "lesson waits for you to confirm it", "lessons wait for you to confirm them")),
    unused.count && stale(unused),
    ...problems.map((problem) => link("health", { class: "warn" }, icon("health"), problem)),
  ].filter(Boolean);
  return panel("waits", "Waiting for you", null,
    waiting.length ? h("ul", { class: "plain" }, waiting.map((one) => h("li", {}, one))) : h("p", { class: "fine" }, "Nothing. Everything is in order."));
}

/** Memories that may be out of date, behind a click. */
function stale({ count, oldest }) {
  return h("details", { class: "stale" }, h("summary", {}, `${plural(count, "memory", "memories")} unused for half a year: still true?`),
    h("ul", { class: "plain new" }, oldest.map((one) => h("li", {}, link(`entry/${one.number}`, { class: "clip" }, one.content), age(one.at)))),
    count > oldest.length && h("p", { class: "meta" }, `The oldest ${oldest.length} are listed.`));
}

function changed(rows, newest) {
  const since = Date.now() - DAY;
  const recent = rows.filter((row) => Date.parse(row.at) > since && row.action !== "index");
  const memories = newest.filter((hit) => Date.parse(hit.at) > since).slice(0, MAX_MEMORIES);
  const counted = new Map();
  for (const row of recent) {
    const key = `${row.actor} ${row.action} ${row.outcome}`;
    counted.set(key, [...(counted.get(key) ?? []), row]);
  }
  return panel("changed", "Since yesterday", link("timeline", {}, "Timeline"),
    memories.length > 0 && h("ul", { class: "plain new" }, memories.map((hit) => h("li", {}, h("span", { class: "kind", dataset: { kind: hit.type } }, hit.type), link(`entry/${hit.number}`, { class: "clip" }, hit.text), age(hit.at)))),
    recent.length ? h("ul", { class: "plain" }, [...counted.values()].sort(byKind).slice(0, MAX_CHANGES).map((some) => h("li", {}, sentence(some), " ", h("small", {}, age(some[0].at))))) : h("p", { class: "meta" }, "Nothing has changed."));
}

/** Memories first, upkeep last. */
function byKind([one], [other]) {
  const order = Object.keys(KINDS);
  return order.indexOf(kindOf(one)) - order.indexOf(kindOf(other));
}

function agents(clients) {
  const state = (client) => {
    if (client.last_run?.problem) return h("span", { class: "warn" }, `its last hook failed: ${client.last_run.problem}`);
    if (client.last_run) return ["hooks ran ", age(client.last_run.at)];
    if (client.connected) return client.hooks ? "connected; no hook has run yet" : "connected; its agent calls the tools";
    return ["not connected: ", h("code", {}, `nacre install ${client.name}`)];
  };
  return panel("agents", "Agents", null,
    clients.length ? h("ul", { class: "plain clients" }, clients.map((client) => h("li", {}, h("span", { class: `light ${client.last_run?.problem ? "bad" : client.connected || client.last_run ? "good" : ""}` }), h("strong", {}, client.title), h("span", { class: "meta" }, state(client)))))
      : h("p", { class: "meta" }, inline("No agent was found on this machine. `nacre install` lists the ones that Nacre can connect.")));
}
