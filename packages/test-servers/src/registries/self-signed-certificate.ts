import { type KeyObject, randomBytes, sign } from "node:crypto";

const validYears = 10;

/** A PEM certificate for a P-256 public key, signed with its own private key. */
export function makeSelfSignedCertificate(commonName: string, keys: KeyPair): string {
  const algorithm = sequence(identifier(ecdsaWithSha256));
  const name = sequence(
    element(0x31, sequence(identifier(commonNameAttribute), element(0x0c, Buffer.from(commonName)))),
  );
  const now = new Date();
  const end = new Date(now);
  end.setUTCFullYear(end.getUTCFullYear() + validYears);
  const toSign = sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    // A leading zero bit keeps the serial number positive.
    element(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(8)])),
    algorithm,
    name,
    sequence(time(now), time(end)),
    name,
    keys.publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = sign("sha256", toSign, keys.privateKey);
  const certificate = sequence(
    toSign,
    algorithm,
    element(0x03, Buffer.concat([Buffer.from([0]), signature])),
  );
  const lines = certificate.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

export type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };

// Object identifiers 1.2.840.10045.4.3.2 and 2.5.4.3 in DER.
const ecdsaWithSha256 = Buffer.from("2a8648ce3d040302", "hex");
const commonNameAttribute = Buffer.from("550403", "hex");

function sequence(...elements: readonly Buffer[]): Buffer {
  return element(0x30, ...elements);
}

function identifier(encoded: Buffer): Buffer {
  return element(0x06, encoded);
}

/** GeneralizedTime, which has four-digit years. */
function time(moment: Date): Buffer {
  return element(0x18, Buffer.from(`${moment.toISOString().replace(/\D/g, "").slice(0, 14)}Z`));
}

function element(tag: number, ...elements: readonly Buffer[]): Buffer {
  const content = Buffer.concat(elements);
  return Buffer.concat([Buffer.from([tag]), encodeLength(content.length), content]);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  return length < 0x100 ? Buffer.from([0x81, length]) : Buffer.from([0x82, length >> 8, length & 0xff]);
}
