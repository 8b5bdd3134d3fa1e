import type { Adapter, AdapterFactory, AdapterPayload, ClientMetadata } from "oidc-provider";

type StoredRecord = { readonly model: string; readonly payload: AdapterPayload; readonly expiresAt: number };

/**
 * The provider's state, stored outside it, so that sessions and codes survive a change of signing keys and clients can
 * be registered while it runs.
 */
export function createStorage(clients: ReadonlyMap<string, ClientMetadata>): AdapterFactory {
  const records = new Map<string, StoredRecord>();
  return (model) => storageOf(model, { records, clients });
}

type StoredState = {
  readonly records: Map<string, StoredRecord>;
  readonly clients: ReadonlyMap<string, ClientMetadata>;
};

function storageOf(model: string, { records, clients }: StoredState): Adapter {
  const find = (id: string): AdapterPayload | undefined => {
    if (model === "Client") return clients.get(id);
    const record = records.get(`${model}:${id}`);
    return record === undefined || record.expiresAt <= Date.now() ? undefined : record.payload;
  };
  return {
    find: async (id) => find(id),
    async findByUid(uid) {
      return [...records.values()].find((record) => record.model === model && record.payload.uid === uid)
        ?.payload;
    },
    findByUserCode: async () => undefined,
    async upsert(id, payload, expiresInSeconds = Infinity) {
      records.set(`${model}:${id}`, { model, payload, expiresAt: Date.now() + expiresInSeconds * 1000 });
    },
    async consume(id) {
      const payload = find(id);
      if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
    },
    async destroy(id) {
      records.delete(`${model}:${id}`);
    },
    async revokeByGrantId(grantId) {
      for (const [key, record] of records) if (record.payload.grantId === grantId) records.delete(key);
    },
  };
}
