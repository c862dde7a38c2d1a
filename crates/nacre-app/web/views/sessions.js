// Conversations: a list that can be searched, and one conversation message by message with the memories that it made.

import { go, note } from "../address.js";
import { call } from "../api.js";
import { button, h, icon, link, marked, put, show } from "../dom.js";
import { ask, attempt, empty, problem, toast } from "../feedback.js";
import { age, clock, date, dayName, plural } from "../format.js";
import { bestSentence, hitWords, recordLink } from "../hits.js";
import { List } from "../list.js";

const MAX_SESSIONS = 500;
const PAGE = 100;
const TYPING_MS = 120;
const PROGRAMS = { "claude-code": "Claude Code", codex: "Codex", chatgpt: "ChatGPT", claude: "Claude", transcript: "Nacre", jsonl: "imported" };

export async function open(room, { rest: [id], query }) {
  return id ? conversation(room, id, query.get("at")) : conversations(room, query.get("q") ?? "");
}

async function conversations(room, asked) {
  const { sessions, total } = await call("session_list", { limit: MAX_SESSIONS });
  const rows = h("div", { class: "rows" });
  const said = h("p", { class: "said", role: "status" });
  const list = new List(rows);
  const box = h("input", { type: "search", value: asked, placeholder: "Search in conversations", "aria-label": "Search in conversations", autocomplete: "off",
    oninput: () => { clearTimeout(box.soon); box.soon = setTimeout(run, TYPING_MS); },
    onkeydown: (event) => { if (event.key === "ArrowDown") { event.preventDefault(); list.move(1); } } });
  const named = sessions.map((session) => ({ ...session, title: session.title || `Conversation of ${date(session.started_at ?? session.ended_at ?? 0)}` }));
  const byId = new Map(named.map((session) => [session.id, session]));

  const facts = (session) => h("div", { class: "meta" }, session.project && h("strong", {}, session.project), h("span", {}, PROGRAMS[session.format] ?? session.format), h("span", {}, plural(session.messages, "message")),
    session.ended_at && age(session.ended_at), session.archived && h("span", {}, "packed"));
  const row = (session) => h("article", { class: "item" },
    link(`sessions/${encodeURIComponent(session.id)}`, { class: "cover" }, h("strong", {}, session.title)), facts(session));
  const found = (hit) => {
    const session = byId.get(hit.session);
    return h("article", { class: "item" },
      link(`sessions/${encodeURIComponent(hit.session)}?at=${encodeURIComponent(hit.at)}`, { class: "cover" }, marked(bestSentence(hit.text, hitWords(hit)), hitWords(hit))),
      h("div", { class: "meta" }, hit.author && h("span", {}, hit.author), age(hit.at), session && h("span", {}, session.title)));
  };

  let turn = 0;
  async function run() {
    const mine = turn += 1;
    const text = box.value.trim();
    note(`sessions${text ? `?q=${encodeURIComponent(text)}` : ""}`);
    if (!text) {
      show(said, total > sessions.length ? `The newest ${sessions.length} of ${plural(total, "conversation")}` : plural(total, "conversation"));
      return list.set(named.map(row));
    }
    try {
      const { hits } = await call("memory_search", { query: text, scope: ["sessions"], limit: 50 });
      if (mine !== turn) return;
      const low = text.toLowerCase();
      const titled = named.filter((session) => session.title.toLowerCase().includes(low));
      show(said, `${plural(hits.length, "message")} found`);
      list.set(titled.map(row), hits.map(found), !titled.length && !hits.length && empty("Nothing found", "No conversation contains these words."));
    } catch (error) { show(rows, problem(error, run)); }
  }

  show(room, h("h1", {}, "Sessions"),
    sessions.length ? [h("div", { class: "searchbar" }, icon("memory"), box), said, rows]
      : empty("No conversations yet", "Connect an agent with `nacre install`: its hooks then archive each conversation on this machine.", "`nacre import` brings older conversations in."));
  if (sessions.length) await run();
  return { keys: { ...list.keys, Enter: () => list.current?.querySelector("a")?.click() } };
}

