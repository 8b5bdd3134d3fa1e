import { isIP } from "node:net";
import { listSetting, type Setting, textSetting } from "./setting.ts";

export type TransportSettings = {
  readonly tlsCert: Setting<string | undefined>;
  readonly tlsKey: Setting<string | undefined>;
  readonly trustedProxies: Setting<readonly string[]>;
};

/** How requests come in, for every program that listens: by HTTPS, and through proxies that are believed. */
export const transportSettings: TransportSettings = {
  tlsCert: textSetting({
    placeholder: "file",
    fallback: undefined,
    mostCharacters: 4096,
    meaning: "certificate in PEM, to serve HTTPS; read again when it changes and on SIGHUP",
  }),
  tlsKey: textSetting({
    placeholder: "file",
    fallback: undefined,
    mostCharacters: 4096,
    meaning: "private key of the certificate, in PEM",
  }),
  trustedProxies: listSetting({
    placeholder: "addresses",
    mostItems: 64,
    check: (item) => (isAddressRange(item) ? undefined : "is not an address or a range such as 10.0.0.0/8"),
    meaning: "proxies whose X-Forwarded-For says who calls; from all others it is not believed",
  }),
};

/** Whether a text is an address, or a range such as `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const mostBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (bits === undefined || rest.length > 0) return mostBits > 0 && rest.length === 0;
  return /^\d{1,3}$/u.test(bits) && Number(bits) <= mostBits;
}
