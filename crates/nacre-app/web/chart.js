// Small charts as SVG, with the numbers in words for screen readers.

import { h, show, svg } from "./dom.js";

const [H, FOOT] = [130, 22];

/** Draws a chart at the width that it gets, and again when that changes. `draw(width)` returns a label and the parts. */
function responsive(draw) {
  const node = h("div", { class: "drawing" });
  const watch = new ResizeObserver(([{ contentRect: { width } }]) => {
    if (width < 1) return;
    const [label, parts] = draw(width);
    show(node, svg("svg", { width, height: H + FOOT, role: "img", "aria-label": label }, ...parts));
  });
  watch.observe(node);
  return node;
}

function text(x, y, words, anchor = "start") {
  const node = svg("text", { x, y, "text-anchor": anchor });
  node.append(words);
  return node;
}

/** A chart with its title and one sentence. */
export function chart(title, about, ...drawing) {
  return h("figure", { class: "chart" }, h("figcaption", {}, title && h("strong", {}, title), h("span", {}, about)), drawing);
}

/** The colours of a chart's series. */
export function legend(names) {
  return h("ul", { class: "legend row" }, names.map((name, series) => name && h("li", {}, h("span", { class: `dot series-${series}` }), name)));
}

/** Stacked columns. `columns`: `{ name, values: [a, b] }`, oldest first. */
export function columns(all, names) {
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const top = Math.max(1, ...all.map(({ values }) => sum(values)));
  const total = sum(all.map(({ values }) => sum(values)));
  const label = `${total.toLocaleString()} in ${all.length} days, at most ${top.toLocaleString()} in a day`;
  const bars = (step) => all.flatMap(({ name, values }, place) => {
    let y = H;
    return values.map((value, series) => {
      const height = (value / top) * (H - 18);
      y -= height;
      const bar = svg("rect", { class: `bar series-${series}`, x: place * step + step * 0.15, y, width: step * 0.7, height, rx: 2 });
      const title = svg("title");
      title.append(`${name}: ${value.toLocaleString()} ${names[series]}`);
      bar.append(title);
      return bar;
    });
  });
  return responsive((width) => [label, [...bars(width / all.length),
    svg("line", { class: "axis", x1: 0, x2: width, y1: H, y2: H }),
    text(width, 12, `${top.toLocaleString()} at most`, "end"), text(0, H + 17, all[0]?.name ?? ""), text(width, H + 17, all.at(-1)?.name ?? "", "end")]]);
}

/** A sum that grows. `steps`: `{ name, added }`. */
export function growth(steps) {
  let sum = 0;
  const sums = steps.map((step) => { sum += step.added; return sum; });
  const top = Math.max(1, sum);
  return responsive((width) => {
    const point = (place) => `${((place / Math.max(1, sums.length - 1)) * width).toFixed(1)} ${(H - (sums[place] / top) * (H - 22)).toFixed(1)}`;
    const path = sums.map((_, place) => point(place)).join(" L");
    return [`grew to ${top.toLocaleString()}`, [
      svg("path", { class: "fill", d: `M0 ${H} L${path} L${width} ${H} Z` }), svg("path", { class: "stroke", d: `M${path}` }),
      svg("line", { class: "axis", x1: 0, x2: width, y1: H, y2: H }),
      text(width, 14, top.toLocaleString(), "end"), text(0, H + 17, steps[0].name), text(width, H + 17, steps.at(-1).name, "end")]];
  });
}

/** How many values fall into each range. `edges` are the upper ends of the ranges. */
export function histogram(values, edges, unit) {
  const counts = [...edges, Infinity].map((edge, place, all) => values.filter((value) => value <= edge && value > (all[place - 1] ?? -1)).length);
  const top = Math.max(1, ...counts);
  const name = (place) => place < edges.length ? `${edges[place]}` : `> ${edges.at(-1)}`;
  const label = counts.map((count, place) => `${count} up to ${name(place)} ${unit}`).join(", ");
  return responsive((width) => {
    const step = width / counts.length;
    const bars = counts.flatMap((count, place) => {
      const height = (count / top) * (H - 20);
      return [svg("rect", { class: "bar series-0", x: place * step + 3, y: H - height, width: step - 6, height, rx: 2 }),
        ...(count ? [text((place + 0.5) * step, H - height - 5, String(count), "middle")] : []), text((place + 0.5) * step, H + 17, name(place), "middle")];
    });
    return [label, [...bars, svg("line", { class: "axis", x1: 0, x2: width, y1: H, y2: H })]];
  });
}
