import type { Secrets } from "../../../sdks/typescript/src/secrets.ts";
import { openVault } from "../../../sdks/typescript/src/vault.ts";
import { exchangedToken, gitHubToken } from "../../../sdks/typescript/src/workload.ts";
import { type CommandFiles, type Inputs, readCommandFiles, readIdentity, readInputs } from "./config.ts";
import { exportSecrets } from "./export-secrets.ts";
import { revokeToken } from "./revoke-token.ts";
import { appendEntry, maskValue, writeError, writeLine } from "./workflow-commands.ts";

const limits = { timeoutSeconds: 10, maxRetries: 3 };

async function main(): Promise<void> {
  const inputs = readInputs();
  const files = readCommandFiles();
  const { server, audience } = inputs;
  const token = await exchangedToken(gitHubToken({ audience, ...readIdentity() }), {
    server,
    ...limits,
  }).read();
  maskValue(token);
  // For the step after the job, which also runs when this one is cancelled.
  await appendEntry(files.state, "server", server);
  await appendEntry(files.state, "token", token);
  try {
    await exportValues(inputs, token, files);
    if (inputs.exportsToken) await exportToken(inputs, token, files);
  } finally {
    if (!inputs.exportsToken) await revokeToken({ server, token });
  }
}

async function exportValues(inputs: Inputs, token: string, files: CommandFiles): Promise<void> {
  const { server, vault, folder, names, inherit, target } = inputs;
  if (target === "none") return;
  const opened = openVault({ server, vault, token, ...limits });
  const selection = names === undefined ? { inherit } : { inherit, names };
  const exportAll = (secrets: Secrets) => exportSecrets(secrets, { ...inputs, target }, files);
  const exported = await opened.withSecrets(folder, exportAll, selection);
  writeLine(`Exported ${exported.length} secrets of ${JSON.stringify(folder)}: ${exported.join(", ")}`);
}

async function exportToken(
  { server, vault }: Inputs,
  token: string,
  { env }: Pick<CommandFiles, "env">,
): Promise<void> {
  await appendEntry(env, "KEEP_SERVER", server);
  await appendEntry(env, "KEEP_VAULT", vault);
  await appendEntry(env, "KEEP_TOKEN", token);
}

await main().catch((error: unknown) => {
  writeError(error instanceof Error ? error.message : "The action failed");
  process.exitCode = 1;
});
