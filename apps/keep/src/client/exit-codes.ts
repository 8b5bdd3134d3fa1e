import { exitCodes as sharedExitCodes } from "@hearth-and-keep/failures";

/** Exit codes for scripts, as documented in docs/keep/command-line.md. */
export const exitCodes = {
  ...sharedExitCodes,
  unauthorized: 4,
  notFound: 5,
  serverError: 6,
  /** As shells report a program that cannot be executed, or does not exist. */
  notExecutable: 126,
  programNotFound: 127,
  interrupted: 130,
} as const;
