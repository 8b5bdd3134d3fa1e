import { environmentName, fileKey, flagName, type Settings } from "./read-settings.ts";

export type DescribedFlag = { readonly key: string; readonly flags: string; readonly description: string };

/** Flags in the syntax of the command-line parser, with their help texts. */
export function describeFlags(declared: Settings): readonly DescribedFlag[] {
  return Object.entries(declared)
    .filter(([, { hasFlag = true }]) => hasFlag)
    .map(([key, setting]) => ({
      key,
      flags: setting.placeholder === undefined ? flagName(key) : `${flagName(key)} <${setting.placeholder}>`,
      description: `${setting.description} (default: ${setting.defaultText})`,
    }));
}

/** The table of the settings page in the documentation. */
export function renderSettingsTable(declared: Settings, prefix: string): string {
  const rows = Object.entries(declared).map(([key, setting]) => {
    const variable = environmentName(prefix, key);
    const variables = setting.isSecret ? `\`${variable}\`, \`${variable}_FILE\`` : `\`${variable}\``;
    const flag = setting.hasFlag === false ? "none" : `\`${flagName(key)}\``;
    return `| ${flag} | ${variables} | \`${fileKey(key)}\` | ${setting.defaultText} | ${setting.description} |`;
  });
  return ["| Flag | Environment | File | Default | Description |", "|---|---|---|---|---|", ...rows, ""].join(
    "\n",
  );
}
