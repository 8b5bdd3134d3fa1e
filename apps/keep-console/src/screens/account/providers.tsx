import type { Account, Session } from "@hearth-and-keep/vault-contract";
import { CodeHostingIcon, GeneralProviderIcon } from "../../design/icons.tsx";

export type Identity = Account["identities"][number];
export type ProviderKind = Identity["provider"];

/** The configured name, or a generic one for a provider that is no longer configured. */
export function providerName({ providers }: Session, kind: ProviderKind): string {
  const fallback = { "code-hosting": "Code hosting", general: "General provider" } as const;
  return providers.find((provider) => provider.kind === kind)?.name ?? fallback[kind];
}

export function ProviderIcon({ kind }: { readonly kind: ProviderKind }) {
  return kind === "code-hosting" ? <CodeHostingIcon /> : <GeneralProviderIcon />;
}

/** The login or email address at the provider. */
export function identityName({ login, email }: Pick<Identity, "login" | "email">): string {
  return login ?? email ?? "Unnamed";
}
