import { ResponseStore } from "../../apps/hearth/src/dialects/openai/responses/response-store.ts";

const bytes = 4 * 1024 * 1024;

/** Too small to matter where the growth of memory is measured. */
export function createSmallResponseStore(): ResponseStore {
  return new ResponseStore({ maxResponses: 64, maxBytes: bytes, maxTotalBytes: bytes, idleSeconds: 3600 });
}
