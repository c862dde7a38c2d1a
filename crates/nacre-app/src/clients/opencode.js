// Written by `nacre install`; `nacre uninstall` removes it. Changes to this file are lost.
//
// Gives OpenCode's agent the startup context and the memories that fit a message, and archives the conversation. All of it is
// done by `nacre hook`, started with a list of arguments, never by a shell. If anything fails, the conversation goes on.

import { spawn } from "node:child_process";

const COMMAND = __COMMAND__;
/** `nacre hook` gives up sooner by itself. */
const TIME_LIMIT_MS = 5_000;
const MAX_SESSIONS = 1_000;

/** Runs a hook and returns the text to inject: empty if there is none, or on any failure. */
function hook(event, input) {
  return new Promise((resolve) => {
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", event, "--client", "opencode"], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: TIME_LIMIT_MS,
      killSignal: "SIGKILL",
      windowsHide: true,
    });
    let answer = "";
    child.stdout.setEncoding("utf8").on("data", (text) => (answer += text));
    child.stdin.on("error", () => {});
    child.on("error", () => resolve(""));
    child.on("close", () => {
      try {
        resolve(JSON.parse(answer).hookSpecificOutput?.additionalContext ?? "");
      } catch {
        resolve("");
      }
    });
    child.stdin.end(JSON.stringify({ ...input, hook_event_name: event }));
  });
}

/** The text of a message's parts, without text that plugins added. */
const textOf = (parts) =>
  parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n");

export const NacrePlugin = async ({ client, directory }) => {
  /** The startup context of each session, as a promise. */
  const startup = new Map();
  /** Sessions of subagents: their messages are not the user's. */
  const subagents = new Set();

  const start = (session, source) => {
    if (startup.size >= MAX_SESSIONS) startup.clear();
    startup.set(session, hook("SessionStart", { session_id: session, cwd: directory, source }));
  };

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const prompt = textOf(parts);
      if (subagents.has(sessionID) || !prompt.trim()) return;
      const text = await hook("UserPromptSubmit", { session_id: sessionID, cwd: directory, prompt });
      if (!text) return;
      const id = `prt_nacre${Date.now()}`;
      parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true });
    },
    "experimental.chat.system.transform": async ({ sessionID }, output) => {
      if (!sessionID || subagents.has(sessionID)) return;
      if (!startup.has(sessionID)) start(sessionID, "startup");
      const text = await startup.get(sessionID);
      if (text) output.system.push(text);
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await hook("PreCompact", { session_id: sessionID, cwd: directory });
    },
    event: async ({ event }) => {
      const { info, sessionID } = event.properties ?? {};
      if (event.type === "session.created" && info?.parentID) subagents.add(info.id);
      if (event.type === "session.compacted") start(sessionID, "compact");
      if (event.type === "session.deleted" && info?.id) {
        startup.delete(info.id);
        if (!subagents.delete(info.id)) await hook("SessionEnd", { session_id: info.id, reason: "other" });
      }
      if (event.type !== "session.idle" || subagents.has(sessionID)) return;
      const { data } = await client.session.messages({ path: { id: sessionID } }).catch(() => ({}));
      const last = data?.findLast(({ info }) => info.role === "assistant");
      const answer = last ? textOf(last.parts) : "";
      if (answer) await hook("Stop", { session_id: sessionID, last_assistant_message: answer });
    },
  };
};
