import { FailureError } from "@hearth-and-keep/failures";
import type { OutboundAnswer } from "@hearth-and-keep/outbound-http";
import { modelFailure } from "../model-failure.ts";
import type { Layer } from "../store/manifest.ts";
import type { Registry } from "./registry-client.ts";
import { PassingProblem, refusalOf } from "./retry-policy.ts";

/** A layer, and where its content is: below the repository, or at an address of its own. */
export type RemoteBlob = Layer & { readonly target: string | URL };

/** Bytes of a blob, both ends included. */
export type ByteRange = { readonly first: number; readonly last: number };

/** The range that really comes: what was asked for, or the whole blob from a server that gives no ranges. */
export type OpenRange = AsyncDisposable & {
  readonly range: ByteRange;
  readonly isWhole: boolean;
  readonly body: AsyncIterable<Uint8Array>;
};

export type BlobSource = {
  readonly host: string;
  open(
    range: ByteRange,
    plan: { readonly signal: AbortSignal; readonly idleSeconds: number },
  ): Promise<OpenRange>;
};

const mostRedirects = 5;

/**
 * A blob at its registry, or wherever that sends us: the place is remembered, because links to storage hold for a
 * while, and asked for again when it does not answer well. Content of another length than the manifest's is refused.
 */
export function openBlobSource(
  registry: Registry,
  { target, size }: { readonly target: string | URL; readonly size: number },
): BlobSource {
  let storage: URL | undefined;
  return {
    host: registry.host,
    async open(range, { signal, idleSeconds }) {
      const isAll = range.first === 0 && range.last === size - 1;
      const headers = isAll ? {} : { range: `bytes=${range.first}-${range.last}` };
      const question = { headers, signal, idleSeconds };
      // Other ranges use and replace the same link meanwhile.
      let link = storage;
      try {
        let answer = await registry.ask({
          ...question,
          target: link ?? target,
          ...(link === undefined ? {} : { mostRedirects }),
        });
        const location = redirectOf(answer);
        if (location !== undefined) {
          await answer[Symbol.asyncDispose]();
          link = location;
          storage = link;
          answer = await registry.ask({ ...question, target: location, mostRedirects });
        }
        return await readHead(answer, range, size);
      } catch (problem) {
        if (storage === link) storage = undefined;
        throw link !== undefined && isRefused(problem) ? new PassingProblem(problem) : problem;
      }
    },
  };
}

function redirectOf({ status, headers, url }: OutboundAnswer): URL | undefined {
  const location = [301, 302, 303, 307, 308].includes(status) ? headers["location"] : undefined;
  if (location === undefined) return undefined;
  const address = typeof location === "string" ? URL.parse(location, url.href) : null;
  if (address !== null) return address;
  const reason = "it redirects to what is no address";
  throw modelFailure({ kind: "registry-answer-invalid", host: url.host, reason });
}

async function readHead(answer: OutboundAnswer, asked: ByteRange, size: number): Promise<OpenRange> {
  const { status, headers, body } = answer;
  if (status !== 200 && status !== 206) throw await refusalOf(answer);
  const range =
    status === 206 ? readContentRange(headers["content-range"], size) : { first: 0, last: size - 1 };
  const length = headers["content-length"];
  const bytes = range === undefined ? 0 : range.last - range.first + 1;
  const isRight =
    range !== undefined &&
    (status === 200 || (range.first === asked.first && range.last <= asked.last)) &&
    (length === undefined || Number(length) === bytes);
  if (isRight) {
    return {
      range,
      isWhole: status === 200,
      body,
      [Symbol.asyncDispose]: () => answer[Symbol.asyncDispose](),
    };
  }
  await answer[Symbol.asyncDispose]();
  const reason = "it sends another part or another length than was asked for";
  throw new PassingProblem(modelFailure({ kind: "registry-answer-invalid", host: answer.url.host, reason }));
}

function readContentRange(
  header: string | readonly string[] | undefined,
  size: number,
): ByteRange | undefined {
  const found = /^bytes (?<first>\d{1,16})-(?<last>\d{1,16})\/(?<total>\d{1,16}|\*)$/u.exec(
    String(header ?? ""),
  );
  const { first, last, total } = found?.groups ?? {};
  const range = { first: Number(first), last: Number(last) };
  const isOfSize = total === "*" || Number(total) === size;
  return isOfSize && range.first <= range.last && range.last < size ? range : undefined;
}

/** A link to storage that ran out, or storage that lost the content: the registry may know another. */
function isRefused(problem: unknown): boolean {
  // Only its kind is looked at.
  return problem instanceof FailureError && (problem.failure as { kind: string }).kind === "registry-refused";
}
