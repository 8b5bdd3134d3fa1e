import { type Static, Type } from "typebox";

const id = Type.String({ minLength: 1, maxLength: 1024 });

/** The body of `POST /v1/batches`; fields that are not listed are allowed, ignored and named in the response. */
export const createBatchRequest = Type.Object({
  input_file_id: id,
  endpoint: Type.Enum(["/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"]),
  completion_window: Type.Literal("24h"),
  metadata: Type.Optional(
    Type.Union([
      Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), { maxProperties: 16 }),
      Type.Null(),
    ]),
  ),
  output_expires_after: Type.Optional(
    Type.Union([
      Type.Object({
        anchor: Type.Literal("created_at"),
        seconds: Type.Integer({ minimum: 3600, maximum: 2_592_000 }),
      }),
      Type.Null(),
    ]),
  ),
});

export type CreateBatchBody = Static<typeof createBatchRequest>;

/** The query of a list of batches; parameters that are not listed are allowed, ignored and named in the response. */
export const batchListQuery = Type.Object({
  after: Type.Optional(id),
  limit: Type.Optional(Type.String({ pattern: "^\\d{1,3}$", maxLength: 3 })),
});

export type BatchListQuery = Static<typeof batchListQuery>;
