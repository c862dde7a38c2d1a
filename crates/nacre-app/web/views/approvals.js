// Proposals: each write that waits for the user as a diff, with keys to approve or deny it.

import { call } from "../api.js";
import { age, empty, h, icon, link, plural, put, show, toast } from "../dom.js";
import { diffLines } from "../diff.js";
import { List } from "../list.js";

export async function open(room, { rest: [number] }) {
  const rows = h("div", { class: "rows" });
  const list = new List(rows);
  const detail = h("div", { class: "detail" });
  let proposals = [];
  let current = number ? Number(number) : null;

  async function load() {
    ({ proposals } = await call("proposal_list", {}));
    if (!proposals.some((one) => one.number === current)) current = proposals[0]?.number ?? null;
    draw();
    if (current) await pick(current);
  }

  function draw() {
    if (!proposals.length) {
      show(room, h("h1", {}, "Approvals"), empty("Nothing waits for you",
        "Agents can store memories and add to the daily log by themselves. Changes to your files wait here for your approval."));
      return;
    }
    list.set(proposals.map((one) => h("article", { class: "item row", dataset: { number: one.number }, onclick: () => pick(one.number) },
      link(`approvals/${one.number}`, { class: "cover", onclick: (event) => { event.preventDefault(); pick(one.number); } },
        h("strong", {}, one.kind === "file" ? one.target : one.target.replace("_", " ")),
        one.private && icon("lock")),
      h("div", { class: "meta" }, h("code", {}, `#${one.number}`), age(one.at), one.conflict && h("span", { class: "warn" }, "conflict")),
      one.reason && h("p", { class: "reason" }, one.reason))));
    show(room, h("h1", {}, "Approvals ", h("small", {}, plural(proposals.length, "write waits", "writes wait"))),
      h("div", { class: "split" }, rows, detail));
  }

  async function pick(which) {
    current = which;
    history.replaceState(null, "", `#/approvals/${which}`);
    for (const item of list.items) item.toggleAttribute("data-current", Number(item.dataset.number) === which);
    list.place = list.items.findIndex((item) => Number(item.dataset.number) === which);
    const one = await call("proposal_show", { number: which });
    if (current !== which) return;
    show(detail,
      h("div", { class: "line" }, h("h2", {}, one.target), h("span", { class: "meta" }, `proposed `, age(one.at), ` by ${one.actor}`)),
      one.reason && h("p", { class: "reason" }, one.reason),
      one.sources?.length ? h("p", { class: "meta" }, "from ", one.sources.map((source) => h("code", {}, source))) : null,
      one.conflict && h("p", { class: "warn", role: "alert" }, one.mergeable
        ? "The file has changed since this was proposed. Both changes can be merged: rebase this one, then review it again."
        : "The file has changed since this was proposed. It will not be overwritten. Deny this proposal and ask the agent for a new one."),
      one.kind === "file" ? diffLines(one.base ?? "", one.proposed ?? "") : h("pre", {}, JSON.stringify(one.arguments, null, 2)),
      h("div", { class: "buttons sticky" },
        h("button", { onclick: () => decide("deny"), title: "n" }, "Deny"),
        one.conflict && one.mergeable && h("button", { onclick: () => decide("rebase") }, "Rebase"),
        h("button", { class: "primary", disabled: Boolean(one.conflict), onclick: () => decide("approve"), title: "a" }, "Approve")));
  }

  async function decide(decision) {
    if (!current) return;
    const which = current;
    try {
      await call("proposal_decide", { number: which, decision });
      toast({ approve: `#${which} was approved and written`, deny: `#${which} was denied; nothing was written`, rebase: `#${which} was rebased and waits for your review` }[decision]);
    } catch (error) {
      toast(`${error.message}${error.hint ? ` ${error.hint}` : ""}`, "error");
    }
    dispatchEvent(new Event("approvals"));
    await load();
  }

  const step = (by) => {
    const place = proposals.findIndex((one) => one.number === current) + by;
    if (proposals[place]) pick(proposals[place].number);
  };
  await load();
  const heard = ({ detail: { data } }) => { if (data.type === "proposal") load(); };
  addEventListener("happened", heard);
  return {
    keys: { a: () => decide("approve"), n: () => decide("deny"), j: () => step(1), k: () => step(-1) },
    leave: () => removeEventListener("happened", heard),
  };
}
