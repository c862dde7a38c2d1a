// A diff of two texts, side by side or inline, with the changed words highlighted.

import { h } from "./dom.js";

/** Longer texts are not compared line by line. */
const MAX_LINES = 20_000;

/** A narrow screen has no room for two columns. */
const NARROW = matchMedia("(max-width: 1100px)");

/** Renders a diff as a table. `form` is "beside" or "inline", by default as the screen allows. `labels` name the two sides. Three
 * unchanged lines are shown around each change. `wholeFile` marks a missing line break at the end. */
export function diffLines(before, after, { form = NARROW.matches ? "inline" : "beside", labels = ["before", "after"], wholeFile = true } = {}) {
  const rows = pair(changes(lines(before, wholeFile), lines(after, wholeFile)));
  const body = around(rows, 3).map((row) => form === "inline" ? inline(row) : beside(row));
  const columns = () => [h("col", { class: "place" }), h("col")];
  return h("table", { class: `diff ${form}`, "aria-label": `Changes from ${labels[0]} to ${labels[1]}` },
    h("colgroup", {}, columns(), form === "beside" && columns()),
    form === "beside" && h("thead", {}, h("tr", {}, labels.map((label) => h("th", { colspan: "2", scope: "col" }, label)))),
    h("tbody", {}, body));
}

/** How many lines a change adds and removes. */
export function countChanges(before, after) {
  const all = changes(lines(before), lines(after));
  return { added: all.filter(([op]) => op === "+").length, removed: all.filter(([op]) => op === "-").length };
}

/** Splits a text into lines. Line endings other than a line feed are made visible. */
function lines(text, wholeFile = true) {
  if (!text) return [];
  const parts = text.split("\n");
  const ended = parts.at(-1) === "";
  if (ended) parts.pop();
  return parts.map((line, place) => {
    const last = place === parts.length - 1;
    const end = line.endsWith("\r") ? "␍" : "";
    return visible(line.replace(/\r$/, "")) + end + (last && !ended && wholeFile ? "⏎̸" : "");
  });
}

