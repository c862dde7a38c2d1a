// Graph: what is known around one entity as a picture, and in words beside it for the keyboard and for screen readers.

import { note } from "../address.js";
import { call } from "../api.js";
import { button, fileAddress, h, link, show } from "../dom.js";
import { attempt, empty, toast } from "../feedback.js";
import { age, DAY, date, plural } from "../format.js";
import { GraphCanvas } from "../graph-canvas.js";
import { Graph, kind } from "../graph-model.js";
import { fits, picker } from "../picker.js";

const MAX_SUGGESTIONS = 12;
/** Up to this many entities the whole graph is shown first. */
const MAX_WHOLE = 40;
const AGES = [["", "Any time"], ["7", "Last week"], ["30", "Last month"], ["365", "Last year"]];

export async function open(room, { query }) {
  let graph = new Graph(await call("graph_picture"));
  if (!graph.entities.length) {
    show(room, h("h1", {}, "Graph"), empty("The graph is empty", "Nacre reads facts from your documents, and agents add some. `nacre fact set heron port 5433` sets one by hand."));
    return {};
  }
  const about = query.get("about");
  let chosen = about ? graph.find(about) : -1;
  let whole = chosen < 0 && graph.entities.length <= MAX_WHOLE;
  if (chosen < 0 && !whole) [chosen] = graph.largest(1);
  const asked = { depth: 1, hidden: new Set(), days: "" };

  const canvas = new GraphCanvas((node) => choose(node ? node.at : -1));
  const side = h("aside", { class: "side", "aria-label": "Details", "aria-live": "polite" });
  const legend = h("fieldset", { class: "kinds" });
  const heading = h("h1", {}, "Graph ", h("small", {}, `${plural(graph.entities.length, "entity", "entities")}, ${plural(graph.links.length, "relation")}`));
  const { node: finder } = picker({ label: "Find a name", placeholder: "Find a name", find: suggestions });
  const depth = h("select", { "aria-label": "Depth", onchange: () => { asked.depth = Number(depth.value); draw(); } },
    [1, 2, 3].map((steps) => h("option", { value: String(steps) }, steps === 1 ? "direct relations" : `${steps} steps away`)));
  const time = h("select", { "aria-label": "Known since", onchange: () => { asked.days = time.value; draw(); } }, AGES.map(([value, title]) => h("option", { value }, title)));
  const toggle = button("", () => { whole = !whole; if (!whole && chosen < 0) [chosen] = graph.largest(1); draw(); }, { key: "w" });

  show(room, heading,
    h("div", { class: "graphbar" }, finder, depth, time, toggle, button("Fit", () => { canvas.fit(); canvas.draw(); }, { key: "f" })),
    h("div", { class: "split picture" }, h("div", { class: "stage" }, canvas.node, legend), side));

  function suggestions(text) {
    const named = graph.entities.map((one, at) => ({ at, fit: Math.max(...[one.name, ...(one.aliases ?? [])].map((name) => fits(name, text))) })).filter(({ fit }) => fit > 0);
    named.sort((a, b) => b.fit - a.fit || graph.weight(b.at) - graph.weight(a.at));
    return named.slice(0, MAX_SUGGESTIONS).map(({ at }) => ({ title: graph.entities[at].name, hint: kind(graph.entities[at]), run: (box) => { box.value = ""; choose(at); } }));
  }

  function draw() {
    const since = asked.days ? Date.now() - Number(asked.days) * DAY : 0;
    const picture = graph.select({ centre: whole ? null : chosen, depth: asked.depth, hidden: asked.hidden, since, narrow: canvas.isNarrow });
    canvas.set(picture, picture.nodes.findIndex((one) => one.at === chosen));
    const count = picture.clustered ? `${picture.nodes.length} clusters of ${plural(graph.entities.length, "entity", "entities")}` : plural(picture.nodes.length, "entity", "entities");
    canvas.node.setAttribute("aria-label", `${count} and ${plural(picture.links.length, "relation")}${whole ? "" : ` around ${graph.entities[chosen].name}`}; the list beside it says the same in words`);
    toggle.textContent = whole ? "Around one" : "Whole graph";
    depth.disabled = whole;
    show(legend, h("legend", { class: "hidden" }, "Kinds"), graph.kinds.map(({ name, count, colour }) => {
      const box = h("input", { type: "checkbox", checked: !asked.hidden.has(name), onchange: () => { box.checked ? asked.hidden.delete(name) : asked.hidden.add(name); draw(); } });
      return h("label", { class: "check" }, box, h("span", { class: `dot hue-${colour + 1}` }), name, h("small", {}, String(count)));
    }));
  }

  function choose(at) {
    // A large graph is left for the part around the chosen entity; a small one only marks it.
    whole = at < 0 || (whole && canvas.nodes.length === graph.entities.length);
    chosen = at;
    note(at >= 0 ? `graph?about=${encodeURIComponent(graph.entities[at].name)}` : "graph");
    if (whole && at >= 0) canvas.mark(canvas.nodes.findIndex((one) => one.at === at));
    else draw();
    tell();
  }

  const step = (at, ...words) => h("button", { type: "button", class: "step", dataset: { name: graph.entities[at].name }, onclick: () => { choose(at); side.querySelector("button.step")?.focus(); } }, ...words);

  function tell() {
    if (chosen < 0) {
      show(side, h("h2", {}, "Most connected"), h("ul", { class: "steps" }, graph.largest(30).map((at) =>
        h("li", {}, step(at, h("strong", {}, graph.entities[at].name), " ", h("small", {}, plural(graph.near[at].length, "relation")))))));
      return;
    }
    const one = graph.entities[chosen];
    const facts = graph.facts.get(one.name) ?? [];
    show(side,
      h("h2", {}, one.name, " ", h("small", {}, kind(one))),
      one.aliases?.length ? h("p", { class: "meta" }, "also called ", one.aliases.join(", ")) : null,
      twins(chosen),
      facts.length > 0 && [h("h3", {}, "Facts"), h("dl", { class: "facts" }, facts.map((fact) => [h("dt", {}, fact.key.replaceAll("_", " ")), h("dd", {}, fact.value, source(fact))])), past(one.name)],
      graph.near[chosen].length > 0 && h("h3", {}, "Relations"),
      h("ul", { class: "steps" }, graph.near[chosen].slice(0, 200).map(({ source, target, predicate }) => {
        const words = predicate.replaceAll("_", " ");
        return h("li", {}, source === chosen ? step(target, h("span", {}, `${words} `), h("strong", {}, graph.entities[target].name)) : step(source, h("strong", {}, graph.entities[source].name), h("span", {}, ` ${words} ${one.name}`)));
      })),
      !facts.length && !graph.near[chosen].length && h("p", { class: "meta" }, "Nothing else is known about it."),
      h("p", {}, link(`memory?q=${encodeURIComponent(one.name)}`, {}, `Search for ${one.name}`)));
  }

  function source(fact) {
    const cite = fact.cites?.[0];
    return h("span", { class: "meta" }, age(fact.since), cite ? link(fileAddress(cite.path, cite.line), {}, `${cite.path}:${cite.line}`) : h("span", {}, fact.source === "person" ? "set by you" : `set by ${fact.source}`));
  }

  /** Earlier values of the facts, loaded on request. */
  function past(name) {
    const body = h("dl", { class: "facts" });
    const node = h("details", { ontoggle: () => attempt(async () => {
      if (!node.open || body.children.length) return;
      const { facts } = await call("fact_list", { entity: name, history: true, limit: 200 });
      const ended = facts.filter((fact) => fact.until);
      show(body, ended.length ? ended.map((fact) => [h("dt", {}, fact.key.replaceAll("_", " ")), h("dd", {}, fact.value, h("span", { class: "meta" }, `${date(fact.since)} to ${date(fact.until)}`))]) : h("dt", {}, "There are no earlier values."));
    }) }, h("summary", {}, "Earlier values"), body);
    return node;
  }

  /** Asks whether entities with similar names are the same. */
  function twins(at) {
    const mine = graph.entities[at].name;
    return graph.twins(at).map((other) => {
      const theirs = graph.entities[other].name;
      // The longer name stays.
      const [one, into] = mine.length <= theirs.length ? [mine, theirs] : [theirs, mine];
      const reload = async (name) => { graph = new Graph(await call("graph_picture")); choose(graph.find(name)); };
      const merge = () => attempt(async () => {
        await call("entity_join", { do: "merge", one, other: into });
        await reload(into);
        toast(`${one} and ${into} are one`, { action: ["Undo", () => attempt(async () => { await call("entity_join", { do: "unmerge", one }); await reload(one); })] });
      });
      const apart = (event) => attempt(async () => {
        await call("entity_join", { do: "distinct", one, other: into });
        event.target.closest(".banner").remove();
        toast(`${one} and ${into} stay separate`);
      });
      return h("div", { class: "banner" }, h("span", {}, "Possibly the same as ", h("strong", {}, theirs)), h("span", { class: "buttons" }, button("Merge", merge), button("Not the same", apart)));
    });
  }

  draw();
  tell();
  const theme = () => canvas.readColours();
  addEventListener("theme", theme);
  return {
    keys: { Escape: () => choose(-1), f: () => { canvas.fit(); canvas.draw(); }, w: () => toggle.click(), "+": () => canvas.zoom(1.25), "-": () => canvas.zoom(0.8) },
    leave: () => { canvas.end(); removeEventListener("theme", theme); },
  };
}
