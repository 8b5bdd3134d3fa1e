import { type LogLevel, logLevels } from "@hearth-and-keep/logging";
import { choiceSetting, type Setting, textSetting, wholeNumberSetting } from "./setting.ts";

export type ServerSettings = {
  readonly host: Setting<string>;
  readonly port: Setting<number>;
  readonly logLevel: Setting<LogLevel | "silent">;
};

/** What every program that listens lets a person set; only the usual port differs. */
export function serverSettings(usualPort: number): ServerSettings {
  return {
    host: textSetting({
      placeholder: "host",
      fallback: "127.0.0.1",
      mostCharacters: 255,
      meaning: "address to bind",
    }),
    port: wholeNumberSetting({
      placeholder: "port",
      fallback: usualPort,
      least: 0,
      most: 65_535,
      meaning: "port to listen on; 0 takes any free one",
    }),
    logLevel: choiceSetting({
      placeholder: "level",
      fallback: "info",
      choices: ["silent", ...logLevels],
      meaning: "how much is logged: silent, error, warn, info or debug",
    }),
  };
}
