import type { TestKeep, TestRequest } from "../../test/start-test-keep.ts";
import { type Attacked, asSession, values } from "./attacked-keep.ts";

/** A read, and the values by path that may be in its response. */
type Probe = {
  readonly name: string;
  readonly path: string;
  readonly request: TestRequest;
  readonly expected: Readonly<Record<string, string>>;
};

const by = ({ text: token }: { readonly text: string }) => ({ token });
const key = (vault: string): string => `vaults/${vault}/values/by-path/app/KEY`;

function probesOf({ victim, attacker, forged }: Attacked): readonly Probe[] {
  const own = values.victim;
  const probe = (
    name: string,
    path: string,
    [request, expected = {}]: readonly [TestRequest, Probe["expected"]?],
  ) => ({
    name,
    path,
    request,
    expected,
  });
  const none = [
    ["limited token", victim.limited],
    ["token of another address", victim.bound],
    ["expired token", victim.expired],
    ["revoked token", victim.revoked],
    ["rotated value", victim.rotated],
    ["attacker's token", attacker.token],
    ["forged token", { text: forged.token }],
  ] as const;
  return [
    probe("owner's token", key(victim.vault), [by(victim.token), own]),
    probe("owner's session", key(victim.vault), [asSession(victim.session.text), own]),
    probe("other secret", `vaults/${victim.vault}/values/by-path/app/OTHER`, [by(victim.token), own]),
    probe("secret by id", `vaults/${victim.vault}/secrets/${victim.secret}/value`, [by(victim.token), own]),
    probe("earlier version", `vaults/${victim.vault}/secrets/${victim.secret}/value?version=2`, [
      by(victim.token),
      values.earlier,
    ]),
    probe("all values", `vaults/${victim.vault}/values?recursive=true`, [by(victim.token), own]),
    probe("deleted secret", `vaults/${victim.vault}/secrets/${victim.deletedSecret}/value`, [
      by(victim.token),
    ]),
    probe("project", key(victim.project), [by(victim.token), values.project]),
    probe("deleted vault", key(victim.deletedVault), [by(victim.token)]),
    probe("owner in the attacker's vault", key(attacker.vault), [by(victim.token)]),
    probe("attacker's own secret", key(attacker.vault), [by(attacker.token), values.attacker]),
    probe("attacker's own values", `vaults/${attacker.vault}/values?recursive=true`, [
      by(attacker.token),
      values.attacker,
    ]),
    probe("attacker's session", key(victim.vault), [asSession(attacker.session.text)]),
    probe("ended session", key(victim.vault), [asSession(victim.ended.text)]),
    probe("forged session", key(victim.vault), [asSession(forged.session)]),
    probe("attacker in the project", key(victim.project), [by(attacker.token)]),
    ...none.map(([name, credential]) => probe(name, key(victim.vault), [by(credential)])),
  ];
}

export type ProbeResult = {
  /** Values that must not have been returned, each with the probe that returned it. */
  readonly leaks: readonly string[];
  /** Probes that returned what was stored last. */
  readonly read: ReadonlySet<string>;
};

export async function probeValues(
  keep: Pick<TestKeep, "request">,
  attacked: Attacked,
  isSelected: (name: string) => boolean = () => true,
): Promise<ProbeResult> {
  const leaks: string[] = [];
  const read = new Set<string>();
  const selected = probesOf(attacked).filter(({ name }) => isSelected(name));
  await Promise.all(
    selected.map(async ({ name, path, request, expected }) => {
      const response = await keep.request(`/api/secrets/${path}`, request);
      const returned = valuesIn(await response.json().catch(() => null));
      for (const [at, value] of returned) {
        if (expected[at] === value) read.add(name);
        else leaks.push(`${name}: ${at} is "${value}"`);
      }
    }),
  );
  return { leaks, read };
}

/** Every value in a response, with its path. */
function valuesIn(body: unknown): readonly (readonly [path: string, value: string])[] {
  if (typeof body !== "object" || body === null) return [];
  const nested = Object.values(body).flatMap(valuesIn);
  const isValue = "path" in body && "value" in body;
  return isValue ? [[String(body.path), String(body.value)], ...nested] : nested;
}

/** What an untouched Keep returns. */
export const readByOwners: readonly string[] = [
  "owner's token",
  "owner's session",
  "other secret",
  "secret by id",
  "earlier version",
  "all values",
  "project",
  "attacker's own secret",
  "attacker's own values",
];
