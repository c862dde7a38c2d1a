// The graph as data: entities with their neighbours, the part of it around one entity, and names that may mean the same.

import { plural } from "./format.js";

/** The number of colours; kinds beyond them share the last one. */
const COLOURS = 8;
/** A larger graph is drawn as clusters. */
const MAX_DRAWN = 400;
const MAX_CLUSTERS = 30;
/** A phone has room for fewer names. */
const MAX_CLUSTERS_NARROW = 12;
const MAX_CLUSTER_LINKS = 2;
/** Longer names are statements. */
const MAX_NAME_WORDS = 3;
/** A local graph has at most this many entities. */
const MAX_LOCAL = 120;

export class Graph {
  constructor({ entities, facts, relations }) {
    this.entities = entities;
    this.facts = Map.groupBy ? Map.groupBy(facts, (fact) => fact.entity) : groupFacts(facts);
    this.index = new Map(entities.map((one, at) => [one.name, at]));
    this.links = relations.map((one) => ({ ...one, source: this.index.get(one.subject), target: this.index.get(one.object) }))
      .filter((one) => one.source !== undefined && one.target !== undefined);
    this.near = entities.map(() => []);
    for (const one of this.links) {
      this.near[one.source].push(one);
      if (one.target !== one.source) this.near[one.target].push(one);
    }
    const counts = new Map();
    for (const one of entities) counts.set(kind(one), (counts.get(kind(one)) ?? 0) + 1);
    /** The kinds, most frequent first, each with its colour. */
    this.kinds = [...counts].sort((a, b) => b[1] - a[1]).map(([name, count], at) => ({ name, count, colour: Math.min(at, COLOURS - 1) }));
    this.colour = new Map(this.kinds.map(({ name, colour }) => [name, colour]));
  }

  /** How much is known about an entity. */
  weight(at) {
    return this.near[at].length * 2 + (this.entities[at].facts ?? 0);
  }

  /** The entities about which most is known. */
  largest(count) {
    return this.entities.map((_, at) => at).sort((a, b) => this.weight(b) - this.weight(a)).slice(0, count);
  }

  /** Finds an entity by its name or an alias, whatever the case, or by the beginning of a text. */
  find(text) {
    const low = text.toLowerCase();
    const exact = this.index.get(text);
    if (exact !== undefined) return exact;
    return this.entities.findIndex((one) => [one.name, ...(one.aliases ?? [])].some((name) => name.toLowerCase() === low || low.startsWith(`${name.toLowerCase()} `)));
  }

  /** Selects what is drawn: everything, or what is at most `depth` relations away from `centre`. */
  select({ centre, depth, hidden, since, narrow = false }) {
    const fits = (at) => at === centre || !hidden.has(kind(this.entities[at]));
    const holds = (one) => !since || Date.parse(one.since) >= since;
    if (centre === null && this.entities.length > MAX_DRAWN) return this.clusters({ hidden, since, most: narrow ? MAX_CLUSTERS_NARROW : MAX_CLUSTERS });
    let chosen;
    if (centre === null) chosen = this.entities.map((_, at) => at).filter(fits);
    else {
      const seen = new Set([centre]);
      let layer = [centre];
      for (let step = 0; step < depth && seen.size < MAX_LOCAL; step += 1) {
        const next = new Set();
        for (const at of layer) {
          for (const one of this.near[at]) {
            const other = one.source === at ? one.target : one.source;
            if (holds(one) && fits(other) && !seen.has(other)) next.add(other);
          }
        }
        layer = [...next].sort((a, b) => this.weight(b) - this.weight(a)).slice(0, MAX_LOCAL - seen.size);
        layer.forEach((at) => seen.add(at));
      }
      chosen = [...seen];
    }
    const place = new Map(chosen.map((at, now) => [at, now]));
    const nodes = chosen.map((at) => ({ at, name: this.entities[at].name, colour: this.colour.get(kind(this.entities[at])), weight: this.weight(at) }));
    const links = this.links.filter((one) => place.has(one.source) && place.has(one.target) && holds(one))
      .map((one) => ({ source: place.get(one.source), target: place.get(one.target), label: one.predicate.replaceAll("_", " ") }));
    return { nodes, links };
  }

  /** A picture of a large graph: the largest entities, each with those that are closer to it than to the others. */
  clusters({ hidden, since, most }) {
    const fits = (at) => !hidden.has(kind(this.entities[at]));
    const holds = (one) => !since || Date.parse(one.since) >= since;
    const centres = this.largest(this.entities.length).filter(fits).slice(0, most);
    const owner = new Map(centres.map((at, cluster) => [at, cluster]));
    for (let layer = centres; layer.length;) {
      const next = [];
      for (const at of layer) {
        for (const one of this.near[at]) {
          const other = one.source === at ? one.target : one.source;
          if (owner.has(other) || !fits(other) || !holds(one)) continue;
          owner.set(other, owner.get(at));
          next.push(other);
        }
      }
      layer = next;
    }
    const counts = new Array(centres.length).fill(0);
    for (const cluster of owner.values()) counts[cluster] += 1;
    const nodes = centres.map((at, cluster) => ({
      at, name: this.entities[at].name, more: counts[cluster] - 1,
      colour: this.colour.get(kind(this.entities[at])), weight: counts[cluster], radius: 6 + (most < MAX_CLUSTERS ? 0.5 : 1.1) * Math.sqrt(counts[cluster]),
    }));
    return { nodes, links: this.strongest(owner), clustered: true };
  }

  /** The relations between clusters: for each, the few with most relations between their members. */
  strongest(owner) {
    const between = new Map();
    for (const { source, target } of this.links) {
      const [a, b] = [owner.get(source), owner.get(target)].sort((one, other) => one - other);
      if (a === undefined || b === undefined || a === b) continue;
      between.set(a * MAX_CLUSTERS + b, (between.get(a * MAX_CLUSTERS + b) ?? 0) + 1);
    }
    const links = [...between].sort((a, b) => b[1] - a[1]).map(([key, count]) => ({ source: Math.floor(key / MAX_CLUSTERS), target: key % MAX_CLUSTERS, width: 1 + Math.round(Math.log2(count) / 4), label: plural(count, "relation") }));
    const kept = new Map();
    return links.filter(({ source, target }) => {
      const few = Math.min(kept.get(source) ?? 0, kept.get(target) ?? 0) < MAX_CLUSTER_LINKS;
      if (few) for (const end of [source, target]) kept.set(end, (kept.get(end) ?? 0) + 1);
      return few;
    });
  }

  /** Entities that may be the same as this one: all words of one name are in the other. */
  twins(at) {
    const mine = words(this.entities[at].name);
    const alike = (other) => {
      const theirs = words(other);
      const [few, many] = mine.length <= theirs.length ? [mine, theirs] : [theirs, mine];
      return few.length > 0 && many.length <= MAX_NAME_WORDS && few.every((word) => many.includes(word));
    };
    return this.entities.map((_, other) => other)
      .filter((other) => other !== at && sameKind(this.entities[at], this.entities[other]) && alike(this.entities[other].name)).slice(0, 3);
  }
}

export function kind(entity) {
  return entity.category || "other";
}

function sameKind(a, b) {
  return !a.category || !b.category || a.category === b.category;
}

function words(name) {
  return name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function groupFacts(facts) {
  const all = new Map();
  for (const fact of facts) all.set(fact.entity, [...(all.get(fact.entity) ?? []), fact]);
  return all;
}