/** One conversation. `at` is the moment to open it at. */
async function conversation(room, id, at) {
  const said = h("ol", { class: "messages" });
  const made = h("aside", { class: "side", "aria-label": "Memories from this conversation" });
  let first = 1;
  let next = 1;
  let here = null;
  let lastDay = null;
  // The last message of the user, which the next answer answers.
  let question = null;

  const page = (from, limit = PAGE) => call("session_show", { id, from, limit });
  let session;
  let opening;
  let injected = [];
  let stored = [];
  try {
    ({ session, messages: opening } = await page(1, 8));
  } catch (error) {
    if (error.status !== 404) throw error;
    show(room, h("nav", { class: "crumbs", "aria-label": "Path" }, link("sessions", {}, "Sessions")), h("h1", {}, "Conversation"),
      h("div", { class: "split" }, h("div", {}, empty("This conversation was not archived", "The memories that it made are still there.")), made));
    review(made, id, await sessionReview(id));
    return {};
  }
  const title = bestSentence((opening.find((one) => one.author === "user") ?? opening[0])?.text ?? "Conversation", []);
  if (at) {
    here = await findMoment(page, session, Date.parse(at));
    first = next = Math.max(1, here - 10);
  }

  const earlier = button("Earlier messages", () => attempt(loadEarlier));
  const later = button("Later messages", () => attempt(loadLater));
  /** One message, with what was stored after it and before the one that follows. */
  const message = (one, following) => {
    const day = dayName(one.at);
    const newDay = day !== lastDay;
    lastDay = day;
    const asked = question;
    if (one.author === "user") question = one;
    return [newDay && h("li", { class: "day" }, day),
      h("li", { class: `message ${one.author ?? ""} ${one.number === here ? "here" : ""}`, id: `m${one.number}` },
        h("div", { class: "meta" }, h("strong", {}, one.author ?? ""), h("time", { datetime: one.at }, clock(one.at)), h("span", { class: "place" }, `#${one.number}`)),
        h("p", {}, one.text), one.author !== "user" && asked && shownBefore(one, asked, injected),
        storedAfter(one, following, stored))];
  };
  // One message more than is shown is read: it tells where the last one ends.
  const drawn = (messages, limit) => messages.slice(0, limit).map((one, at) => message(one, messages[at + 1]));
  async function loadLater() {
    const { messages, next: following } = await page(next, PAGE + 1);
    put(said, drawn(messages, PAGE));
    next = messages[PAGE]?.number ?? following ?? 0;
    later.hidden = !next;
  }
  async function loadEarlier() {
    const from = Math.max(1, first - PAGE);
    const { messages } = await page(from, first - from + 1);
    const before = document.documentElement.scrollHeight;
    const known = [lastDay, question];
    lastDay = question = null;
    said.prepend(...put(h("ol"), drawn(messages, first - from)).childNodes);
    [lastDay, question] = known;
    scrollBy(0, document.documentElement.scrollHeight - before);
    first = from;
    earlier.hidden = first === 1;
  }

  const [reviewed, summary] = await Promise.all([sessionReview(session.id), session.format === "transcript" ? compactionSummary(session.id) : null]);
  injected = reviewed?.injected ?? [];
  stored = await whenStored(reviewed);
  await loadLater();
  earlier.hidden = first === 1;
  const find = h("input", { type: "search", placeholder: "Find in this conversation", "aria-label": "Find in this conversation", autocomplete: "off",
    onkeydown: (event) => { if (event.key === "Enter") attempt(search); } });
  const results = h("ul", { class: "steps" });
  async function search() {
    const { hits } = await call("memory_search", { query: find.value, scope: ["sessions"], limit: 100 });
    const mine = hits.filter((hit) => hit.session === session.id);
    show(results, mine.length ? mine.slice(0, 20).map((hit) => h("li", {}, link(`sessions/${encodeURIComponent(id)}?at=${encodeURIComponent(hit.at)}`, {},
      marked(bestSentence(hit.text, hitWords(hit)), hitWords(hit)), " ", h("small", {}, age(hit.at))))) : h("li", { class: "meta" }, "Nothing found"));
  }

  show(room,
    h("nav", { class: "crumbs", "aria-label": "Path" }, link("sessions", {}, "Sessions"), " / ", h("code", {}, session.id)),
    h("h1", {}, title),
    h("p", { class: "meta" }, session.project && h("strong", {}, session.project), h("span", {}, PROGRAMS[session.format] ?? session.format), h("span", {}, plural(session.messages, "message")),
      session.started_at && h("span", {}, `${date(session.started_at)}${session.ended_at && date(session.ended_at) !== date(session.started_at) ? ` to ${date(session.ended_at)}` : ""}`)),
    summary && h("details", { class: "panel summary" }, h("summary", {}, "Summary of the compacted messages"), h("p", { class: "content" }, summary)),
    h("div", { class: "split talk" },
      h("div", {}, h("div", { class: "buttons" }, earlier), said, h("div", { class: "buttons" }, later)),
      h("div", { class: "side" }, h("div", { class: "searchbar small" }, icon("memory"), find), results, made)));
  said.querySelector(".here")?.scrollIntoView({ block: "center" });
  review(made, session.id, reviewed, stored);
  const seen = new IntersectionObserver(([entry]) => { if (entry.isIntersecting && next && !later.disabled) attempt(loadLater); }, { rootMargin: "600px" });
  seen.observe(later);
  return { keys: { Escape: () => go("sessions") }, leave: () => seen.disconnect() };
}

/** How many messages are read around a guess. */
const WINDOW = 40;

/** Finds the number of the last message that is not later than a moment. The place is guessed from the times of both ends. */
async function findMoment(page, session, moment) {
  let [low, high] = [1, session.messages];
  let [from, to] = [Date.parse(session.started_at), Date.parse(session.ended_at)];
  for (let turn = 1; low < high; turn += 1) {
    // Uneven times make bad guesses, so every third step halves the range.
    const share = turn % 3 && to > from ? (moment - from) / (to - from) : 0.5;
    const first = Math.round(Math.max(low, Math.min(high - WINDOW, low + share * (high - low) - WINDOW / 2)));
    const { messages } = await page(first, WINDOW);
    const times = messages.map((one) => Date.parse(one.at));
    if (!times.length) return low;
    const last = first + times.length - 1;
    if (times[0] > moment && first > low) [high, to] = [first - 1, times[0]];
    else if (times.at(-1) <= moment && last < high) [low, from] = [last, times.at(-1)];
    else return first + Math.max(0, times.findLastIndex((at) => at <= moment));
  }
  return low;
}

