import {
  choiceSetting,
  readSettings,
  switchSetting,
  textSetting,
  type ValuesOf,
  wholeNumberSetting,
} from "@hearth-and-keep/configuration";
import { logLevels } from "@hearth-and-keep/logging";

/** Everything that can be set on `hearth serve`. Its help text and the settings page are made from this. */
export const serveSettings = {
  host: textSetting({
    placeholder: "host",
    fallback: "127.0.0.1",
    mostCharacters: 255,
    meaning: "address to bind",
  }),
  port: wholeNumberSetting({
    placeholder: "port",
    fallback: 11_434,
    least: 0,
    most: 65_535,
    meaning: "port to listen on; 0 takes any free one",
  }),
  allowInsecureBind: switchSetting({
    meaning: "bind an address that other machines reach, although nothing asks them for a key",
  }),
  logLevel: choiceSetting({
    placeholder: "level",
    fallback: "info",
    choices: ["silent", ...logLevels],
    meaning: "how much is logged: silent, error, warn, info or debug",
  }),
} as const;

export type ServeConfig = ValuesOf<typeof serveSettings>;

export function readServeConfig(
  flags: Readonly<Record<string, string | boolean | undefined>>,
  filePath: string | undefined,
): ServeConfig {
  return readSettings(serveSettings, { prefix: "HEARTH", flags, environment: process.env, filePath });
}
