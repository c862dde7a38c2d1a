// The audit log in sentences: who did what to what, with links.

import { h, link } from "./dom.js";
import { plural } from "./format.js";

export const ACTORS = { person: "You", agent: "An agent", nacre: "Nacre" };

/** The kinds of actions, by which the timeline filters. */
export const KINDS = { memories: "Memories", approvals: "Approvals", files: "Files", graph: "Graph", tasks: "Tasks", sessions: "Conversations", upkeep: "Upkeep" };

// Every action: its kind, the verb, and its object in the singular and the plural. Without a plural, rows are not one object each: folded ones
// are counted as times.
const ACTIONS = {
  memory_store: ["memories", "stored", "a memory", "memories"],
  memory_update: ["memories", "edited", "a memory", "memories"],
  memory_delete: ["memories", "deleted", "a memory", "memories"],
  memory_reinforce: ["memories", "marked as helpful", "a memory", "memories"],
  memory_demote: ["memories", "marked as not helpful", "a memory", "memories"],
  memory_feedback: ["memories", "rated", "a memory", "memories"],
  memory_unarchive: ["memories", "made current again", "a memory", "memories"],
  session_undo: ["memories", "undid the memories of", "a conversation", "conversations"],
  lesson_add: ["memories", "learned", "a lesson", "lessons"],
  lesson_confirm: ["memories", "confirmed", "a lesson", "lessons"],
  memory_quarantine: ["memories", "quarantined or released", "records"],
  record_share: ["memories", "shared or hid", "records"],
  lesson_forget: ["memories", "forgot", "a lesson", "lessons"],
  stale_keep: ["memories", "confirmed", "a stale memory", "stale memories"],
  reveal: ["memories", "showed the credentials of", "a memory", "memories"],
  distil: ["memories", "distilled", "conversations"],
  delete: ["memories", "deleted", "records"],
  forget: ["memories", "forgot", "records"],
  memory_conflicts: ["memories", "settled", "a contradiction", "contradictions"],
  mem0_update: ["memories", "edited", "a memory", "memories"],
  conflict: ["memories", "found", "a contradiction", "contradictions"],
  checkout: ["files", "took in", "files of a working copy"],
  propose: ["approvals", "proposed", "a change", "changes"],
  approve: ["approvals", "approved", "a change", "changes"],
  amend: ["approvals", "edited", "a proposed change", "proposed changes"],
  deny: ["approvals", "denied", "a change", "changes"],
  rebase: ["approvals", "merged", "a proposed change", "proposed changes"],
  revert: ["approvals", "undid", "a change", "changes"],
  client_accept: ["approvals", "accepted in the client", "a change", "changes"],
  client_decline: ["approvals", "declined in the client", "a change", "changes"],
  memory_write: ["files", "wrote to", "a file", "files"],
  file_save: ["files", "saved", "a file", "files"],
  file_edit: ["files", "edited", "a file of a project", "files of projects"],
  memory_tool: ["files", "changed", "a file with the memory tool", "files with the memory tool"],
  log: ["files", "added to", "the daily log"],
  archive: ["files", "archived", "log lines"],
  checkpoint_save: ["files", "saved", "a checkpoint", "checkpoints"],
  checkpoint_restore: ["files", "restored", "a checkpoint", "checkpoints"],
  checkpoint_drop: ["files", "deleted", "a checkpoint", "checkpoints"],
  seed: ["files", "created", "the first files", "files"],
  fact_upsert: ["graph", "set", "a fact", "facts"],
  fact_remove: ["graph", "removed", "a fact", "facts"],
  relation_add: ["graph", "added", "a relation", "relations"],
  relation_end: ["graph", "ended", "a relation", "relations"],
  alias_add: ["graph", "added", "an alias", "aliases"],
  entity_join: ["graph", "merged or separated", "entities"],
  graph_rule: ["graph", "changed", "a rule of the graph", "rules of the graph"],
  task_add: ["tasks", "added", "a task", "tasks"],
  task_update: ["tasks", "updated", "a task", "tasks"],
  task_import: ["tasks", "imported", "tasks"],
  session_append: ["sessions", "added messages to", "a conversation"],
  session_import: ["sessions", "imported", "a conversation", "conversations"],
  session_compact: ["sessions", "compacted", "a conversation", "conversations"],
  session_summary: ["sessions", "summarised", "a conversation", "conversations"],
  session_flush: ["sessions", "reminded the agent before the compaction of", "a conversation", "conversations"],
  session_archive: ["sessions", "packed", "a transcript", "transcripts"],
  session_restore: ["sessions", "unpacked", "a transcript", "transcripts"],
  session_end: ["sessions", "ended", "a conversation", "conversations"],
  exchange_archive: ["sessions", "archived", "a message with its answer", "messages with their answers"],
  import: ["sessions", "imported", "records"],
  import_source: ["sessions", "imported", "a source", "sources"],
  extract_model: ["files", "read", "documents of a project with a model"],
  item_import: ["sessions", "imported", "items of projects"],
  sync: ["upkeep", "synced", "the memory"],
  sync_start: ["upkeep", "started to sync", "the memory"],
  sync_leave: ["upkeep", "stopped syncing", "the memory"],
  sync_new_key: ["upkeep", "gave a new key to", "the synced memory"],
  sync_new_device: ["upkeep", "gave a new device id to", "this machine"],
  stale_check: ["upkeep", "compared with their repositories", "memories"],
  extract: ["upkeep", "read", "a project", "projects"],
  project_forget: ["upkeep", "removed", "a project", "projects"],
  collection_add: ["upkeep", "added", "a collection", "collections"],
  collection_drop: ["upkeep", "removed", "a collection", "collections"],
  collection_index: ["upkeep", "indexed", "a collection", "collections"],
  index: ["upkeep", "indexed", "documents"],
  reindex: ["upkeep", "rebuilt", "the index"],
  purge: ["upkeep", "deleted", "memories that were replaced long ago"],
  retention: ["upkeep", "packed", "old transcripts"],
};

