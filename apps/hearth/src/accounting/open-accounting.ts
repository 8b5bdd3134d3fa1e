import { randomUUID } from "node:crypto";
import type { FindStoredKey } from "../access/authenticate.ts";
import { openKeyDirectory } from "../key-store/key-directory.ts";
import type { KeyStore } from "../key-store/key-store.ts";
import type { UsageLedger } from "../key-store/usage-ledger.ts";
import { createRouteGuard, type GuardRoute } from "./guard-routes.ts";
import { Settlements } from "./settlements.ts";

export type Accounting = AsyncDisposable & {
  readonly storedKeys: FindStoredKey;
  readonly guardRoute: GuardRoute;
  readonly ledger: UsageLedger;
};

export type AccountingOptions = {
  readonly renewMilliseconds?: number;
  /** The name of this process; random by default. Tests settle the requests of one that they have killed. */
  readonly node?: string;
};

/** Others settle the requests of a process that has not renewed its lease for this long. */
const leaseMilliseconds = 15_000;
const defaultRenewMilliseconds = 5000;

/** Takes the store over. Rejects if its keys cannot be read. */
export async function openAccounting(
  store: KeyStore,
  onError: (error: unknown) => void,
  { renewMilliseconds = defaultRenewMilliseconds, node = randomUUID() }: AccountingOptions = {},
): Promise<Accounting> {
  await using stack = new AsyncDisposableStack();
  stack.use(store);
  await store.renew(node, leaseMilliseconds);
  const keys = stack.use(await openKeyDirectory(store, { onError }));
  const settlements = stack.use(new Settlements(store, onError));
  const timer = setInterval(() => {
    void store.renew(node, leaseMilliseconds).catch(onError);
    settlements.retry();
  }, renewMilliseconds).unref();
  stack.defer(() => clearInterval(timer));
  const resources = stack.move();
  return {
    storedKeys: (sha256) => keys.find(sha256),
    ledger: store,
    guardRoute: createRouteGuard({
      store,
      keys,
      node,
      settle: (request, used) => settlements.settle({ request, used }),
      record: (keyed) => settlements.record(keyed),
      onError,
    }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
