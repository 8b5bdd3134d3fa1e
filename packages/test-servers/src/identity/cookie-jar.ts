export type CookieJar = {
  store(setCookies: readonly string[]): void;
  /** The Cookie header that a browser would send to this URL. */
  headerFor(url: URL): string;
};

type Cookie = {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly isExpired: boolean;
};

/** Stores the cookies of one origin by name and path, which is enough for one provider's sign-in. */
export function createCookieJar(): CookieJar {
  const cookies = new Map<string, Cookie>();
  return {
    store(setCookies) {
      for (const cookie of setCookies.map(parseCookie)) cookies.set(`${cookie.name} ${cookie.path}`, cookie);
    },
    headerFor(url) {
      return [...cookies.values()]
        .filter((cookie) => !cookie.isExpired && url.pathname.startsWith(cookie.path))
        .map((cookie) => `${cookie.name}=${cookie.value}`)
        .join("; ");
    },
  };
}

function parseCookie(line: string): Cookie {
  const [pair = "", ...attributes] = line.split(";").map((segment) => segment.trim());
  const separator = pair.indexOf("=");
  const expires = readAttribute(attributes, "expires");
  return {
    name: pair.slice(0, separator),
    value: pair.slice(separator + 1),
    path: readAttribute(attributes, "path") ?? "/",
    isExpired: expires !== undefined && Date.parse(expires) <= Date.now(),
  };
}

function readAttribute(attributes: readonly string[], name: string): string | undefined {
  return attributes.find((segment) => segment.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
}
