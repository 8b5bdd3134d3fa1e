/**
 * Starts a clock that counts the milliseconds which this thread spends on a processor. For bounds on computations:
 * whatever else runs on the machine does not count.
 */
export function startProcessorClock(): () => number {
  const atStart = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(atStart);
    return (user + system) / 1000;
  };
}
