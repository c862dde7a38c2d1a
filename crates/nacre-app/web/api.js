// The server: the same tools that agents call, with the rights of the signed-in user.

export class Failure extends Error {
  constructor({ code, message, hint }, status) {
    super(message);
    Object.assign(this, { code, hint, status });
  }
}

const GROUP_KEY = "group";

/** The group that every call works with. */
export const group = {
  get name() { return localStorage.getItem(GROUP_KEY) ?? "main"; },
  set name(name) { localStorage.setItem(GROUP_KEY, name); },
};

/** Calls a tool and returns its data. */
export function call(tool, args = {}, options = {}) {
  return request("POST", `/v1/tools/${tool}`, args, options);
}

/** Version, groups, clients, jobs, settings and activity. */
export function overview() {
  return request("GET", "/v1/overview");
}

let toolNames = null;

/** Tells whether the server has a tool. */
export async function hasTool(name) {
  toolNames ??= request("GET", "/v1/tools").then(({ tools }) => new Set(tools.map((tool) => tool.name)));
  return (await toolNames).has(name);
}

export async function request(method, path, body, { signal, keepalive } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      keepalive,
      // A cookie alone is not enough: a form of another site can't set a header.
      headers: { "content-type": "application/json", "x-nacre": "1", "nacre-group": group.name },
      body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure({ code: "unreachable", message: "Nacre does not answer.", hint: "Is `nacre serve` still running?" }, 0);
  }
  const data = await response.json().catch((error) => {
    // A request may be given up while its answer arrives.
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (response.ok) return data;
  const failure = new Failure(data?.error ?? { code: "unknown", message: `The server answered ${response.status}.` }, response.status);
  if (response.status === 401) dispatchEvent(new CustomEvent("signed-out", { detail: failure }));
  throw failure;
}

const EVENTS = ["memory:write", "memory:read", "memory:search", "memory:flush", "memory:compact"];

/** Calls `heard(name, data)` for each event of the group. Returns a function that unsubscribes. */
export function follow(heard) {
  const source = new EventSource("/v1/events");
  for (const name of EVENTS) {
    source.addEventListener(name, (event) => {
      const data = JSON.parse(event.data);
      if (data.group === group.name) heard(name, data);
    });
  }
  return () => source.close();
}
