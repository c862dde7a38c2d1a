// The same calls that agents make, with the rights of the signed-in user.

export class Failure extends Error {
  constructor({ code, message, hint }, status) {
    super(message);
    Object.assign(this, { code, hint, status });
  }
}

/** Calls a tool and returns its data. */
export async function call(tool, args = {}, options = {}) {
  return request("POST", `/v1/tools/${tool}`, args, options);
}

export async function request(method, path, body, { signal } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      // A cookie alone is not enough: a form of another site can't set a header.
      headers: { "content-type": "application/json", "x-nacre": "1" },
      body: method === "GET" ? undefined : JSON.stringify(body ?? {}),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure({ code: "unreachable", message: "Nacre does not answer.", hint: "Is `nacre serve` still running?" }, 0);
  }
  const data = await response.json().catch(() => null);
  if (response.ok) return data;
  const failure = data?.error ?? { code: "unknown", message: `The server answered ${response.status}.` };
  if (response.status === 401) failure.hint = "Run `nacre ui` for a new link.";
  throw new Failure(failure, response.status);
}

/** Subscribes to events. Returns a function that unsubscribes. */
export function follow(heard) {
  const source = new EventSource("/v1/events");
  for (const name of ["memory:write", "memory:read", "memory:search", "memory:flush", "memory:compact"]) {
    source.addEventListener(name, (event) => heard(name, JSON.parse(event.data)));
  }
  return () => source.close();
}
