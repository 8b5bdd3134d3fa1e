import type { SecretMetadata, SecretValues } from "@hearth-and-keep/vault-contract";
import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, request, toApiError } from "../../vault-api/api-client.ts";
import { formatQuery, vaultPath } from "./api-paths.ts";
import { isBinary } from "./secret-draft.ts";
import { listKeyOf, type SecretsLocation } from "./secrets-location.ts";
import { type RevealTimer, useRevealTimer } from "./use-reveal-timer.ts";
import { useAccess } from "./vault-access.ts";

/** What the list shows in place of a value, or the value itself. */
export type ListedValue =
  | { readonly kind: "hidden" | "unreadable" | "binary" }
  | { readonly kind: "text"; readonly value: string; readonly version: number };

const hidden: ListedValue = { kind: "hidden" };
const unreadable: ListedValue = { kind: "unreadable" };
const binary: ListedValue = { kind: "binary" };

export type ListValues = {
  /** Undefined while no values are shown. */
  readonly valueOf: ((secret: SecretMetadata) => ListedValue) | undefined;
  /** Whether the person may read any of the listed secrets. */
  readonly isAvailable: boolean;
  readonly timer: RevealTimer;
  readonly isLoading: boolean;
  readonly error: ApiError | undefined;
  readonly show: () => Promise<void>;
};

type ShownValues = {
  /** The list that they were read for. */
  readonly list: string;
  /** By the secret's id. */
  readonly values: ReadonlyMap<string, ListedValue>;
};

/** Of the rows above the others; a person does not read more within the time of a reveal. */
const maxSecrets = 500;

/**
 * The values of the listed secrets, read together when asked for. They are dropped after the time of a reveal, on
 * Escape, and when the tab or the list is left.
 */
export function useListValues(location: SecretsLocation, secrets: readonly SecretMetadata[]): ListValues {
  const list = listKeyOf(location);
  const { allows } = useAccess();
  const canRead = ({ path }: SecretMetadata): boolean => allows("secrets:read", path);
  const { timer, attempts } = useEscapableTimer(list);
  const [shown, setShown] = useState<ShownValues>();
  const [error, setError] = useState<ApiError>();
  const [isLoading, setIsLoading] = useState(false);
  const isShown = timer.secondsLeft !== undefined && shown?.list === list;
  useEffect(() => {
    if (!isShown) setShown(undefined);
  }, [isShown]);
  const show = async (): Promise<void> => {
    attempts.current += 1;
    const attempt = attempts.current;
    setIsLoading(true);
    setError(undefined);
    try {
      const values = await readListed(location, secrets.filter(canRead).slice(0, maxSecrets));
      // The person pressed Escape, or left the tab or the list, before the response arrived.
      if (document.hidden || attempt !== attempts.current) return;
      setShown({ list, values });
      timer.show();
    } catch (failure) {
      if (attempt === attempts.current) setError(toApiError(failure));
    } finally {
      setIsLoading(false);
    }
  };
  const valueOf = (secret: SecretMetadata): ListedValue => {
    if (!canRead(secret)) return unreadable;
    if (isBinary(secret.type)) return binary;
    const read = shown?.values.get(secret.id) ?? hidden;
    // The secret has changed since.
    return read.kind === "text" && read.version !== secret.version ? hidden : read;
  };
  const isAvailable = !location.isDeleted && secrets.some(canRead);
  return { valueOf: isShown ? valueOf : undefined, isAvailable, timer, isLoading, error, show };
}

/** A reveal timer that also ends on Escape and with the list; `attempts` then makes pending responses outdated. */
function useEscapableTimer(list: string) {
  const timer = useRevealTimer();
  const attempts = useRef(0);
  const { hide: stop } = timer;
  const hide = useCallback(() => {
    attempts.current += 1;
    stop();
  }, [stop]);
  useEffect(() => {
    const onKeyDown = ({ key }: KeyboardEvent): void => {
      if (key === "Escape") hide();
    };
    // Also when something else handles the key.
    window.addEventListener("keydown", onKeyDown, { capture: true });
    return () => {
      window.removeEventListener("keydown", onKeyDown, { capture: true });
      hide();
    };
  }, [hide, list]);
  return { timer: { ...timer, hide }, attempts };
}

/** Fewer than the API accepts per request, in ids and in bytes of values, which JSON can make six times as long. */
const maxIds = 100;
const maxBytes = 512 * 1024;

async function readListed(
  { vaultId = "", folder, search, tag }: SecretsLocation,
  secrets: readonly SecretMetadata[],
): Promise<ReadonlyMap<string, ListedValue>> {
  const isWholeVault = search.trim() !== "" || tag !== "";
  const place = isWholeVault ? { path: "/", recursive: "true" } : { path: folder };
  const texts = secrets.filter(({ type }) => !isBinary(type));
  // What is not returned was moved or deleted meanwhile, or may no longer be read.
  const read = new Map(texts.map(({ id }) => [id, unreadable]));
  for (const group of groupBySize(texts)) {
    const query = formatQuery({ ...place, ids: group.map(({ id }) => id).join(",") });
    const { body } = await request<SecretValues>(`${vaultPath(vaultId)}/values${query}`);
    for (const { id, version, value } of body.items) read.set(id, { kind: "text", value, version });
  }
  return read;
}

function groupBySize(secrets: readonly SecretMetadata[]): readonly (readonly SecretMetadata[])[] {
  const groups: SecretMetadata[][] = [];
  let bytes = 0;
  for (const secret of secrets) {
    const last = groups.at(-1);
    bytes += secret.size;
    if (last !== undefined && last.length < maxIds && bytes <= maxBytes) {
      last.push(secret);
    } else {
      groups.push([secret]);
      bytes = secret.size;
    }
  }
  return groups;
}
