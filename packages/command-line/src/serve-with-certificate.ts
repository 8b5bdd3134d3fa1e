import { SettingsError } from "@hearth-and-keep/configuration";
import {
  type Certificate,
  type CertificateFiles,
  type HttpService,
  keepCertificateFresh,
  readCertificate,
} from "@hearth-and-keep/http-service";

/** What a person set to have HTTPS: both or none. */
export type CertificateSettings = {
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
};

/** A certificate, and the files that a newer one will come from. */
export type ServedCertificate = { readonly certificate: Certificate; readonly files: CertificateFiles };

type RenewalLogger = {
  readonly info: (phrase: string) => void;
  readonly warn: (phrase: string) => void;
};

/** Undefined for plain HTTP; throws what the person who started us must read when the files cannot be used. */
export async function readServedCertificate(
  settings: CertificateSettings,
): Promise<ServedCertificate | undefined> {
  const files = certificateFiles(settings);
  return files === undefined ? undefined : { files, certificate: await readUsable(files) };
}

/** Looks for a newer certificate again and again, and at once on SIGHUP, until it is disposed of. */
export function renewAsNeeded(
  server: Pick<HttpService, "renewCertificate">,
  { files, certificate: current }: ServedCertificate,
  logger: RenewalLogger,
): Disposable {
  const fresh = keepCertificateFresh(files, {
    current,
    onRenewed: (certificate) => {
      server.renewCertificate(certificate);
      logger.info("Certificate renewed");
    },
    onProblem: () => logger.warn("Certificate not renewed: its files cannot be used"),
  });
  const look = (): void => void fresh.look();
  process.on("SIGHUP", look);
  return {
    [Symbol.dispose]: () => {
      process.off("SIGHUP", look);
      fresh[Symbol.dispose]();
    },
  };
}

function certificateFiles({ tlsCert, tlsKey }: CertificateSettings): CertificateFiles | undefined {
  if (tlsCert !== undefined && tlsKey !== undefined) return { certificatePath: tlsCert, keyPath: tlsKey };
  if (tlsCert === tlsKey) return undefined;
  const [given, missing] = tlsCert === undefined ? ["--tls-key", "--tls-cert"] : ["--tls-cert", "--tls-key"];
  throw new SettingsError([`${given} needs ${missing} beside it`]);
}

async function readUsable(files: CertificateFiles): Promise<Certificate> {
  try {
    return await readCertificate(files);
  } catch (problem) {
    const isMissing = problem instanceof Error && "syscall" in problem;
    const cause = isMissing
      ? "one of the files cannot be read"
      : "they are not PEM or do not belong together";
    throw new SettingsError([`--tls-cert and --tls-key cannot be used: ${cause}`]);
  }
}
