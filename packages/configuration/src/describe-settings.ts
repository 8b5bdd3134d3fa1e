import { environmentName, fileKey, flagName, type Settings } from "./read-settings.ts";

export type DescribedFlag = { readonly key: string; readonly flags: string; readonly meaning: string };

/** The flags of a command, ready for its parser and its help text. */
export function describeFlags(declared: Settings): readonly DescribedFlag[] {
  return Object.entries(declared).map(([key, setting]) => ({
    key,
    flags: setting.placeholder === undefined ? flagName(key) : `${flagName(key)} <${setting.placeholder}>`,
    meaning: `${setting.meaning} (default: ${setting.fallbackText})`,
  }));
}

/** The settings page of the documentation, one table row per setting. */
export function renderSettingsTable(declared: Settings, prefix: string): string {
  const rows = Object.entries(declared).map(([key, setting]) => {
    const variable = environmentName(prefix, key);
    const variables = setting.isSecret ? `\`${variable}\`, \`${variable}_FILE\`` : `\`${variable}\``;
    return `| \`${flagName(key)}\` | ${variables} | \`${fileKey(key)}\` | ${setting.fallbackText} | ${setting.meaning} |`;
  });
  return ["| Flag | Environment | File | Default | Meaning |", "|---|---|---|---|---|", ...rows, ""].join(
    "\n",
  );
}
