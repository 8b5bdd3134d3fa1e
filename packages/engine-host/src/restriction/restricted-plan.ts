import type { SeccompOptions } from "../sandbox/seccomp-filter.ts";

/** What `run-restricted.ts` starts, and what it takes away first. Passed to it as JSON. */
export type RestrictedPlan = {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Files and folders that it can read, and everything below them. */
  readonly readablePaths: readonly string[];
  /** Files that it can execute. */
  readonly executablePaths: readonly string[];
  /** Device nodes that it can read, write and control. */
  readonly devices: readonly string[];
  /** The only folder in which it can create sockets. */
  readonly socketFolder?: string;
  /** The inherited descriptors that it keeps. */
  readonly descriptors: readonly number[];
  /** Whom it runs as, if the server is root. */
  readonly user?: { readonly id: number; readonly groups: readonly number[] };
  readonly filter: Omit<SeccompOptions, "onlySignals">;
};
