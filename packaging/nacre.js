#!/usr/bin/env node
// Starts the program in the package of this platform, which npm installed as an optional dependency of this one.
"use strict";

const isWindows = process.platform === "win32";
const name = `nacre-${process.platform}-${process.arch}`;
const given = process.argv.slice(2);

let program;
try {
  program = require.resolve(`${name}/bin/nacre${isWindows ? ".exe" : ""}`);
} catch {
  console.error(`error: the npm package ${name} is not installed, which has the program for this platform`);
  console.error("hint: install again without --omit=optional; if npm knows no such package, build Nacre from source");
  process.exit(1);
}

// Newer versions of Node can become the program, so that no second process stays beside it.
if (process.execve && !isWindows) process.execve(program, [program, ...given], process.env);

const child = require("node:child_process").spawn(program, given, { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) {
  // A terminal sends Ctrl-C to the program too: it must not get it twice.
  process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY) || child.kill(signal));
}
child.on("error", (problem) => {
  console.error(`error: ${program} can't be started: ${problem.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  for (const each of signals) process.removeAllListeners(each);
  if (signal) process.kill(process.pid, signal);
  else process.exit(code);
});
