/**
 * @module
 * Where tests pull models from and push them to: a real OCI registry (Debian's docker-registry), open or behind
 * a password or bearer tokens; the folder "hub" holds a server that behaves like the Hugging Face Hub.
 * Every registry listens on loopback, keeps its files in a temporary folder and leaves nothing behind.
 * Imported through the package's index by tests, benchmarks and `show`.
 */
import { findProgram } from "../find-program.ts";
import { startProcess } from "../owned-process.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { testAccount } from "./registry-account.ts";
import { type RegistryGuard, writeRegistryConfiguration } from "./registry-configuration.ts";
import { startRegistryTokenServer } from "./registry-token-server.ts";

export type ModelRegistryOptions = {
  /**
   * "basic": every request needs the account's password. "token": the 401 answer names a token server, which
   * lets anybody pull and the account push and delete.
   */
  readonly authentication?: "open" | "basic" | "token";
};

export type ModelRegistry = AsyncDisposable & {
  readonly url: string;
  readonly account: { readonly name: string; readonly password: string };
  /** Holds the registry's files, for tests that damage them. */
  readonly folder: string;
  output(): string;
};

export async function startModelRegistry(options: ModelRegistryOptions = {}): Promise<ModelRegistry> {
  const command = await findProgram({
    knownPaths: ["/usr/bin/docker-registry"],
    names: ["docker-registry"],
    debianPackage: "docker-registry",
  });
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await makeTemporaryFolder("model-registry"));
  const guard = await startGuard(options.authentication ?? "open", parts);
  const configuration = await writeRegistryConfiguration(folder.path, guard);
  const program = parts.use(
    await startProcess({
      command,
      arguments: ["serve", configuration],
      isReady: (output) => listeningPort.test(output),
    }),
  );
  const owned = parts.move();
  return {
    url: `http://127.0.0.1:${listeningPort.exec(program.output())?.[1]}`,
    account: testAccount,
    folder: folder.path,
    output: () => program.output(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

// The registry is told port 0 and says which one it got, so no other process can take it in between.
const listeningPort = /listening on 127\.0\.0\.1:(\d+)/;

async function startGuard(
  kind: "open" | "basic" | "token",
  parts: AsyncDisposableStack,
): Promise<RegistryGuard> {
  return kind === "token" ? { kind, tokens: parts.use(await startRegistryTokenServer()) } : { kind };
}