/** What a conversation stored and was shown; null if it can't be told. */
async function sessionReview(id) {
  try { return await call("session_review", { session: id }); } catch { return null; }
}

/** The summary that replaced the older messages for the agent; null if the transcript was not compacted. */
async function compactionSummary(id) {
  try {
    const { messages } = await call("session_context", { id });
    return messages.find((line) => line.role === "summary")?.content ?? null;
  } catch { return null; }
}

/** The records that were added before a question, and whether the answer mentions them. */
function shownBefore(answer, question, injected) {
  const [from, to] = [Date.parse(question.at), Date.parse(answer.at)];
  // Questions may follow each other within that time: a line belongs to the first one that it was added for.
  const lines = injected.filter((line) => Date.parse(line.at) >= from - CLOCK_MS && Date.parse(line.at) <= to && [undefined, question.number].includes(line.asked));
  for (const line of lines) line.asked = question.number;
  if (!lines.length) return null;
  return h("details", { class: "shown" }, h("summary", {}, `${plural(lines.length, "record")} shown before this answer`),
    h("ul", { class: "steps" }, lines.map((line) => h("li", {},
      line.number ? link(`entry/${line.number}`, {}, line.text) : line.text ?? recordLink(line.source),
      line.text && h("small", {}, isMentioned(line.text, answer.text, question.text) ? " mentioned in the answer" : " not mentioned")))));
}

/** At most this many memories of a conversation are shown at their messages. */
const MAX_PLACED = 50;

/** When a conversation stored its memories. */
async function whenStored(reviewed) {
  const some = [...(reviewed?.stored ?? [])].slice(0, MAX_PLACED);
  const found = await Promise.all(some.map(({ number }) => call("memory_get", { id: number }).catch(() => null)));
  return found.filter(Boolean).map((entry) => ({ number: entry.number, text: entry.content, at: entry.provenance.timestamp }));
}

/** The memories that were stored after a message and before the next one. */
function storedAfter(one, following, stored) {
  const [from, to] = [Date.parse(one.at), following ? Date.parse(following.at) : Infinity];
  const mine = stored.filter(({ at }) => Date.parse(at) >= from && Date.parse(at) < to);
  return mine.length ? h("ul", { class: "steps stored" }, mine.map((entry) => h("li", {}, link(`entry/${entry.number}`, {}, icon("add"), " Stored: ", entry.text)))) : null;
}

/** How much earlier than its message the hook of a message may note what it added. */
const CLOCK_MS = 2_000;

/** Tells whether an answer has words of a memory that the question does not have. */
function isMentioned(memory, answer, question) {
  const words = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []);
  const [said, asked] = [words(answer), words(question)];
  const own = [...words(memory)].filter((word) => !asked.has(word));
  return own.filter((word) => said.has(word)).length * 3 >= own.length && own.some((word) => said.has(word));
}

/** The memories that a conversation made, with the way back. */
function review(node, id, made, placed = []) {
  if (!made) return;
  const when = new Map(placed.map(({ number, at }) => [number, at]));
  const place = (one) => when.has(one.number) && link(`sessions/${encodeURIComponent(id)}?at=${encodeURIComponent(when.get(one.number))}`, { class: "meta" }, "its message");
  const all = [...made.stored, ...made.corrected];
  const current = all.filter((one) => !one.past);
  const undo = async () => {
    if (!(await ask("Undo everything that this conversation stored?", "Its memories are archived, and texts that it changed go back. Nothing is deleted.", "Undo"))) return;
    if (await attempt(() => call("session_undo", { session: id }))) { toast("Undone"); review(node, id, await sessionReview(id)); }
  };
  const quarantine = async () => {
    if (!(await ask("Quarantine this conversation?", "Nothing that it wrote is recalled any more: memories, facts, lessons and messages. It can be undone.", "Quarantine"))) return;
    const set = (undo) => call("memory_quarantine", { session: id, undo });
    if (await attempt(() => set(false))) {
      toast("Out of recall", { action: ["Undo", () => attempt(async () => { await set(true); toast("Back in recall"); })] });
      review(node, id, await sessionReview(id));
    }
  };
  show(node, h("h2", {}, "Memories from it"),
    all.length ? h("ul", { class: "steps" }, all.map((one) => h("li", { class: one.past ? "past" : "" }, link(`entry/${one.number}`, {}, one.content), one.past && h("small", {}, `${one.past} `), place(one))))
      : h("p", { class: "meta" }, "It stored no memory."),
    h("div", { class: "buttons" }, current.length > 0 && button("Undo all of it", undo), button("Quarantine", quarantine)));
}
