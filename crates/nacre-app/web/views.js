// The table of views: the name in the address, the title, the key after `g`, and the module. `phone` puts a view into the bar of a
// small screen; `within` names the view that a detail belongs to.

import * as approvals from "./views/approvals.js";
import * as entry from "./views/entry.js";
import * as files from "./views/files.js";
import * as graph from "./views/graph.js";
import * as health from "./views/health.js";
import * as home from "./views/home.js";
import * as memory from "./views/memory.js";
import * as sessions from "./views/sessions.js";
import * as tasks from "./views/tasks.js";
import * as timeline from "./views/timeline.js";

export const VIEWS = [
  { name: "home", title: "Home", key: "h", view: home, phone: true },
  { name: "memory", title: "Memory", key: "m", view: memory, phone: true },
  { name: "approvals", title: "Approvals", key: "a", view: approvals, phone: true },
  { name: "sessions", title: "Sessions", key: "s", view: sessions, phone: true },
  { name: "graph", title: "Graph", key: "g", view: graph },
  { name: "timeline", title: "Timeline", key: "t", view: timeline },
  { name: "files", title: "Files", key: "f", view: files },
  { name: "tasks", title: "Tasks", key: "k", view: tasks },
  { name: "health", title: "Health", key: "e", view: health },
  { name: "entry", view: entry, within: "memory" },
];
