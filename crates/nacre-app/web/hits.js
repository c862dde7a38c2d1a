// Search hits in words: title, matching sentence, address and reasons.

import { fileAddress, h, link } from "./dom.js";

/** The words of the query that a hit contains. */
export function hitWords(hit) {
  return hit.why.flatMap((why) => why.words ?? []);
}

/** The view that shows a hit; null if there is none. */
export function hitAddress(hit) {
  if (hit.kind === "entry") return `entry/${hit.number}`;
  if (hit.kind === "document" && !hit.collection) return fileAddress(hit.path, hit.lines[0]);
  if (hit.session) return `sessions/${encodeURIComponent(hit.session)}?at=${encodeURIComponent(hit.at ?? "")}`;
  if (hit.kind === "fact" || hit.kind === "relation") return `graph?about=${encodeURIComponent(hit.text.split(/[:=]/)[0].trim())}`;
  if (hit.kind === "task") return "tasks";
  return null;
}

/** Who wrote a record, in words. */
export const ORIGINS = {
  person: "you",
  approved: "an agent, approved by you",
  agent: "your agent",
  document: "your files",
  import: "another program",
  untrusted: "an untrusted session",
};

/** Where a hit is stored: a file, a collection or a conversation; null for a memory or a fact. */
export function hitSource(hit) {
  if (hit.collection) return hit.collection;
  return hit.path ?? (isMessage(hit) ? "conversations" : null);
}

/** A link to the record of an id, as hits and conversations name it: a memory, a line of a file, or a message. */
export function recordLink(id, at = "") {
  const number = /^id:(\d+)$/.exec(id)?.[1];
  if (number) return link(`entry/${number}`, {}, `#${number}`);
  const [, path, line] = /^(.+\.md)#L(\d+)/.exec(id) ?? [];
  if (path) return link(fileAddress(path, line), {}, `${path}, line ${line}`);
  const [, session] = /^(.+)\/[^/]+$/.exec(id) ?? [];
  return session ? link(`sessions/${encodeURIComponent(session)}?at=${encodeURIComponent(at)}`, {}, "a message") : h("code", {}, id);
}

/** Where a hit is, in words: the headings and the file of a document, or the conversation of a message. */
export function hitPlace(hit) {
  if (hit.path) return [...headings(hit), `${hit.collection ? `${hit.collection}: ` : ""}${hit.path}`].join(" › ");
  return isMessage(hit) ? "conversation" : null;
}

/** Tells whether a hit is a message. A memory has the session that stored it, too. */
function isMessage(hit) {
  return Boolean(hit.session) && hit.kind !== "entry";
}

/** The headings above the matching sentence of a document, outermost first. */
export function headings(hit) {
  if (hit.kind !== "document") return [];
  const sentence = hitTitle(hit);
  const path = [];
  for (const line of hit.text.split("\n")) {
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (heading) path.splice(heading[1].length - 1, Infinity, heading[2]);
    else if (line.includes(sentence)) break;
  }
  return path.filter(Boolean);
}

/** One line for a hit: the sentence that matches best. */
export function hitTitle(hit) {
  return bestSentence(body(hit), hitWords(hit));
}

/** The text of a hit without the headings of its document. */
export function body(hit) {
  if (hit.kind !== "document") return hit.text;
  const text = hit.text.split("\n").filter((line) => !/^#{1,6}\s/.test(line)).join("\n").trim();
  return text || hit.text.replaceAll(/^#+\s+/gm, "");
}

const MAX_SENTENCE = 240;

/** The sentence with the most words of the query, or else the first. */
export function bestSentence(text, words) {
  const wanted = words.map((word) => word.toLowerCase());
  // The number of a list item is no sentence.
  const lines = text.split(/\n+/).map((line) => line.replace(/^\s*([-*+]|\d+[.)])\s+/, ""));
  const sentences = lines.flatMap((line) => line.split(/(?<=[.!?])\s+(?=\p{Lu})/u)).map((one) => one.trim()).filter(Boolean);
  let [best, most] = [sentences[0] ?? text, 0];
  for (const sentence of sentences) {
    const low = sentence.toLowerCase();
    const count = wanted.filter((word) => low.includes(word)).length;
    if (count > most) [best, most] = [sentence, count];
  }
  return best.length > MAX_SENTENCE ? `${best.slice(0, MAX_SENTENCE - 1)}…` : best;
}

/** Why a hit was found, in words. */
export function reasons(hit) {
  return hit.why.map(({ lane, words }) => ({
    bm25: words?.length ? `same words: ${words.join(", ")}` : "same words",
    vectors: "similar meaning",
    graph: "known in the graph",
    near: "next to another hit",
    linked: "often found together with another hit",
  })[lane]).filter(Boolean);
}

/** The parts of a score in words. Parts that are missing here keep their names. */
export const PARTS = {
  bm25: "same words", vectors: "similar meaning", session: "words in its conversation", before: "the lines before it", after: "the lines after it",
  author: "its author is named", speaker: "who said it", time: "the time that is asked for", first: "begins its conversation", person: "speaks of itself",
  answers: "the kind of answer", instruction: "a standing instruction", preference: "a preference", relevance: "the whole match",
  newer: "newer than one that it contradicts", reinforcement: "usefulness", recency: "how new it is", age: "how old it is", graph: "known in the graph", line: "its best line",
};

/** Splits hits into those that match nearly as much of the query as the best one, and weaker ones. */
export function cut(hits) {
  const top = Math.max(0, ...hits.map((hit) => hit.relevance));
  const words = Math.max(0, ...hits.map((hit) => hitWords(hit).length));
  // The graph answers with facts. A document that only mentions their entity is as weak as its words.
  const isAnswer = (hit) => hit.kind !== "document" && hit.why.some(({ lane }) => lane === "graph");
  const isWeak = (hit) => !isAnswer(hit) && (hit.relevance < top * STRAY_SHARE || (hit.relevance < top * WEAK_SHARE && hitWords(hit).length < words));
  const strong = hits.filter((hit) => !isWeak(hit));
  return strong.length ? [strong, hits.filter(isWeak)] : [hits, []];
}

/** A hit that matches less than this share of what the best one matches is weak. */
const WEAK_SHARE = 0.6;
/** Below this share a hit is weak even if it has every word: they are in a heading far above it. */
const STRAY_SHARE = 0.25;
