/** Whether the hash is stored. */
export type BatchedLookup = (hash: Buffer) => Promise<boolean>;

/**
 * Looks up the hashes of many callers with one query at a time: those that arrive during a query wait for the next one.
 * A flood of invalid credentials therefore costs the database one connection, and delays a valid one by about a query.
 */
export function createBatchedLookup(
  findStored: (hashes: readonly Buffer[]) => Promise<readonly Buffer[]>,
): BatchedLookup {
  let previous: Promise<unknown> = Promise.resolve();
  let batch: { readonly hashes: Buffer[]; readonly stored: Promise<ReadonlySet<string>> } | undefined;
  const startBatch = () => {
    const hashes: Buffer[] = [];
    const stored = previous.then(async () => {
      batch = undefined;
      return new Set((await findStored(hashes)).map(nameOf));
    });
    previous = stored.catch(() => undefined);
    return { hashes, stored };
  };
  return async (hash) => {
    batch ??= startBatch();
    batch.hashes.push(hash);
    return (await batch.stored).has(nameOf(hash));
  };
}

function nameOf(hash: Buffer): string {
  return hash.toString("base64");
}
