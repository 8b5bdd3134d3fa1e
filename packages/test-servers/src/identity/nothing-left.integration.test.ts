import { expect, test } from "vitest";
import { startCodeHostingProvider } from "./code-hosting/start-code-hosting-provider.ts";
import { startGeneralIdentityProvider } from "./general/start-general-provider.ts";
import { startHostileIdentityProvider } from "./hostile/start-hostile-provider.ts";

const starters: Readonly<Record<string, () => Promise<AsyncDisposable & { readonly address: string }>>> = {
  async general() {
    const provider = await startGeneralIdentityProvider({ accounts: [] });
    return { address: provider.issuer, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() };
  },
  async hostile() {
    const provider = await startHostileIdentityProvider();
    return { address: provider.issuer, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() };
  },
  async "code hosting"() {
    const provider = await startCodeHostingProvider({ accounts: [] });
    return { address: provider.origin, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() };
  },
};

test.each(Object.entries(starters))(
  "the %s provider responds until its scope ends, then its port is closed",
  async (_, start) => {
    const provider = await start();
    // The connection stays open after the response, and must not keep the server from closing.
    expect((await fetch(`${provider.address}/.well-known/openid-configuration`)).status).toBeLessThan(500);
    await provider[Symbol.asyncDispose]();
    await expect(fetch(provider.address)).rejects.toThrow("fetch failed");
  },
);
