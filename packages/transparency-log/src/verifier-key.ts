import { type Bytes, base64Bytes, base64Text, joinBytes, textBytes } from "./bytes.ts";
import { webSha256 } from "./hashing.ts";

/** Signature types of C2SP signed-note: a log's Ed25519 signature, and a witness's Ed25519 cosignature with its time. */
const typeBytes = { signature: 0x01, cosignature: 0x04 } as const;

export type VerifierKey = {
  readonly name: string;
  /** First four bytes of a hash over name, type and public key, as a number. */
  readonly id: number;
  readonly type: keyof typeof typeBytes;
  /** Ed25519, 32 bytes. */
  readonly publicKey: Bytes;
};

const publicKeyLength = 32;
const maxNameCharacters = 255;

/** Neither empty nor long, and without Unicode spaces, plus signs and control characters. */
export function isKeyName(name: string): boolean {
  if (name.length === 0 || name.length > maxNameCharacters || !name.isWellFormed()) return false;
  return !/[\p{White_Space}\p{Cc}+]/u.test(name);
}

export async function makeVerifierKey(unidentified: Omit<VerifierKey, "id">): Promise<VerifierKey> {
  const { name, type, publicKey } = unidentified;
  if (!isKeyName(name)) throw new RangeError("A key name has no spaces, plus signs or control characters");
  if (publicKey.length !== publicKeyLength) throw new RangeError(`A public key has ${publicKeyLength} bytes`);
  const hash = await webSha256(joinBytes([textBytes(`${name}\n`), keyMaterial({ type, publicKey })]));
  return { name, type, publicKey, id: new DataView(hash.buffer).getUint32(0) };
}

/** `<name>+<key ID in hexadecimal>+<base64 of type and public key>` */
export function formatVerifierKey(key: VerifierKey): string {
  return `${key.name}+${key.id.toString(16).padStart(8, "0")}+${base64Text(keyMaterial(key))}`;
}

/** Undefined unless it is a well-formed key of a known type with the right key ID. */
export async function parseVerifierKey(text: string): Promise<VerifierKey | undefined> {
  const {
    name = "",
    id = "",
    material = "",
  } = /^(?<name>[^+]{1,255})\+(?<id>[0-9a-f]{8})\+(?<material>[A-Za-z0-9+/]{44})$/u.exec(text)?.groups ?? {};
  const [typeByte, ...publicKey] = base64Bytes(material) ?? [];
  const type = typeOf(typeByte);
  if (!isKeyName(name) || type === undefined || publicKey.length !== publicKeyLength) return undefined;
  const key = await makeVerifierKey({ name, type, publicKey: Uint8Array.from(publicKey) });
  return key.id === Number.parseInt(id, 16) ? key : undefined;
}

function typeOf(typeByte: number | undefined): VerifierKey["type"] | undefined {
  if (typeByte === typeBytes.signature) return "signature";
  return typeByte === typeBytes.cosignature ? "cosignature" : undefined;
}

function keyMaterial({ type, publicKey }: Pick<VerifierKey, "type" | "publicKey">): Bytes {
  return joinBytes([Uint8Array.of(typeBytes[type]), publicKey]);
}