export function kindOf(row) {
  return ACTIONS[row.action]?.[0] ?? "upkeep";
}

/** Folds rows that follow each other and say the same. */
export function fold(rows) {
  const folded = [];
  for (const row of rows) {
    const last = folded.at(-1);
    const day = new Date(row.at).toDateString();
    if (last && last.day === day && ["action", "actor", "outcome", "session"].every((field) => last.rows[0][field] === row[field])) last.rows.push(row);
    else folded.push({ day, rows: [row] });
  }
  return folded;
}

/** "You stored 3 memories". */
export function sentence(rows) {
  const [{ actor, action, outcome }] = rows;
  // Whoever asked: Nacre indexes by itself.
  const who = action === "index" ? ACTORS.nacre : ACTORS[actor] ?? actor;
  const [, verb, one, many] = ACTIONS[action] ?? [null, "did", action.replaceAll("_", " ")];
  const counted = rows.length === 1 ? one : many ? `${rows.length} ${many}` : `${one} (${rows.length} times)`;
  if (outcome === "refused") return `${who} was refused: ${action.replaceAll("_", " ")}${rows.length > 1 ? ` (${rows.length} times)` : ""}`;
  return `${who} ${verb} ${counted}`;
}

/** How the sizes of a row are called. */
const UNITS = { chunks: "passages", chars: "characters" };

/** The thing that a row is about: its words if they are known, and where it is. `known` maps ids to `{ text, hash }`. */
export function subject(row, known) {
  const about = row.ids.map((id) => known.get(id)).find(Boolean);
  const id = row.ids[0];
  if (about) return about.hash ? link(about.hash, {}, about.text) : h("span", {}, about.text);
  if (id?.startsWith("mem-")) return row.action === "memory_delete" ? null : link(`entry/${encodeURIComponent(id)}`, {}, "Open the memory");
  const size = Object.entries(row.detail).filter(([, value]) => typeof value === "number" && value > 0).map(([name, value]) => {
    const unit = UNITS[name] ?? name.replaceAll("_", " ");
    return plural(value, unit.replace(/s$/, ""), unit);
  });
  return size.length ? h("span", { class: "meta" }, size.join(", ")) : null;
}
