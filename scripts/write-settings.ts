import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { renderSettingsTable, type Settings } from "@hearth-and-keep/configuration";
import { serveSettings as hearthSettings } from "../apps/hearth/src/config.ts";
import { serveSettings as keepSettings } from "../apps/keep/src/config.ts";

const pages: readonly { readonly name: string; readonly prefix: string; readonly settings: Settings }[] = [
  { name: "hearth", prefix: "HEARTH", settings: hearthSettings },
  { name: "keep", prefix: "KEEP", settings: keepSettings },
];

const secretsNote =
  "Secrets have no flag, because other users of the machine can see a command line. Put them into a file that only the service can read, and set the variable that ends in `_FILE` to its path.";

/** The current content of the settings pages, by path. */
export function renderSettingsPages(): ReadonlyMap<string, string> {
  return new Map(
    pages.map(({ name, prefix, settings }) => [
      resolve(import.meta.dirname, `../docs/${name}/settings.md`),
      [
        `# Settings of \`${name} serve\``,
        "",
        "You can set each of these by a flag, an environment variable, or a key in the TOML file that you pass with",
        "`--config`. Flags override the environment, which overrides the file. This page is generated from `config.ts`",
        "by `npm run settings`.",
        "",
        ...(Object.values(settings).some(({ hasFlag }) => hasFlag === false) ? [secretsNote, ""] : []),
        renderSettingsTable(settings, prefix),
      ].join("\n"),
    ]),
  );
}

if (import.meta.main) {
  for (const [path, text] of renderSettingsPages()) writeFileSync(path, text);
}
