/**
 * @module
 * Model registries for tests: a real OCI registry (Debian's docker-registry), open or protected by a password or bearer
 * tokens; the folder "hub" contains a server that behaves like the Hugging Face Hub.
 * Every registry listens on loopback, stores its files in a temporary folder and leaves nothing behind.
 * Imported through the package's index by tests, benchmarks and claims.
 */
import { findProgram } from "../find-program.ts";
import { startProcess } from "../owned-process.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { testAccount } from "./registry-account.ts";
import { type RegistryAuthentication, writeRegistryConfiguration } from "./registry-configuration.ts";
import { startRegistryTokenServer } from "./registry-token-server.ts";

export type ModelRegistryOptions = {
  /**
   * "basic": every request needs the account's password. "token": the 401 response names a token server, which
   * lets anyone pull and the account push and delete.
   */
  readonly authentication?: "open" | "basic" | "token";
};

export type ModelRegistry = AsyncDisposable & {
  readonly url: string;
  readonly account: { readonly name: string; readonly password: string };
  /** The folder of the registry's files, for tests that corrupt them. */
  readonly folder: string;
  output(): string;
};

export async function startModelRegistry(options: ModelRegistryOptions = {}): Promise<ModelRegistry> {
  const command = await findProgram({
    knownPaths: ["/usr/bin/docker-registry"],
    names: ["docker-registry"],
    debianPackage: "docker-registry",
  });
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(await makeTemporaryFolder("model-registry"));
  const authentication = await startAuthentication(options.authentication ?? "open", resources);
  const configuration = await writeRegistryConfiguration(folder.path, authentication);
  const program = resources.use(
    await startProcess({
      command,
      arguments: ["serve", configuration],
      isReady: (output) => listeningPort.test(output),
    }),
  );
  const owned = resources.move();
  return {
    url: `http://127.0.0.1:${listeningPort.exec(program.output())?.[1]}`,
    account: testAccount,
    folder: folder.path,
    output: () => program.output(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

// The registry listens on port 0 and prints its actual port, so no other process can take it in between.
const listeningPort = /listening on 127\.0\.0\.1:(\d+)/;

async function startAuthentication(
  kind: "open" | "basic" | "token",
  resources: AsyncDisposableStack,
): Promise<RegistryAuthentication> {
  return kind === "token" ? { kind, tokens: resources.use(await startRegistryTokenServer()) } : { kind };
}
