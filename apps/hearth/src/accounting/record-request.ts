import type { HearthDependencies, HearthRequest } from "../dependencies.ts";
import type { KeyedEntry } from "../key-store/usage-ledger.ts";
import type { HearthRoute } from "../routes.ts";
import { RequestUsage, toStoredText } from "./request-usage.ts";

/** Writes the row of a request that no limit applies to, once it has ended. */
export function recordRequest(row: HearthRoute, record: (keyed: KeyedEntry) => void): HearthRoute["handle"] {
  return async (request, dependencies: HearthDependencies) => {
    const usage = new RequestUsage();
    const { signal } = request;
    const end = (): void => {
      usage.addLogged();
      record({ key: { name: toStoredText(request.actor.keyName) }, entry: usage.toEntry({ signal }) });
    };
    try {
      const response = await row.handle(observe(request, usage), dependencies);
      if ("chunks" in response) return { ...response, chunks: watch(response.chunks, usage, end) };
      end();
      return response;
    } catch (error) {
      usage.fail(error);
      end();
      throw error;
    }
  };
}

function observe(request: HearthRequest, usage: RequestUsage): HearthRequest {
  return {
    ...request,
    signal: request.signal,
    // A method, which a copy of the request would not have.
    addComment: (text) => request.addComment?.(text),
    addLogFields: (fields) => {
      usage.observe(fields);
      request.addLogFields(fields);
    },
    countTokens: (added) => {
      usage.count(added);
      return undefined;
    },
  };
}

async function* watch(
  chunks: AsyncIterable<string>,
  usage: RequestUsage,
  end: () => void,
): AsyncGenerator<string> {
  try {
    yield* chunks;
  } catch (error) {
    usage.fail(error);
    throw error;
  } finally {
    end();
  }
}
