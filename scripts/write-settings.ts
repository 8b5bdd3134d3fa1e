import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { renderSettingsTable, type Settings } from "@hearth-and-keep/configuration";
import { serveSettings as hearthSettings } from "../apps/hearth/src/config.ts";
import { serveSettings as keepSettings } from "../apps/keep/src/config.ts";

const pages: readonly { readonly name: string; readonly prefix: string; readonly settings: Settings }[] = [
  { name: "hearth", prefix: "HEARTH", settings: hearthSettings },
  { name: "keep", prefix: "KEEP", settings: keepSettings },
];

/** The settings pages as they must read now, by path. */
export function renderSettingsPages(): ReadonlyMap<string, string> {
  return new Map(
    pages.map(({ name, prefix, settings }) => [
      resolve(import.meta.dirname, `../docs/settings/${name}.md`),
      [
        `# Settings of \`${name} serve\``,
        "",
        "A flag wins over the environment, the environment over the file named by `--config` (TOML). This page is made",
        "from `config.ts` by `npm run settings`.",
        "",
        renderSettingsTable(settings, prefix),
      ].join("\n"),
    ]),
  );
}

if (import.meta.main) {
  for (const [path, text] of renderSettingsPages()) writeFileSync(path, text);
}
