// A worker that computes the layout of the graph: a force simulation that posts positions until it comes to rest.
/* global d3, importScripts */
const vendor = (name) => `/assets/vendor/d3-${name}.min.js`;
const trusted = self.trustedTypes?.createPolicy("nacre", { createScriptURL: vendor });
importScripts(...["dispatch", "timer", "quadtree", "force"].map((name) => trusted ? trusted.createScriptURL(name) : vendor(name)));

self.onmessage = ({ data: { count, size, links } }) => {
  // A small graph has room for words at its relations.
  const small = count <= 150;
  const nodes = Array.from({ length: count }, (_, index) => ({ index }));
  const simulation = d3.forceSimulation(nodes)
    .force("charge", d3.forceManyBody().strength(small ? -260 : -60).distanceMax(count > 1000 ? 260 : 600).theta(0.95))
    .force("link", d3.forceLink(links.map(([source, target]) => ({ source, target }))).distance(small ? 110 : 46).strength(0.5))
    .force("apart", d3.forceCollide((_, index) => size[index] + (small ? 18 : 3)))
    .force("x", d3.forceX().strength(small ? 0.07 : 0.035))
    .force("y", d3.forceY().strength(small ? 0.1 : 0.035))
    .alphaDecay(count > 2000 ? 0.04 : 0.0228)
    .stop();
  const tell = () => {
    const place = new Float32Array(count * 2);
    nodes.forEach((node, at) => { place[at * 2] = node.x; place[at * 2 + 1] = node.y; });
    self.postMessage({ place, done: simulation.alpha() < simulation.alphaMin() }, [place.buffer]);
  };
  const go = () => {
    const begun = performance.now();
    do simulation.tick(); while (performance.now() - begun < 24 && simulation.alpha() >= simulation.alphaMin());
    tell();
    if (simulation.alpha() >= simulation.alphaMin()) setTimeout(go, 8);
  };
  go();
};
