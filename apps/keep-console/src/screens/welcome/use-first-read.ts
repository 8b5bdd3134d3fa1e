import type { AuditPage } from "@hearth-and-keep/vault-contract";
import { useEffect, useState } from "react";
import { request } from "../../vault-api/api-client.ts";

export type FirstRead =
  /** `isPaused`: polling stopped after ten minutes; `resume` restarts it. */
  | { readonly state: "waiting"; readonly isPaused: boolean; readonly resume: () => void }
  | { readonly state: "read"; readonly address: string; readonly at: string };

export type WatchedToken = { readonly vaultId: string; readonly tokenId: string };

const pollMilliseconds = 2000;
const maxPolls = 300;

/** Polls the vault's audit log until the token has read a value; reads are logged before the value is returned. */
export function useFirstRead({ vaultId, tokenId }: WatchedToken): FirstRead {
  const [read, setRead] = useState<FirstRead>();
  const [polls, setPolls] = useState(0);
  useEffect(() => {
    if (read !== undefined || polls >= maxPolls) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      if (document.hidden) {
        setPolls((last) => last + 1);
        return;
      }
      void findRead({ vaultId, tokenId }, controller.signal).then((found) => {
        if (controller.signal.aborted) return undefined;
        if (found === undefined) setPolls((last) => last + 1);
        else setRead(found);
        return undefined;
      });
    }, pollMilliseconds);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [vaultId, tokenId, read, polls]);
  return read ?? { state: "waiting", isPaused: polls >= maxPolls, resume: () => setPolls(0) };
}

async function findRead({ vaultId, tokenId }: WatchedToken, signal: AbortSignal) {
  try {
    const path = `/api/secrets/vaults/${encodeURIComponent(vaultId)}/audit?type=value-read&limit=50`;
    const { body } = await request<AuditPage>(path, { signal });
    const found = body.items.find((item) => textIn(item.body, "by") === `token:${tokenId}`);
    if (found === undefined) return undefined;
    return { state: "read", address: textIn(found.body, "address"), at: found.at } as const;
  } catch {
    // The next poll may succeed.
    return undefined;
  }
}

function textIn(body: unknown, name: string): string {
  if (typeof body !== "object" || body === null) return "";
  const value: unknown = Reflect.get(body, name);
  return typeof value === "string" ? value : "";
}
