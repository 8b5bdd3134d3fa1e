/** Fires at the first SIGTERM or SIGINT, which asks for an orderly end; a second one ends the process at once. */
export function endSignal(): AbortSignal {
  const end = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => (end.signal.aborted ? process.exit(130) : end.abort()));
  }
  return end.signal;
}
