/** Aborts at the first SIGTERM or SIGINT, for a graceful shutdown; a second one exits immediately. */
export function shutdownSignal(): AbortSignal {
  const shutdown = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => (shutdown.signal.aborted ? process.exit(130) : shutdown.abort()));
  }
  return shutdown.signal;
}
