import { isIP } from "node:net";
import { listSetting, type Setting, textSetting } from "./setting.ts";

export type TransportSettings = {
  readonly tlsCert: Setting<string | undefined>;
  readonly tlsKey: Setting<string | undefined>;
  readonly trustedProxies: Setting<readonly string[]>;
};

/** HTTPS and proxy settings of every server. */
export const transportSettings: TransportSettings = {
  tlsCert: textSetting({
    placeholder: "file",
    defaultValue: undefined,
    maxLength: 4096,
    description: "PEM certificate; enables HTTPS, and is reloaded when it changes and on SIGHUP",
  }),
  tlsKey: textSetting({
    placeholder: "file",
    defaultValue: undefined,
    maxLength: 4096,
    description: "PEM private key of the certificate",
  }),
  trustedProxies: listSetting({
    placeholder: "addresses",
    maxItems: 64,
    check: (item) => (isAddressRange(item) ? undefined : "is not an IP address or a range, e.g. 10.0.0.0/8"),
    description: "proxies whose X-Forwarded-For header is trusted, comma-separated",
  }),
};

/** Whether a string is an IP address or a range like `10.0.0.0/8`. */
export function isAddressRange(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (bits === undefined || rest.length > 0) return maxBits > 0 && rest.length === 0;
  return /^\d{1,3}$/u.test(bits) && Number(bits) <= maxBits;
}
