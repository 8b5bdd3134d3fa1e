/** Whether a promise settles within the timeout. Callers see a rejection when they await the promise itself. */
export async function settlesWithin(seconds: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: result, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), seconds * 1000);
  void promise.then(() => resolve(true)).catch(() => resolve(true));
  try {
    return await result;
  } finally {
    clearTimeout(timer);
  }
}
