/** The keyring of the operating system; a name is a server and an account. */
export type Keyring = {
  /** Undefined when there is no such entry; throws when the keyring is locked or away. */
  get(name: string): Promise<string | undefined>;
  set(name: string, secret: string): Promise<void>;
  delete(name: string): Promise<void>;
};

const service = "Keep command line";
/** A locked keyring asks the person, who may be at another screen. */
const timeoutMilliseconds = 30_000;

const inTime = (): AbortSignal => AbortSignal.timeout(timeoutMilliseconds);

/**
 * On Linux only the Secret Service: the kernel's keyring, to which the library would fall back, forgets its entries at a
 * restart. Undefined when the library was not installed for this platform.
 */
export async function openKeyring(): Promise<Keyring | undefined> {
  const library = await import("@napi-rs/keyring").catch(() => undefined);
  if (library === undefined) return undefined;
  const open = (name: string) =>
    new library.AsyncEntry(service, name, { linux: { store: "secret-service" } });
  return {
    get: async (name) => (await open(name).getPassword(inTime())) ?? undefined,
    set: (name, secret) => open(name).setPassword(secret, inTime()),
    delete: async (name) => void (await open(name).deleteCredential(inTime())),
  };
}
