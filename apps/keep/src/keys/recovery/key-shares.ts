import { randomBytes } from "node:crypto";
import { combine, split } from "shamir-secret-sharing";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { RecoveryError } from "./recovery-error.ts";

const maxShares = 16;

/** What each file of a set contains. The fingerprints name the keys without revealing them. */
const shareContent = Type.Object(
  {
    type: Type.Literal("keep-recovery-share"),
    set: Type.String({ pattern: "^[0-9a-f]{32}$" }),
    shares: Type.Integer({ minimum: 2, maximum: maxShares }),
    threshold: Type.Integer({ minimum: 2, maximum: maxShares }),
    fingerprints: Type.Array(Type.String({ pattern: "^[0-9a-f]{16}$" }), { minItems: 1, maxItems: 8 }),
    bytes: Type.String({ pattern: "^[A-Za-z0-9+/]{40,400}={0,2}$" }),
  },
  { additionalProperties: false },
);

export type KeyShare = Type.Static<typeof shareContent>;

export type SharePlan = { readonly shares: number; readonly threshold: number };

/** Splits keys of 32 random bytes, one after the other. */
export async function splitKeys(
  keys: Uint8Array,
  fingerprints: readonly string[],
  { shares, threshold }: SharePlan,
): Promise<readonly KeyShare[]> {
  if (!(threshold >= 2 && threshold <= shares && shares <= maxShares))
    throw new RecoveryError(
      `there can be 2 to ${maxShares} shares with a threshold of at least 2, and at most their number`,
    );
  const set = randomBytes(16).toString("hex");
  const parts = await split(Uint8Array.from(keys), shares, threshold);
  return parts.map((part) => ({
    type: "keep-recovery-share",
    set,
    shares,
    threshold,
    fingerprints: [...fingerprints],
    bytes: Buffer.from(part).toString("base64"),
  }));
}

/** Undefined for the content of a file that is no share. */
export function readShare(content: string): KeyShare | undefined {
  try {
    const value: unknown = JSON.parse(content);
    return Value.Check(shareContent, value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The keys. The caller compares their fingerprints, because shares that were changed combine to other bytes. */
export async function combineShares(found: readonly KeyShare[]): Promise<Buffer> {
  const [first] = found;
  if (first === undefined) throw new RecoveryError("no share was given");
  if (found.some(({ set }) => set !== first.set))
    throw new RecoveryError("the shares are of different sets; use files that were sealed together");
  const parts = new Map(found.map(({ bytes }) => [bytes, Buffer.from(bytes, "base64")]));
  if (parts.size < first.threshold)
    throw new RecoveryError(
      `${parts.size} of ${first.shares} shares ${parts.size === 1 ? "was" : "were"} given, but ${first.threshold} are needed`,
    );
  try {
    return Buffer.from(await combine([...parts.values()].map((part) => Uint8Array.from(part))));
  } catch (error) {
    throw new RecoveryError("the shares do not belong together", { cause: error });
  }
}
