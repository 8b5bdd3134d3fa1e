/** What scripts see; docs/command-line.md tells the same. */
export const exitCodes = {
  fine: 0,
  unexpected: 1,
  wrongWords: 2,
  unreachable: 3,
  keyRefused: 4,
  noSuchModel: 5,
  serverFailed: 6,
  interrupted: 130,
} as const;
