import { SettingsError } from "@hearth-and-keep/configuration";
import {
  type Certificate,
  type CertificateFiles,
  type HttpService,
  readCertificate,
  watchCertificate,
} from "@hearth-and-keep/http-service";

/** Settings for HTTPS: both or neither. */
export type CertificateSettings = {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
};

/** A certificate and the files it is renewed from. */
export type ServedCertificate = { readonly certificate: Certificate; readonly files: CertificateFiles };

type RenewalLogger = {
  readonly info: (message: string) => void;
  readonly warn: (message: string) => void;
};

/** Undefined for plain HTTP. Throws a SettingsError when the files cannot be used. */
export async function readServedCertificate(
  settings: CertificateSettings,
): Promise<ServedCertificate | undefined> {
  const files = certificateFiles(settings);
  return files === undefined ? undefined : { files, certificate: await readUsable(files) };
}

/** Watches the files for a renewed certificate, and checks them on SIGHUP, until disposed. */
export function watchServedCertificate(
  server: Pick<HttpService, "renewCertificate">,
  { files, certificate: current }: ServedCertificate,
  logger: RenewalLogger,
): Disposable {
  const watcher = watchCertificate(files, {
    current,
    onRenewed: (certificate) => {
      server.renewCertificate(certificate);
      logger.info("Certificate renewed");
    },
    onError: () => logger.warn("Certificate not renewed: its files are unreadable or invalid"),
  });
  const check = (): void => void watcher.check();
  process.on("SIGHUP", check);
  return {
    [Symbol.dispose]: () => {
      process.off("SIGHUP", check);
      watcher[Symbol.dispose]();
    },
  };
}

function certificateFiles({ tlsCert, tlsKey }: CertificateSettings): CertificateFiles | undefined {
  if (tlsCert !== undefined && tlsKey !== undefined) return { certificatePath: tlsCert, keyPath: tlsKey };
  if (tlsCert === tlsKey) return undefined;
  const [given, missing] = tlsCert === undefined ? ["--tls-key", "--tls-cert"] : ["--tls-cert", "--tls-key"];
  throw new SettingsError([`${given} requires ${missing}`]);
}

async function readUsable(files: CertificateFiles): Promise<Certificate> {
  try {
    return await readCertificate(files);
  } catch (error) {
    const isFileError = error instanceof Error && "syscall" in error;
    const cause = isFileError
      ? "one of the files cannot be read"
      : "they are not PEM, or the key does not belong to the certificate";
    throw new SettingsError([`--tls-cert and --tls-key cannot be used: ${cause}`]);
  }
}
