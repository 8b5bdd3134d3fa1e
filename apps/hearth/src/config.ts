import {
  readSettings,
  serverSettings,
  switchSetting,
  textSetting,
  type ValuesOf,
} from "@hearth-and-keep/configuration";

/** Everything that can be set on `hearth serve`. Its help text and the settings page are made from this. */
export const serveSettings = {
  ...serverSettings(11_434),
  models: textSetting({
    placeholder: "folder",
    fallback: "~/.hearth/models",
    mostCharacters: 4096,
    meaning: "where models are kept; those of an Ollama on this machine are served too, and never changed",
  }),
  allowInsecureBind: switchSetting({
    meaning: "bind an address that other machines reach, although nothing asks them for a key",
  }),
} as const;

export type ServeConfig = ValuesOf<typeof serveSettings>;

export function readServeConfig(
  flags: Readonly<Record<string, string | boolean | undefined>>,
  filePath: string | undefined,
): ServeConfig {
  return readSettings(serveSettings, { prefix: "HEARTH", flags, environment: process.env, filePath });
}
