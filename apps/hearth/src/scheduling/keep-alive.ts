/** How many seconds a model stays loaded after its last use; a negative number means forever. */
export type KeepAlive = number | "forever";

/** The maximum delay of a Node timer; a longer one fires at once. */
const maxTimerMilliseconds = 2 ** 31 - 1;

function isForever(keepAlive: KeepAlive): boolean {
  return keepAlive === "forever" || keepAlive < 0;
}

/** On the same clock as `since`, in milliseconds. */
function computeExpiry(keepAlive: KeepAlive, since: number): number {
  return isForever(keepAlive) ? Number.POSITIVE_INFINITY : since + Number(keepAlive) * 1000;
}

/** Converts an expiry from the monotonic clock to a date. */
export function toExpiryDate(expiresAt: number): Date | "never" {
  return expiresAt === Number.POSITIVE_INFINITY
    ? "never"
    : new Date(Date.now() + Math.max(0, expiresAt - performance.now()));
}

export type LoadUser = {
  readonly key: string;
  keepAlive: KeepAlive;
  usedAt: number;
  leases: number;
};

/**
 * The models that use one load, because they have the same weights. Each has its own keep-alive, and the load stays for
 * the longest of them. A model that also embeds counts as two.
 */
export class LoadUsers {
  readonly #users = new Map<string, LoadUser>();
  readonly #defaultKeepAlive: KeepAlive;

  constructor(defaultKeepAlive: KeepAlive) {
    this.#defaultKeepAlive = defaultKeepAlive;
  }

  get keys(): readonly string[] {
    return [...new Set(this.#users.values().map(({ key }) => key))];
  }

  /** Without those whose keep-alive has expired. */
  get activeKeys(): readonly string[] {
    const now = performance.now();
    const active = [...this.#users.values()].filter((user) => user.leases > 0 || expiryOf(user, false) > now);
    return [...new Set(active.map(({ key }) => key))];
  }

  get isPinned(): boolean {
    return this.#users.values().some(({ keepAlive }) => isForever(keepAlive));
  }

  add({ key, purpose }: Pick<LoadUser, "key"> & { readonly purpose: string }): LoadUser {
    const id = `${purpose} ${key}`;
    const user = this.#users.get(id) ?? {
      key,
      keepAlive: this.#defaultKeepAlive,
      usedAt: performance.now(),
      leases: 0,
    };
    this.#users.set(id, user);
    return user;
  }

  /** When the last of these expires; of all users, unless a key is given. While one is in use, as if it ended now. */
  expiresAt(isBusy: boolean, key?: string): number {
    const users = [...this.#users.values()].filter((user) => key === undefined || user.key === key);
    return Math.max(...users.map((user) => expiryOf(user, isBusy)));
  }

  /** Its running requests finish; the others still use the load. */
  remove(key: string): void {
    for (const [id, user] of this.#users) if (user.key === key) this.#users.delete(id);
  }

  removeExpired(): void {
    const now = performance.now();
    for (const [id, user] of this.#users) {
      if (user.leases === 0 && expiryOf(user, false) <= now) this.#users.delete(id);
    }
  }
}

function expiryOf({ keepAlive, usedAt, leases }: LoadUser, isBusy: boolean): number {
  return computeExpiry(keepAlive, isBusy || leases > 0 ? performance.now() : usedAt);
}

/** Calls back at an expiry, or earlier if that is beyond the maximum delay of a timer; the callback checks the time. */
export class ExpiryTimer {
  #timer: NodeJS.Timeout | undefined;

  start(expiresAt: number, onTimer: () => void): void {
    this.stop();
    if (expiresAt === Number.POSITIVE_INFINITY) return;
    const remaining = Math.max(0, expiresAt - performance.now());
    // Rounded up, because a timer may fire up to a millisecond early.
    this.#timer = setTimeout(onTimer, Math.min(Math.ceil(remaining), maxTimerMilliseconds));
    // An idle model must not keep the process alive.
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
