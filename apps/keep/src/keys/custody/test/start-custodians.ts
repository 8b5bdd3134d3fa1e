import { startAwsKms } from "./aws-kms.ts";
import { ageFolder, hasSlowCustodians, openBao } from "./config.ts";
import type { Custodian } from "./custodian.ts";
import { startAge, startSoftHsm, startSystemd } from "./installed-custodians.ts";
import { startAgeInKeep, startAgeLibrary, startOpenSsl } from "./local-custodians.ts";
import { startOpenBao } from "./open-bao.ts";

type CustodianStarter = { readonly name: string; readonly start: () => Promise<Custodian> };

/** The smallest one that needs the packages of Keep. */
export const ageLibrary: CustodianStarter = { name: "the library of age", start: startAgeLibrary };

const slowStarters: readonly CustodianStarter[] = [
  ageLibrary,
  { name: "keep key recover", start: startAgeInKeep },
  { name: "SoftHSM", start: startSoftHsm },
  { name: "AWS KMS", start: startAwsKms },
  { name: "systemd-creds", start: startSystemd },
];

/** In CI, one that every machine has. The others take longer to install or to start. */
export const custodianStarters: readonly CustodianStarter[] = [
  { name: "OpenSSL", start: startOpenSsl },
  ...(hasSlowCustodians ? slowStarters : []),
  ...withProgram("age", ageFolder, startAge),
  ...withProgram("OpenBao", openBao, startOpenBao),
];

/** Variables for custodians whose programs are not in a package of Debian or PyPI, and are not set. */
export const missingPrograms: readonly string[] = Object.entries({ AGE: ageFolder, OPENBAO: openBao })
  .filter(([, path]) => path === undefined)
  .map(([name]) => name);

/** None without the program. */
function withProgram(
  name: string,
  program: string | undefined,
  start: (program: string) => Promise<Custodian>,
): readonly CustodianStarter[] {
  return program === undefined ? [] : [{ name, start: () => start(program) }];
}
