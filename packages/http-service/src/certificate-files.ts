import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Certificate } from "./create-server.ts";

export type CertificateFiles = { readonly certificatePath: string; readonly keyPath: string };

type WatchOptions = {
  readonly current: Certificate;
  readonly everySeconds?: number;
  readonly onRenewed: (certificate: Certificate) => void;
  /** The files are unreadable or invalid, and the current certificate stays; called once for the same content. */
  readonly onError: (error: unknown) => void;
};

type CertificateWatcher = Disposable & {
  /** Checks the files now. */
  check(): Promise<void>;
};

/** Rejects unless both files are readable PEM and the key belongs to the certificate. */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  const certificate = await readFiles(files);
  assertUsable(certificate);
  return certificate;
}

/**
 * Polls the files, because file watchers miss changes behind symbolic links, renames and network mounts. While only
 * one of the two files has been replaced they do not match; the next check sees both.
 */
export function watchCertificate(files: CertificateFiles, options: WatchOptions): CertificateWatcher {
  let seen = contentOf(options.current);
  let pending = Promise.resolve();
  const checkOnce = async (): Promise<void> => {
    try {
      const certificate = await readFiles(files);
      if (contentOf(certificate) === seen) return;
      seen = contentOf(certificate);
      assertUsable(certificate);
      options.onRenewed(certificate);
    } catch (error) {
      options.onError(error);
    }
  };
  const check = (): Promise<void> => {
    pending = pending.then(checkOnce);
    return pending;
  };
  const timer = setInterval(() => void check(), (options.everySeconds ?? 30) * 1000);
  timer.unref();
  return { check, [Symbol.dispose]: () => clearInterval(timer) };
}

async function readFiles({ certificatePath, keyPath }: CertificateFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(certificatePath, "utf8"), readFile(keyPath, "utf8")]);
  return { cert, key };
}

/** Node accepts an empty file and then fails on every connection. */
function assertUsable({ cert, key }: Certificate): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("The private key does not belong to the certificate");
  }
}

function contentOf({ cert, key }: Certificate): string {
  return `${cert}\n${key}`;
}
