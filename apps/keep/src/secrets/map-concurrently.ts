const maxConcurrent = 32;

/**
 * Runs several at once, so that their statements are pipelined. Waits for all of them before throwing: none may run on
 * after the transaction has ended.
 */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const errors: unknown[] = [];
  for (let begin = 0; begin < items.length && errors.length === 0; begin += maxConcurrent) {
    const chunk = items.slice(begin, begin + maxConcurrent);
    await Promise.allSettled(
      chunk
        .map(async (item, index) => {
          results[begin + index] = await work(item);
        })
        .map((done) => done.catch((error: unknown) => errors.push(error))),
    );
  }
  // The first error is the cause: after it, the database rejects the transaction's other statements.
  if (errors.length > 0) throw errors[0];
  return results;
}
