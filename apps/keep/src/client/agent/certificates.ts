import { generateKeyPair, randomBytes } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { promisify } from "node:util";
import forge from "node-forge";

/** A certificate authority that only the program of one run trusts. Its keys are in memory only. */
export type SessionAuthority = {
  /** PEM. */
  readonly certificate: string;
  contextFor(hostname: string): SecureContext;
};

type Keys = {
  readonly publicKey: forge.pki.rsa.PublicKey;
  readonly privateKey: forge.pki.rsa.PrivateKey;
  readonly pem: string;
};

const validDays = 7;
const maxContexts = 1024;

export async function createSessionAuthority(): Promise<SessionAuthority> {
  const [authorityKeys, serverKeys] = await Promise.all([generateKeys(), generateKeys()]);
  const issuer = [{ name: "commonName", value: "Keep agent session" }];
  const authority = signCertificate(
    { subject: issuer, issuer, publicKey: authorityKeys.publicKey, extensions: authorityExtensions },
    authorityKeys,
  );
  const contexts = new Map<string, SecureContext>();
  const createContext = (hostname: string): SecureContext => {
    const subject = [{ name: "commonName", value: "Keep agent proxy" }];
    const extensions = serverExtensions(hostname);
    const cert = signCertificate(
      { subject, issuer, publicKey: serverKeys.publicKey, extensions },
      authorityKeys,
    );
    return createSecureContext({ cert, key: serverKeys.pem, minVersion: "TLSv1.2" });
  };
  return {
    certificate: authority,
    contextFor(hostname) {
      const context = contexts.get(hostname) ?? createContext(hostname);
      if (contexts.size < maxContexts) contexts.set(hostname, context);
      return context;
    },
  };
}

/** By Node, which takes a fraction of the time; node-forge signs with RSA only. */
async function generateKeys(): Promise<Keys> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const key = forge.pki.privateKeyFromPem(pem);
  return { privateKey: key, publicKey: forge.pki.setRsaPublicKey(key.n, key.e), pem };
}

type CertificateFields = {
  readonly subject: forge.pki.CertificateField[];
  readonly issuer: forge.pki.CertificateField[];
  readonly publicKey: forge.pki.rsa.PublicKey;
  readonly extensions: readonly object[];
};

function signCertificate(fields: CertificateFields, by: Keys): string {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = fields.publicKey;
  // A leading zero bit keeps the number positive.
  certificate.serialNumber = `01${randomBytes(15).toString("hex")}`;
  const day = 24 * 3_600_000;
  // A clock that is behind must not find it in the future.
  certificate.validity.notBefore = new Date(Date.now() - day);
  certificate.validity.notAfter = new Date(Date.now() + validDays * day);
  certificate.setSubject(fields.subject);
  certificate.setIssuer(fields.issuer);
  certificate.setExtensions([...fields.extensions]);
  certificate.sign(by.privateKey, forge.md.sha256.create());
  return forge.pki.certificateToPem(certificate);
}

const authorityExtensions = [
  { name: "basicConstraints", cA: true, pathLenConstraint: 0, critical: true },
  { name: "keyUsage", keyCertSign: true, critical: true },
  { name: "subjectKeyIdentifier" },
];

const dnsName = 2;

function serverExtensions(hostname: string): readonly object[] {
  return [
    { name: "basicConstraints", cA: false, critical: true },
    { name: "keyUsage", digitalSignature: true, keyEncipherment: true, critical: true },
    { name: "extKeyUsage", serverAuth: true },
    { name: "subjectAltName", altNames: [{ type: dnsName, value: hostname }] },
  ];
}
