import type { AuditPage } from "@hearth-and-keep/vault-contract";
import { useEffect, useState } from "react";
import { ask } from "../../vault-api/api-client.ts";

export type ProgramRead =
  /** `isPaused`: nobody looks any more until `again` is called. */
  | { readonly state: "waiting"; readonly isPaused: boolean; readonly again: () => void }
  | { readonly state: "read"; readonly address: string; readonly at: string };

export type WatchedToken = { readonly vaultId: string; readonly tokenId: string };

const pauseMilliseconds = 2000;
const mostLooks = 300;

/** Looks into the vault's log until it says that the token read a value: there it is written before the value leaves. */
export function useProgramRead({ vaultId, tokenId }: WatchedToken): ProgramRead {
  const [read, setRead] = useState<ProgramRead>();
  const [looks, setLooks] = useState(0);
  useEffect(() => {
    if (read !== undefined || looks >= mostLooks) return undefined;
    const end = new AbortController();
    const timer = setTimeout(() => {
      if (document.hidden) {
        setLooks((last) => last + 1);
        return;
      }
      void findRead({ vaultId, tokenId }, end.signal).then((found) => {
        if (end.signal.aborted) return undefined;
        if (found === undefined) setLooks((last) => last + 1);
        else setRead(found);
        return undefined;
      });
    }, pauseMilliseconds);
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [vaultId, tokenId, read, looks]);
  return read ?? { state: "waiting", isPaused: looks >= mostLooks, again: () => setLooks(0) };
}

async function findRead({ vaultId, tokenId }: WatchedToken, signal: AbortSignal) {
  try {
    const path = `/api/secrets/vaults/${encodeURIComponent(vaultId)}/audit?type=value-read&limit=50`;
    const { body } = await ask<AuditPage>(path, { signal });
    const found = body.items.find((item) => textIn(item.body, "by") === `token:${tokenId}`);
    if (found === undefined) return undefined;
    return { state: "read", address: textIn(found.body, "address"), at: found.at } as const;
  } catch {
    // The next look may fare better.
    return undefined;
  }
}

function textIn(body: unknown, name: string): string {
  if (typeof body !== "object" || body === null) return "";
  const value: unknown = Reflect.get(body, name);
  return typeof value === "string" ? value : "";
}
