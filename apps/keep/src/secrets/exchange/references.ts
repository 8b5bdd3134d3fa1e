import { requestFailure } from "../../failures.ts";
import type { SecretType } from "../queries.ts";
import { folderOf, joinPath } from "../secret-path.ts";
import { decodeUtf8 } from "./file-entries.ts";

/** The vault and the path (folder and name joined) that a reference points to. */
export type ReferenceTarget = { readonly vaultId: string; readonly path: string };

type Fetched = { readonly type: SecretType; readonly bytes: Buffer };

/** Undefined when the secret does not exist or the caller may not read it. */
export type FetchSecret = (target: ReferenceTarget) => Promise<Fetched | undefined>;

/** Replaces the references in a secret's text; `target` is that secret, for detecting cycles. */
export type Expand = (target: ReferenceTarget, text: string) => Promise<string>;

const maxDepth = 8;
const maxFetched = 200;
const maxBytes = 64 * 1024;

/**
 * `${/folder/NAME}` refers to a secret of the same vault, `${vault-id:/folder/NAME}` to one of another vault, and
 * `${./NAME}` to one in the folder of the value that contains it; `$${` escapes `${`. Other dollar signs are left alone.
 */
const reference =
  /\$\$\{|\$\{(?:(?:(?<vaultId>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):)?(?<path>\/[^{}\p{Cc}]{1,2400})|\.\/(?<relative>[^{}\p{Cc}]{1,2400}))\}/gu;

/** The secrets that a text of this vault refers to itself, without those that depend on its folder. */
export function listReferences(vaultId: string, text: string): readonly ReferenceTarget[] {
  return [...text.matchAll(reference)].flatMap(({ groups }) => {
    const path = groups?.["path"];
    return path === undefined ? [] : [{ vaultId: groups?.["vaultId"] ?? vaultId, path }];
  });
}

/** The paths of the secrets that a text refers to by their place in this folder. */
export function listRelativeReferences(folder: string, text: string): readonly string[] {
  return [...text.matchAll(reference)].flatMap(({ groups }) => {
    const relative = groups?.["relative"];
    return relative === undefined ? [] : [joinPath(folder, relative)];
  });
}

/** One expander per request: each referenced secret is fetched once, and all values share one fetch limit. */
export function createExpander(homeVaultId: string, fetchSecret: FetchSecret): Expand {
  const expansion: Expansion = { homeVaultId, fetchSecret, cache: new Map(), fetched: 0 };
  return async (target, text) => {
    const { text: expanded } = await expand(expansion, text, [{ ...target, source: target.path }]);
    return expanded;
  };
}

type Expansion = {
  readonly homeVaultId: string;
  readonly fetchSecret: FetchSecret;
  readonly cache: Map<string, Expanded>;
  fetched: number;
};

/** The chain of references to a text, starting at the requested value; each with its source text. */
type ReferenceChain = readonly ReferenceStep[];
type ReferenceStep = ReferenceTarget & { readonly source: string };

/** `height` is the length of the longest chain of references below it. */
type Expanded = { readonly text: string; readonly height: number };

async function expand(expansion: Expansion, text: string, chain: ReferenceChain): Promise<Expanded> {
  const { vaultId = "", path: ownPath = "" } = chain.at(-1) ?? {};
  const result = createTextBuilder(ownPath);
  let height = 0;
  let end = 0;
  for (const match of text.matchAll(reference)) {
    result.add(text.slice(end, match.index));
    end = match.index + match[0].length;
    const { path: absolute, relative, vaultId: otherVaultId = vaultId } = match.groups ?? {};
    const path = relative === undefined ? absolute : joinPath(folderOf(ownPath), relative);
    if (path === undefined) {
      result.add("${");
      continue;
    }
    const step = { vaultId: otherVaultId, path, source: match[0] };
    const inner = await follow(expansion, step, chain);
    height = Math.max(height, inner.height + 1);
    // Checked for cached results too, so that the outcome does not depend on the order of the values.
    if (chain.length - 1 + height > maxDepth) throw tooDeep(step);
    result.add(inner.text);
  }
  result.add(text.slice(end));
  return { text: result.text(), height };
}

async function follow(expansion: Expansion, step: ReferenceStep, chain: ReferenceChain): Promise<Expanded> {
  const name = formatTarget(expansion, step);
  const names = chain.map((target) => formatTarget(expansion, target));
  if (names.includes(name)) {
    throw requestFailure({
      kind: "reference-cycle",
      references: [...names.slice(names.indexOf(name)), name],
    });
  }
  const before = expansion.cache.get(name);
  if (before !== undefined) return before;
  if (chain.length > maxDepth) throw tooDeep(step);
  expansion.fetched += 1;
  if (expansion.fetched > maxFetched) {
    throw invalidReference(step.source, `exceeds the limit of ${maxFetched} references in one request`);
  }
  const secret = await expansion.fetchSecret(step);
  const text = secret === undefined ? undefined : readableText(secret);
  if (text === undefined) {
    // The caller may know it: its value was read before its references are followed.
    const holder = formatTarget(expansion, chain.at(-1) ?? step);
    throw requestFailure({ kind: "reference-missing", reference: step.source, holder });
  }
  const expanded =
    secret?.type === "text" ? await expand(expansion, text, [...chain, step]) : { text, height: 0 };
  expansion.cache.set(name, expanded);
  return expanded;
}

/** The form shown in errors: targets in the requested vault need no vault id. */
function formatTarget({ homeVaultId }: Expansion, { vaultId, path }: ReferenceTarget): string {
  return vaultId === homeVaultId ? path : `${vaultId}:${path}`;
}

function readableText({ type, bytes }: Fetched): string | undefined {
  return type === "text" || type === "json" ? decodeUtf8(bytes) : undefined;
}

/** Checks the size while appending, so that many references to a long text are never materialized. */
function createTextBuilder(path: string) {
  const chunks: string[] = [];
  let bytes = 0;
  return {
    add(chunk: string): void {
      bytes += Buffer.byteLength(chunk);
      if (bytes > maxBytes) throw invalidReference(path, `is longer than ${maxBytes} bytes after expansion`);
      chunks.push(chunk);
    },
    text: () => chunks.join(""),
  };
}

function tooDeep({ source }: ReferenceStep): Error {
  return invalidReference(source, `is nested more than ${maxDepth} references deep`);
}

function invalidReference(field: string, reason: string): Error {
  return requestFailure({ kind: "request-invalid", errors: [{ field: field.slice(0, 1024), reason }] });
}
