import { Type } from "typebox";
import { layerSchema, orNull, shortText } from "../store/schema.ts";

const token = orNull(Type.String({ maxLength: 32 * 1024 }));

/** The response of a token server; some use one field, some the other. */
export const tokenSchema = Type.Object({ token, access_token: token });

const credential = orNull(Type.String({ maxLength: 64 * 1024 }));

/** `~/.docker/config.json`; `auth` is the base64 of `name:password`. */
export const dockerConfigSchema = Type.Object({
  auths: Type.Optional(
    Type.Record(
      Type.String({ maxLength: 1024 * 1024 }),
      Type.Object({ auth: credential, username: credential, password: credential }),
      { maxProperties: 1024 * 1024 },
    ),
  ),
});

/** An OCI image index, which lists manifests; absent in a plain manifest. */
export const imageIndexSchema = Type.Object({
  manifests: orNull(Type.Array(layerSchema, { maxItems: 1024 })),
});

/** File names of layers in the manifests of Docker and the CNCF. */
export const layerTitlesSchema = Type.Object({
  layers: orNull(
    Type.Array(
      Type.Object({
        annotations: orNull(
          Type.Object({
            "org.cncf.model.filepath": orNull(shortText),
            "org.opencontainers.image.title": orNull(shortText),
          }),
        ),
      }),
      { maxItems: 8192 },
    ),
  ),
});

/** One page of the Hugging Face Hub's file list. Only large files have `lfs`, which contains their SHA-256. */
export const hubFilesSchema = Type.Array(
  Type.Object({
    path: orNull(shortText),
    lfs: orNull(
      Type.Object({
        oid: orNull(shortText),
        size: orNull(Type.Integer({ minimum: 0, maximum: 2 ** 50 })),
      }),
    ),
  }),
  { maxItems: 10_000 },
);
