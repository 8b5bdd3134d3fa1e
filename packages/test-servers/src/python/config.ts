import { partEnvironment } from "../config.ts";

/** What pip needs from our environment to reach a package registry through a mirror or a proxy. */
export function downloadEnvironment(): Record<string, string> {
  const passed = /^(PIP_.+|https?_proxy|no_proxy|all_proxy|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE)$/i;
  const found = Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && passed.test(name) ? [[name, value] as const] : [],
  );
  return { ...partEnvironment(), ...Object.fromEntries(found) };
}
