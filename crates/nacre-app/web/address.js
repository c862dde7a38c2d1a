// The address of the open view.

/** Opens a view. */
export function go(hash) {
  location.hash = `#/${hash}`;
}

/** Changes the address without opening it again. */
export function note(hash) {
  history.replaceState(null, "", `#/${hash}`);
}