/** Makes invisible characters visible, so that no change to them goes unnoticed. */
function visible(line) {
  // eslint-disable-next-line no-control-regex
  return line.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** Returns the shortest edit script (Myers) as [op, text], with op "=", "-" or "+". */
export function changes(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const head = a.slice(0, start).map((text) => ["=", text]);
  const tail = a.slice(a.length - end).map((text) => ["=", text]);
  return [...head, ...myers(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...tail];
}

function myers(a, b) {
  if (a.length + b.length > MAX_LINES) return [...a.map((text) => ["-", text]), ...b.map((text) => ["+", text])];
  const most = a.length + b.length;
  const trace = [];
  let reach = new Map([[1, 0]]);
  for (let depth = 0; depth <= most; depth += 1) {
    trace.push(new Map(reach));
    for (let k = -depth; k <= depth; k += 2) {
      const down = k === -depth || (k !== depth && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = down ? reach.get(k + 1) ?? 0 : (reach.get(k - 1) ?? 0) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) { x += 1; y += 1; }
      reach.set(k, x);
      if (x >= a.length && y >= b.length) return walk(trace, a, b, depth);
    }
  }
  return [];
}

function walk(trace, a, b, depth) {
  const found = [];
  let [x, y] = [a.length, b.length];
  for (let d = depth; d >= 0; d -= 1) {
    const reach = trace[d];
    const k = x - y;
    const down = k === -d || (k !== d && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : reach.get(from) ?? 0;
    const fromY = d === 0 ? 0 : fromX - from;
    while (x > fromX && y > fromY) { found.push(["=", a[x - 1]]); x -= 1; y -= 1; }
    if (d > 0) {
      if (down) { found.push(["+", b[y - 1]]); y -= 1; } else { found.push(["-", a[x - 1]]); x -= 1; }
    }
  }
  return found.reverse();
}

/** Puts each removed line beside the added line that replaces it. */
function pair(all) {
  const rows = [];
  let [n, m] = [0, 0];
  for (let i = 0; i < all.length;) {
    if (all[i][0] === "=") { rows.push({ same: true, left: [n += 1, all[i][1]], right: [m += 1, all[i][1]] }); i += 1; continue; }
    const [gone, come] = [[], []];
    while (i < all.length && all[i][0] !== "=") { (all[i][0] === "-" ? gone : come).push(all[i][1]); i += 1; }
    for (const [left, right] of align(gone, come)) {
      rows.push({ left: left === null ? null : [n += 1, left], right: right === null ? null : [m += 1, right] });
    }
  }
  return rows;
}

/** Larger blocks are paired by position, because comparing each line with each takes too long. */
const MAX_ALIGNED = 40;

/** Pairs lines by their common words, in order. */
function align(gone, come) {
  if (gone.length > MAX_ALIGNED || come.length > MAX_ALIGNED) {
    return Array.from({ length: Math.max(gone.length, come.length) }, (_, at) => [gone[at] ?? null, come[at] ?? null]);
  }
  const bags = (lines) => lines.map((line) => new Set(line.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []));
  const [left, right] = [bags(gone), bags(come)];
  const alike = (a, b) => { const common = [...a].filter((word) => b.has(word)).length; return common / Math.max(1, a.size, b.size); };
  // best[i][j]: how alike the pairs of the first i and j lines are at most.
  const best = Array.from({ length: gone.length + 1 }, () => new Float64Array(come.length + 1));
  for (let i = 1; i <= gone.length; i += 1) {
    for (let j = 1; j <= come.length; j += 1) {
      best[i][j] = Math.max(best[i - 1][j], best[i][j - 1], best[i - 1][j - 1] + alike(left[i - 1], right[j - 1]));
    }
  }
  const pairs = [];
  let [i, j] = [gone.length, come.length];
  while (i > 0 || j > 0) {
    if (i > 0 && j > 0 && best[i][j] > Math.max(best[i - 1][j], best[i][j - 1])) pairs.push([gone[i -= 1], come[j -= 1]]);
    else if (j > 0 && (i === 0 || best[i][j] === best[i][j - 1])) pairs.push([null, come[j -= 1]]);
    else pairs.push([gone[i -= 1], null]);
  }
  return pairs.reverse();
}

function around(rows, context) {
  const near = rows.map(() => false);
  rows.forEach((row, i) => {
    if (row.same) return;
    for (let j = Math.max(0, i - context); j <= Math.min(rows.length - 1, i + context); j += 1) near[j] = true;
  });
  const shown = [];
  let left = 0;
  rows.forEach((row, i) => {
    if (near[i]) { if (left) { shown.push({ left_out: left }); left = 0; } shown.push(row); } else left += 1;
  });
  if (left && shown.length) shown.push({ left_out: left });
  return shown.length ? shown : rows;
}

function beside(row) {
  if (row.left_out) return gap(row, 4);
  const [was, is] = words(row);
  const side = (cell, text, kind) => [number(cell?.[0] ?? "", cell ? "" : "none"), h("td", { class: row.same ? "" : cell ? kind : "none" }, text)];
  return h("tr", {}, side(row.left, was, "gone"), side(row.right, is, "come"));
}

function inline(row) {
  if (row.left_out) return gap(row, 2);
  const [was, is] = words(row);
  if (row.same) return h("tr", {}, number(row.right[0]), h("td", {}, is));
  return [row.left && h("tr", {}, number("−", "gone", "removed"), h("td", { class: "gone" }, was)),
    row.right && h("tr", {}, number("+", "come", "added"), h("td", { class: "come" }, is))];
}

function gap({ left_out }, columns) {
  return h("tr", { class: "gap" }, h("td", { colspan: String(columns) }, `${left_out} unchanged ${left_out === 1 ? "line" : "lines"}`));
}

function number(text, kind = "", said) {
  return h("td", { class: `number ${kind}`, "aria-label": said }, text);
}

function words(row) {
  const [left, right] = [row.left?.[1], row.right?.[1]];
  if (row.same || left === undefined || right === undefined) return [left ?? "", right ?? ""];
  const split = (text) => text.split(/(\s+|[^\p{L}\p{N}_]+)/u).filter(Boolean);
  const all = changes(split(left), split(right));
  const same = all.filter(([op]) => op === "=").reduce((sum, [, text]) => sum + text.length, 0);
  // Two lines with little in common are shown as a whole.
  if (same * 3 < Math.max(left.length, right.length)) return [left, right];
  const side = (op, tag) => all.filter(([one]) => one === "=" || one === op).map(([one, text]) => one === "=" ? text : h(tag, {}, text));
  return [side("-", "del"), side("+", "ins")];
}
