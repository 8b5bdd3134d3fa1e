import type { Account, Session } from "@hearth-and-keep/vault-contract";
import { CodeHostingIcon, GeneralProviderIcon } from "../../design/icons.tsx";

export type Identity = Account["identities"][number];
export type ProviderKind = Identity["provider"];

/** As people know it; one that is not set up any more has no name of its own. */
export function providerName({ providers }: Session, kind: ProviderKind): string {
  const words = { "code-hosting": "Code hosting", general: "General provider" } as const;
  return providers.find((provider) => provider.kind === kind)?.name ?? words[kind];
}

export function ProviderMark({ kind }: { readonly kind: ProviderKind }) {
  return kind === "code-hosting" ? <CodeHostingIcon /> : <GeneralProviderIcon />;
}

/** Who somebody is there, in the words of the provider. */
export function nameThere({ login, email }: Pick<Identity, "login" | "email">): string {
  return login ?? email ?? "No name is known";
}
