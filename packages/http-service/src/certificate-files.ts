import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Certificate } from "./service.ts";

export type CertificateFiles = { readonly certificatePath: string; readonly keyPath: string };

type FreshCertificateParts = {
  /** The certificate in use. */
  readonly current: Certificate;
  readonly everySeconds?: number;
  readonly onRenewed: (certificate: Certificate) => void;
  /** The files hold something that cannot be used; the certificate in use stays. Told once for the same content. */
  readonly onProblem: (problem: unknown) => void;
};

type FreshCertificate = Disposable & {
  /** Looks at the files without waiting for the next turn. */
  look(): Promise<void>;
};

/** Rejects unless both files can be read, are PEM, and belong together. */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  const certificate = await readFiles(files);
  refuseUnusable(certificate);
  return certificate;
}

/**
 * Looks at the files again and again, because links, renames and network folders hide changes from watchers.
 * Between the writing of one file and of the other they do not belong together; that passes at the next look.
 */
export function keepCertificateFresh(
  files: CertificateFiles,
  parts: FreshCertificateParts,
): FreshCertificate {
  let seen = fingerprintOf(parts.current);
  let looking = Promise.resolve();
  const lookOnce = async (): Promise<void> => {
    try {
      const certificate = await readFiles(files);
      if (fingerprintOf(certificate) === seen) return;
      seen = fingerprintOf(certificate);
      refuseUnusable(certificate);
      parts.onRenewed(certificate);
    } catch (problem) {
      parts.onProblem(problem);
    }
  };
  const look = (): Promise<void> => {
    looking = looking.then(lookOnce);
    return looking;
  };
  const timer = setInterval(() => void look(), (parts.everySeconds ?? 30) * 1000);
  timer.unref();
  return { look, [Symbol.dispose]: () => clearInterval(timer) };
}

async function readFiles({ certificatePath, keyPath }: CertificateFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(certificatePath, "utf8"), readFile(keyPath, "utf8")]);
  return { cert, key };
}

/** A server would take an empty file, and fail at each connection. */
function refuseUnusable({ cert, key }: Certificate): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw new Error("The key is not the certificate's");
  }
}

function fingerprintOf({ cert, key }: Certificate): string {
  return `${cert}\n${key}`;
}
