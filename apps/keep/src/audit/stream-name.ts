/** Names a stream: one account may have the same vault as another one before it, and then each has records of its own. */
export function streamName(account: string, stream: string): string {
  return `${account} ${stream}`;
}
