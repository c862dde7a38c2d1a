// Health: size, growth, recency, search latency and problems.

import { call, request } from "../api.js";
import { age, bytes, h, show, svg } from "../dom.js";

export async function open(room) {
  const [{ status, growth, tiers, problems }, { latency }] = await Promise.all([call("health"), request("GET", "/v1/recalls")]);
  const number = (title, value, note) => h("div", { class: "number" }, h("strong", {}, value), h("span", {}, title), note && h("small", {}, note));
  show(room,
    h("h1", {}, "Health ", h("small", {}, `group ${status.group}, profile ${status.profile}`)),
    problems.length ? h("ul", { class: "problems" }, problems.map((one) => h("li", { class: "warn" }, one))) : h("p", { class: "fine" }, "Everything is in order."),
    h("div", { class: "numbers" },
      number("memories", status.entries.current.toLocaleString(), status.entries.superseded ? `${status.entries.superseded} superseded` : ""),
      number("documents", status.documents.indexed.toLocaleString(), `${status.documents.chunks} passages${status.documents.skipped ? `, ${status.documents.skipped} skipped` : ""}`),
      number("facts", status.graph.facts.toLocaleString(), `${status.graph.entities} entities`),
      number("passages", status.passages.toLocaleString()),
      number("on disk", bytes(status.database_bytes)),
      number("last write", age(status.last_write))),
    h("div", { class: "charts" },
      chart("Growth", "stored memories and archived messages, by week", area(growth)),
      chart("Recency", "facts by how recently they were recalled", bars(["hot", "warm", "cool"].map((tier) => ({ name: tier, value: tiers[tier] ?? 0 })))),
      chart("Search latency", latency.length ? "milliseconds per search since the server started" : "no search since the server started", dots(latency))));
  return {};
}

function chart(title, about, drawing) {
  return h("figure", { class: "chart" }, h("figcaption", {}, h("strong", {}, title), h("span", {}, about)), drawing);
}

const [W, H] = [420, 150];
const frame = (label, ...children) => svg("svg", { viewBox: `0 0 ${W} ${H + 22}`, role: "img", "aria-label": label }, ...children);
const text = (x, y, words, anchor = "start") => { const node = svg("text", { x, y, "text-anchor": anchor }); node.append(words); return node; };

function area(weeks) {
  if (weeks.length < 2) return frame("not enough data", text(W / 2, H / 2, "This needs data of at least two weeks", "middle"));
  let sum = 0;
  const sums = weeks.map((week) => { sum += week.added; return sum; });
  const top = Math.max(1, sums.at(-1));
  const at = (place) => [(place / (weeks.length - 1)) * W, H - (sums[place] / top) * (H - 20)];
  const path = sums.map((_, place) => at(place).map((n) => n.toFixed(1)).join(" "));
  return frame(`grown to ${top}`,
    svg("path", { class: "fill", d: `M0 ${H} L${path.join(" L")} L${W} ${H} Z` }), svg("path", { class: "stroke", d: `M${path.join(" L")}` }),
    text(0, H + 17, weeks[0].week), text(W, H + 17, weeks.at(-1).week, "end"), text(W - 4, 14, top.toLocaleString(), "end"));
}

function bars(values) {
  const top = Math.max(1, ...values.map((one) => one.value));
  const step = W / values.length;
  return frame(values.map((one) => `${one.name} ${one.value}`).join(", "), ...values.flatMap((one, place) => {
    const height = (one.value / top) * (H - 24);
    return [svg("rect", { class: `bar ${one.name}`, x: place * step + 14, y: H - height, width: step - 28, height, rx: 3 }),
      text(place * step + step / 2, H - height - 5, one.value.toLocaleString(), "middle"), text(place * step + step / 2, H + 17, one.name, "middle")];
  }));
}

function dots(latency) {
  if (!latency.length) return frame("no data", text(W / 2, H / 2, "—", "middle"));
  const sorted = [...latency].sort((a, b) => a - b);
  const top = Math.max(1, sorted.at(-1));
  const of = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  const y = (value) => H - (value / top) * (H - 22);
  // One label on each side, because the two lines can coincide.
  const line = (value, name, x, anchor) => [svg("line", { class: "rule", x1: 0, x2: W, y1: y(value), y2: y(value) }), text(x, y(value) - 3, `${name} ${value.toFixed(1)} ms`, anchor)];
  return frame(`median ${of(0.5).toFixed(1)} ms`, ...latency.map((value, place) =>
    svg("circle", { class: "dot", cx: ((place + 0.5) / latency.length) * W, cy: y(value), r: 2 })), ...line(of(0.5), "median", 0, "start"), ...line(of(0.95), "p95", W, "end"));
}
