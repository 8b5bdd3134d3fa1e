/** Exit codes of both programs, for scripts; each program adds its own. */
export const exitCodes = {
  success: 0,
  /** A defect, or a check that found something. */
  unexpectedError: 1,
  /** Invalid arguments or settings. */
  usage: 2,
  /** A server, database, file or address cannot be used. */
  unavailable: 3,
} as const;
