import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { testAccount } from "./registry-account.ts";
import type { RegistryTokenServer } from "./registry-token-server.ts";

export type RegistryAuthentication =
  | { readonly kind: "open" }
  | { readonly kind: "basic" }
  | { readonly kind: "token"; readonly tokens: RegistryTokenServer };

/** Writes the registry's files into the folder and returns the path of its configuration file. */
export async function writeRegistryConfiguration(
  folder: string,
  authentication: RegistryAuthentication,
): Promise<string> {
  const storage = join(folder, "storage");
  await mkdir(storage);
  const configuration = {
    version: "0.1",
    log: { level: "info", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: storage }, delete: { enabled: true } },
    http: { addr: "127.0.0.1:0", secret: "test-secret" },
    ...(authentication.kind === "open" ? {} : { auth: await writeAuthentication(folder, authentication) }),
  };
  const path = join(folder, "configuration.yml");
  // JSON is YAML.
  await writeFile(path, JSON.stringify(configuration));
  return path;
}

async function writeAuthentication(
  folder: string,
  authentication: Exclude<RegistryAuthentication, { kind: "open" }>,
): Promise<Record<string, object>> {
  if (authentication.kind === "basic") {
    const path = join(folder, "passwords");
    await writeFile(path, `${testAccount.name}:${testAccount.passwordHash}\n`);
    return { htpasswd: { realm: "test-registry", path } };
  }
  const rootcertbundle = join(folder, "token-certificate.pem");
  await writeFile(rootcertbundle, authentication.tokens.certificate);
  const { realm, service, issuer } = authentication.tokens;
  return { token: { realm, service, issuer, rootcertbundle } };
}
