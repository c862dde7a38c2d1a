// The view of access: the user's own rights, the access tokens, and the synced machines.

import { request } from "./api.js";
import { h, link } from "./dom.js";
import { inline } from "./feedback.js";
import { age, plural } from "./format.js";

/** Asks the server who shares the open group. */
export function askSharing() {
  return request("GET", "/v1/sharing");
}

/** One line for the frame, or nothing where the memory is on this machine only and the user may do everything. */
export function sharingLine({ you, server, sync, problem }) {
  const lines = [
    problem && h("span", { class: "warn" }, "Sync needs attention"),
    sync && h("span", { class: sync.problems.length ? "warn" : "" }, sync.waiting ? `${plural(sync.waiting, "change")} to send` : `${plural(active(sync).length, "machine")} in sync`),
    server && h("span", {}, `on ${server}`),
    limits(you) && h("span", {}, limits(you)),
  ].filter(Boolean);
  return lines.length ? link("health", { class: "sharing" }, lines) : null;
}

function active(sync) {
  return sync.machines.filter((machine) => !machine.left);
}

/** What the user may not do, in words. */
function limits({ role, visibility }) {
  return [role !== "admin" && `role ${role}`, visibility === "shared" && "private data hidden"].filter(Boolean).join(", ");
}

/** The rows of the machines: name, when it was last seen, and what it has not read yet. */
export function machineRows(sync) {
  return sync.machines.map((machine) => [
    [h("strong", {}, machine.name || machine.device), machine.here && h("span", { class: "meta" }, "this machine")],
    age(machine.seen) ?? "never",
    machine.left ? "left"
      : machine.behind || machine.deletions_missing ? h("span", { class: "warn" }, [machine.behind && `${plural(machine.behind, "change")} behind`, machine.deletions_missing && `${plural(machine.deletions_missing, "deletion")} not arrived`].filter(Boolean).join(", "))
      : h("span", { class: "good" }, "up to date"),
  ]);
}

/** The rows of the tokens: name, which groups it opens, and its rights. */
export function tokenRows(tokens) {
  return tokens.map((token) => [
    [h("strong", {}, token.name), h("span", { class: "meta" }, token.person ? "a person" : token.untrusted ? "an untrusted agent" : "an agent", ", made ", age(token.made_at))],
    token.group ?? "every group",
    `${token.role}, ${token.visibility === "private" ? "sees private data" : "private data hidden"}`,
  ]);
}

/** Where the memory is, and how the user came in, in words. */
export function sharingText({ you, server, sync, problem }) {
  const own = you.token ? `You use the token ${you.token}: ${limits(you) || "you may do everything"}.` : limits(you) ? `${limits(you)}.` : "You are the owner.";
  return [
    h("p", { class: "meta" }, own, server && ` The groups are in the database ${server}; every member of its role can open them.`),
    problem && h("p", { class: "warn" }, inline(`The machines can't be told: ${problem}.`)),
    sync && h("p", { class: "meta" }, `Synced over ${sync.folder}: ${plural(sync.records, "record")}, ${plural(sync.deletions, "deletion")}.`, sync.waiting > 0 && ` ${plural(sync.waiting, "change waits", "changes wait")} to be sent.`),
    ...(sync?.problems ?? []).map((one) => h("p", { class: "warn" }, one)),
    !sync && !problem && !server && h("p", { class: "meta" }, inline("Only this machine has this memory. `nacre sync init FOLDER` shares it with your other machines.")),
  ];
}
