import type { ReactNode } from "react";
import { keyRole } from "../state/key-role.ts";
import { useStore } from "../state/store.ts";

export type AdminOnlyProps = {
  readonly children: ReactNode;
  /** The sentence that a key for inference shows instead. */
  readonly otherwise?: string;
};

/** What requires an admin key. Empty until the role of the key is known. */
export function AdminOnly({ children, otherwise }: AdminOnlyProps) {
  const role = useStore(keyRole);
  if (role === "admin") return children;
  return role === "inference" && otherwise !== undefined ? <p className="muted">{otherwise}</p> : null;
}
