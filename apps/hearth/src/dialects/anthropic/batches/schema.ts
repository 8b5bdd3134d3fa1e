import { type Static, Type } from "typebox";
import { maxBatchRequests } from "../../../batches/limits.ts";

/** The fields of `params` are validated when the request runs, so that an invalid one is a result like any other. */
export const createBatchRequest = Type.Object({
  requests: Type.Array(
    Type.Object({
      custom_id: Type.String({ pattern: "^[\\w-]{1,64}$", maxLength: 64 }),
      params: Type.Object({}),
    }),
    { minItems: 1, maxItems: maxBatchRequests },
  ),
});

export type CreateBatchBody = Static<typeof createBatchRequest>;
