/** What a stream waits for: how much of its model is loaded, or its position in the queue, in words. */
export type StreamNotice = { readonly loadPercent?: number; readonly queued?: string };

/** Reads a line of server-sent events; undefined unless it is a comment about what the stream waits for. */
export function readStreamNotice(line: string): StreamNotice | undefined {
  const percent = /^: loading (\d{1,3})%$/u.exec(line)?.[1];
  if (percent !== undefined) return { loadPercent: Number(percent) };
  const queued = /^: queued, (.{1,200})$/u.exec(line)?.[1];
  return queued === undefined ? undefined : { queued };
}
