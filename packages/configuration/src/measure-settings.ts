import { type Described, Mistake, type Setting } from "./setting.ts";

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

/** A length of time in seconds; a bare number is one of seconds, and -1 is forever, as people know it from elsewhere. */
export function durationSetting(
  described: Described & { readonly fallback: number; readonly fallbackText: string },
): Setting<number | "forever"> {
  return {
    ...described,
    isSecret: false,
    parse: (text) => {
      if (text === "forever" || text === "-1") return "forever";
      const { amount, unit = "" } = /^(?<amount>\d{1,9})(?<unit>[smhd]?)$/u.exec(text)?.groups ?? {};
      if (amount === undefined) {
        throw new Mistake(`must be a time such as 30s, 5m or 2h, or forever, not "${text}"`);
      }
      // The pattern allows these units only.
      return Number(amount) * secondsOf[unit as keyof typeof secondsOf];
    },
  };
}

/** A number of bytes, written with its unit. */
export function byteSizeSetting(
  described: Described & { readonly fallbackText: string },
): Setting<number | undefined> {
  return {
    ...described,
    fallback: undefined,
    isSecret: false,
    parse: (text) => {
      const pattern = /^(?<amount>\d{1,6}(?:\.\d{1,3})?) ?(?<unit>[KMGT]i?B)$/u;
      const { amount, unit } = pattern.exec(text)?.groups ?? {};
      if (amount === undefined) throw new Mistake(`must be a size such as 800MB or 12GiB, not "${text}"`);
      // The pattern allows these units only.
      return Math.floor(Number(amount) * bytesOf[unit as keyof typeof bytesOf]);
    },
  };
}
