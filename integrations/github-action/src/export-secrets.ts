import type { Secrets } from "../../../sdks/typescript/src/secrets.ts";
import type { CommandFiles, Inputs } from "./config.ts";
import { appendEntry, maskValue, writeWarning } from "./workflow-commands.ts";

/** Of the runner itself. */
const reservedNames = /^(?:GITHUB|RUNNER|ACTIONS|INPUT|STATE)_|^(?:CI|NODE_OPTIONS)$/iu;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/u;

export type Export = Pick<Inputs, "prefix" | "names"> & { readonly target: "env" | "outputs" };

/** Returns the names of what later steps get. */
export async function exportSecrets(
  secrets: Secrets,
  { prefix, names, target }: Export,
  files: Pick<CommandFiles, "env" | "output">,
): Promise<readonly string[]> {
  const texts = [...secrets].flatMap(([name, secret]) => {
    const isText = secret.type === "text" || secret.type === "json";
    return isText ? [{ name: prefix + name, value: secret.reveal() }] : [];
  });
  // Before anything else is written, also of what is not exported.
  for (const { value } of texts) maskValue(value);
  const exported = texts.filter(
    ({ name, value }) => variableName.test(name) && !reservedNames.test(name) && !value.includes("\0"),
  );
  const exportedNames = exported.map(({ name }) => name);
  const skipped = secrets.names.filter((name) => !exportedNames.includes(prefix + name));
  if (skipped.length > 0) {
    const list = skipped.join(", ");
    const message = `Not exported, because they are no text or their names cannot be used: ${list}`;
    // What was asked for by name must not be left out.
    if (names !== undefined) throw new Error(message);
    writeWarning(message);
  }
  const file = target === "env" ? files.env : files.output;
  for (const { name, value } of exported) await appendEntry(file, name, value);
  return exportedNames;
}
