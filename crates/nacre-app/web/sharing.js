// The view of access: the user's own rights, the access tokens, and the synced machines.

import { request } from "./api.js";
import { h, link } from "./dom.js";
import { inline } from "./feedback.js";
import { age, plural } from "./format.js";

/** Asks the server who shares the open group. */
export function askSharing() {
  return request("GET", "/v1/sharing");
}

/** The rights of a member by role. */
const ROLES = { reader: "You read and search.", writer: "You write; what the write policy holds back waits for a reviewer.", reviewer: "You write, and decide what waits.", admin: "You decide what waits, and give roles." };

/** One line for the frame, or nothing where the memory is on this machine only and the user may do everything. */
export function sharingLine({ you, team, server, sync, problem }) {
  const lines = [
    problem && h("span", { class: "warn" }, "Sync needs attention"),
    sync && h("span", { class: sync.problems.length ? "warn" : "" }, sync.waiting ? `${plural(sync.waiting, "change")} to send` : `${plural(active(sync).length, "machine")} in sync`),
    server && h("span", {}, `on ${server}`),
    team?.member && h("span", {}, `${team.member}, ${team.role}`),
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

/** The rows of the spaces, which are the groups in which somebody has a role: name, the user's own role, and the others with theirs. */
export function spaceRows({ member, members }) {
  const spaces = [...new Set(members.flatMap((one) => one.roles.map((role) => role.group)))].sort();
  return spaces.map((space) => {
    const roles = members.flatMap((one) => one.roles.filter((role) => role.group === space).map(({ role }) => ({ name: one.name, role })));
    return [
      [h("strong", {}, space), members.some((one) => one.name === space) && h("span", { class: "meta" }, "a member’s own")],
      member ? roles.find((one) => one.name === member)?.role ?? "none" : "admin",
      roles.filter((one) => one.name !== member).map((one) => `${one.name} (${one.role})`).join(", ") || "nobody else",
    ];
  });
}

/** The rows of the members: name, roles, and the tokens that the user may see. */
export function memberRows({ member, members }) {
  return members.map((one) => [
    [h("strong", {}, one.name), one.name === member && h("span", { class: "meta" }, "you")],
    one.roles.map(({ group, role }) => `${role} in ${group}`).join(", ") || "none",
    one.tokens.length ? h("ul", { class: "plain" }, one.tokens.map((token) => h("li", {}, token.name, h("span", { class: "meta" }, token.person ? " a person" : " an agent", ", used ", age(token.used_at) ?? "never"))))
      : member && one.name !== member ? h("span", { class: "meta" }, "only they see theirs") : "none",
  ]);
}

/** Where the memory is, and how the user came in, in words. */
export function sharingText({ you, team, server, sync, problem }) {
  const own = team?.member ? `You are ${team.member}, ${team.role} in this space${you.visibility === "shared" ? "; private data is hidden" : ""}. ${ROLES[team.role]}` : you.token ? `You use the token ${you.token}: ${limits(you) || "you may do everything"}.` : limits(you) ? `${limits(you)}.` : "You are the owner.";
  return [
    h("p", { class: "meta" }, own, server && ` The groups are in the database ${server}; ${team ? "only members with a role open a space" : "everybody with the role nacre_app can open them"}.`),
    problem && h("p", { class: "warn" }, inline(`The machines can't be told: ${problem}.`)),
    sync && h("p", { class: "meta" }, `Synced over ${sync.folder}: ${plural(sync.records, "record")}, ${plural(sync.deletions, "deletion")}.`, sync.waiting > 0 && ` ${plural(sync.waiting, "change waits", "changes wait")} to be sent.`),
    ...(sync?.problems ?? []).map((one) => h("p", { class: "warn" }, one)),
    !sync && !problem && !server && h("p", { class: "meta" }, inline("Only this machine has this memory. `nacre sync init FOLDER` shares it with your other machines.")),
  ];
}
