import { vaultPath } from "../secrets/api-paths.ts";

export function changesPath(vaultId: string): string {
  return `${vaultPath(vaultId)}/changes`;
}

export function changePath(vaultId: string, changeId: string): string {
  return `${changesPath(vaultId)}/${encodeURIComponent(changeId)}`;
}
