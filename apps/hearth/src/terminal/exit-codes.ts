import { exitCodes as sharedExitCodes } from "@hearth-and-keep/failures";

/** Exit codes for scripts, as documented in docs/hearth/command-line.md. */
export const exitCodes = {
  ...sharedExitCodes,
  unauthorized: 4,
  modelNotFound: 5,
  serverError: 6,
  interrupted: 130,
} as const;
