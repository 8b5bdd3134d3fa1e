import { toApiError } from "../../vault-api/api-client.ts";

export type PathFailure = { readonly path: string; readonly reason: string };

/** Sent at the same time; the server applies one change of a vault after the other. */
const concurrency = 4;

/** Sends one request for each item; a failed one does not keep the others from being sent. */
export async function attemptEach<Item extends { readonly path: string }>(
  items: readonly Item[],
  send: (item: Item) => Promise<unknown>,
): Promise<readonly PathFailure[]> {
  const failures: PathFailure[] = [];
  // Shared by all workers: each takes the next item.
  const remaining = items.values();
  const sendRemaining = async (): Promise<void> => {
    for (const item of remaining) {
      try {
        await send(item);
      } catch (error) {
        failures.push({ path: item.path, reason: toApiError(error).message });
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sendRemaining));
  return failures;
}

const maxNamed = 3;

/** For a toast. */
export function describeFailures(failures: readonly PathFailure[]): string {
  const named = failures.slice(0, maxNamed).map(({ path, reason }) => `${path}: ${reason}`);
  const others = failures.length - named.length;
  return [...named, ...(others === 0 ? [] : [`and ${others} more`])].join("; ");
}
