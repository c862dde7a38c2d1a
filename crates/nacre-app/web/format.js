// Numbers and times in words.

import { h } from "./dom.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** "3 d ago", with the moment itself as a title. */
export function age(at, now = Date.now()) {
  if (!at) return null;
  const then = Date.parse(at);
  const past = Math.max(0, now - then);
  const text =
    past < MINUTE ? "just now"
    : past < HOUR ? `${Math.floor(past / MINUTE)} min ago`
    : past < DAY ? `${Math.floor(past / HOUR)} h ago`
    : past < 60 * DAY ? `${Math.floor(past / DAY)} d ago`
    : date(at);
  return h("time", { datetime: at, title: new Date(then).toLocaleString() }, text);
}

/** "3 Nov" */
export function shortDate(at) {
  return new Date(at).toLocaleDateString(undefined, { month: "short", day: "numeric" });
}

export function date(at) {
  return new Date(at).toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
}

/** "Monday, 16 November 2026", or "Today" and "Yesterday". */
export function dayName(at, now = new Date()) {
  const day = new Date(at);
  const days = Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(day).setHours(0, 0, 0, 0)) / DAY);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return day.toLocaleDateString(undefined, { weekday: "long", year: "numeric", month: "long", day: "numeric" });
}

export function clock(at) {
  return new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}

export function bytes(count) {
  const units = ["B", "KB", "MB", "GB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) { count /= 1000; unit += 1; }
  return `${count >= 10 || unit === 0 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** "a, b and 3 more". */
export function some(names, most = 3) {
  const rest = names.length - most;
  return rest > 0 ? `${names.slice(0, most).join(", ")} and ${rest} more` : names.join(", ");
}
