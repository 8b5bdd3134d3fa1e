import { type LogLevel, logLevels } from "@hearth-and-keep/logging";
import { choiceSetting, integerSetting, type Setting, textSetting } from "./setting.ts";

export type ServerSettings = {
  readonly host: Setting<string>;
  readonly port: Setting<number>;
  readonly logLevel: Setting<LogLevel | "silent">;
};

/** Settings of every server; only the default port differs. */
export function serverSettings(defaultPort: number): ServerSettings {
  return {
    host: textSetting({
      placeholder: "host",
      defaultValue: "127.0.0.1",
      maxLength: 255,
      description: "address to listen on",
    }),
    port: integerSetting({
      placeholder: "port",
      defaultValue: defaultPort,
      min: 0,
      max: 65_535,
      description: "port to listen on; 0 selects a free port",
    }),
    logLevel: choiceSetting({
      placeholder: "level",
      defaultValue: "info",
      choices: ["silent", ...logLevels],
      description: "log level: silent, error, warn, info or debug",
    }),
  };
}
