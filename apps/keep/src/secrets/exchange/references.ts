import { requestFailure } from "../../failures.ts";
import type { SecretType } from "../queries.ts";
import { asText } from "./file-entries.ts";

/** Where a secret is: its vault, and its folder and name in one. */
export type SecretPlace = { readonly vaultId: string; readonly path: string };

type Fetched = { readonly type: SecretType; readonly bytes: Buffer };

/** Undefined for what is not there, as far as the caller is concerned. */
export type FetchSecret = (place: SecretPlace) => Promise<Fetched | undefined>;

/** The text at a place, with its references replaced by what they stand for. */
export type Expand = (place: SecretPlace, text: string) => Promise<string>;

const mostDepth = 8;
const mostFetched = 200;
const mostBytes = 64 * 1024;

/**
 * `${/folder/NAME}` stands for that secret of the same vault, `${vault-id:/folder/NAME}` for one of another; `$${` is
 * `${`. Read from left to right; whatever else has a dollar sign in it is left alone.
 */
const reference =
  /\$\$\{|\$\{(?:(?<vaultId>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):)?(?<path>\/[^{}\p{Cc}]{1,2400})\}/gu;

/** For one request: what several values refer to is fetched once, and all of them share one budget. */
export function createExpander(homeVaultId: string, fetchSecret: FetchSecret): Expand {
  const expansion: Expansion = { homeVaultId, fetchSecret, known: new Map(), fetched: 0 };
  return async (place, text) => {
    const { text: expanded } = await expand(expansion, text, [{ ...place, written: place.path }]);
    return expanded;
  };
}

type Expansion = {
  readonly homeVaultId: string;
  readonly fetchSecret: FetchSecret;
  readonly known: Map<string, Expanded>;
  fetched: number;
};

/** The places that lead to a text, the one that was asked for first; each with how it was written. */
type Trail = readonly Step[];
type Step = SecretPlace & { readonly written: string };

/** The height is how many references lead on from it, at most. */
type Expanded = { readonly text: string; readonly height: number };

async function expand(expansion: Expansion, text: string, trail: Trail): Promise<Expanded> {
  const { vaultId = "", path: ownPath = "" } = trail.at(-1) ?? {};
  const result = startResult(ownPath);
  let height = 0;
  let end = 0;
  for (const match of text.matchAll(reference)) {
    result.add(text.slice(end, match.index));
    end = match.index + match[0].length;
    const path = match.groups?.["path"];
    if (path === undefined) {
      result.add("${");
      continue;
    }
    const step = { vaultId: match.groups?.["vaultId"] ?? vaultId, path, written: match[0] };
    const inner = await follow(expansion, step, trail);
    height = Math.max(height, inner.height + 1);
    // Also when the rest of the chain was known from another value: what is refused does not depend on the order.
    if (trail.length - 1 + height > mostDepth) throw refuseDepth(step);
    result.add(inner.text);
  }
  result.add(text.slice(end));
  return { text: result.text(), height };
}

async function follow(expansion: Expansion, step: Step, trail: Trail): Promise<Expanded> {
  const name = nameOf(expansion, step);
  const names = trail.map((place) => nameOf(expansion, place));
  if (names.includes(name)) {
    throw requestFailure({
      kind: "reference-cycle",
      references: [...names.slice(names.indexOf(name)), name],
    });
  }
  const before = expansion.known.get(name);
  if (before !== undefined) return before;
  if (trail.length > mostDepth) throw refuseDepth(step);
  expansion.fetched += 1;
  if (expansion.fetched > mostFetched) {
    throw refuse(step.written, `is one of more than ${mostFetched} references in one request`);
  }
  const secret = await expansion.fetchSecret(step);
  const text = secret === undefined ? undefined : readableText(secret);
  if (text === undefined) throw requestFailure({ kind: "reference-missing", reference: step.written });
  const expanded =
    secret?.type === "text" ? await expand(expansion, text, [...trail, step]) : { text, height: 0 };
  expansion.known.set(name, expanded);
  return expanded;
}

/** As it is told to the caller: a place of the vault that was asked needs no vault's id. */
function nameOf({ homeVaultId }: Expansion, { vaultId, path }: SecretPlace): string {
  return vaultId === homeVaultId ? path : `${vaultId}:${path}`;
}

function readableText({ type, bytes }: Fetched): string | undefined {
  return type === "text" || type === "json" ? asText(bytes) : undefined;
}

/** Counted while it grows, so that ten thousand references to a long text are never put together. */
function startResult(path: string) {
  const pieces: string[] = [];
  let bytes = 0;
  return {
    add(piece: string): void {
      bytes += Buffer.byteLength(piece);
      if (bytes > mostBytes) throw refuse(path, `is longer than ${mostBytes} bytes with its references`);
      pieces.push(piece);
    },
    text: () => pieces.join(""),
  };
}

function refuseDepth({ written }: Step): Error {
  return refuse(written, `leads more than ${mostDepth} references deep`);
}

function refuse(place: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", mistakes: [{ place: place.slice(0, 1024), reason }] });
}
