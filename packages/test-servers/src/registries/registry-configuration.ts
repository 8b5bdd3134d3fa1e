import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testAccount } from "./registry-account.ts";
import type { RegistryTokenServer } from "./registry-token-server.ts";

export type RegistryGuard =
  | { readonly kind: "open" }
  | { readonly kind: "basic" }
  | { readonly kind: "token"; readonly tokens: RegistryTokenServer };

/** Writes all the registry reads into the folder and gives the path of its configuration file. */
export async function writeRegistryConfiguration(folder: string, guard: RegistryGuard): Promise<string> {
  const storage = join(folder, "storage");
  await mkdir(storage);
  const configuration = {
    version: "0.1",
    log: { level: "info", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: storage }, delete: { enabled: true } },
    http: { addr: "127.0.0.1:0", secret: "test-secret" },
    ...(guard.kind === "open" ? {} : { auth: await writeGuard(folder, guard) }),
  };
  const path = join(folder, "configuration.yml");
  // JSON is YAML.
  await writeFile(path, JSON.stringify(configuration));
  return path;
}

async function writeGuard(
  folder: string,
  guard: Exclude<RegistryGuard, { kind: "open" }>,
): Promise<Record<string, object>> {
  if (guard.kind === "basic") {
    const path = join(folder, "passwords");
    await writeFile(path, `${testAccount.name}:${testAccount.passwordHash}\n`);
    return { htpasswd: { realm: "test-registry", path } };
  }
  const rootcertbundle = join(folder, "token-certificate.pem");
  await writeFile(rootcertbundle, guard.tokens.certificate);
  const { realm, service, issuer } = guard.tokens;
  return { token: { realm, service, issuer, rootcertbundle } };
}
