import { InvalidValueError, type Setting, type SettingDescription } from "./setting.ts";

const secondsOf = { "": 1, s: 1, m: 60, h: 3600, d: 86_400 } as const;
const bytesOf = {
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
} as const;

/** A duration in seconds, e.g. 30s or 5m. A bare number means seconds and -1 means forever, as in Ollama. */
export function durationSetting(
  described: SettingDescription & { readonly defaultValue: number; readonly defaultText: string },
): Setting<number | "forever"> {
  return {
    ...described,
    isSecret: false,
    parse: (text) => {
      if (text === "forever" || text === "-1") return "forever";
      const { amount, unit = "" } = /^(?<amount>\d{1,9})(?<unit>[smhd]?)$/u.exec(text)?.groups ?? {};
      if (amount === undefined) {
        throw new InvalidValueError(`must be a duration, e.g. 30s, 5m or 2h, or forever; got "${text}"`);
      }
      // The pattern matches only these units.
      return Number(amount) * secondsOf[unit as keyof typeof secondsOf];
    },
  };
}

/** A number of bytes, with a unit. */
export function byteSizeSetting(
  described: SettingDescription & { readonly defaultText: string },
): Setting<number | undefined> {
  return {
    ...described,
    defaultValue: undefined,
    isSecret: false,
    parse: (text) => {
      const pattern = /^(?<amount>\d{1,6}(?:\.\d{1,3})?) ?(?<unit>[KMGT]i?B)$/u;
      const { amount, unit } = pattern.exec(text)?.groups ?? {};
      if (amount === undefined)
        throw new InvalidValueError(`must be a size, e.g. 800MB or 12GiB; got "${text}"`);
      // The pattern matches only these units.
      return Math.floor(Number(amount) * bytesOf[unit as keyof typeof bytesOf]);
    },
  };
}
