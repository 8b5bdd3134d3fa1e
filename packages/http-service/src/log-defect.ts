import type { RequestHead } from "./route.ts";

/** Log fields of every request; programs add their own to the allow-list. */
export const requestLogFields = [
  "requestId",
  "route",
  "status",
  "durationMilliseconds",
  "failure",
  "defect",
] as const;

type DefectLogger = {
  readonly error: (message: string, fields: { readonly requestId: string; readonly defect: string }) => void;
};

const maxFrames = 8;

/** Logs where an unexpected error was thrown, but not its message, which may contain client data. */
export function logDefect(
  logger: DefectLogger,
  error: unknown,
  { requestId }: Pick<RequestHead, "requestId">,
): void {
  logger.error("Internal server error", { requestId, defect: describeDefect(error) });
}

function describeDefect(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = "code" in error ? ` ${String(error.code)}` : "";
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /u.test(line));
  return [error.name + code, ...frames.slice(0, maxFrames)].join("\n");
}
