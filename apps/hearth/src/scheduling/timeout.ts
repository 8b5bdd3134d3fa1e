/** Whether the work ends in time; its failure is the caller's to see when it awaits the work itself. */
export async function withinSeconds(seconds: number, work: Promise<unknown>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), seconds * 1000);
  void work.then(() => resolve(true)).catch(() => resolve(true));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
