/** Bodies of Keep's API, as its OpenAPI document describes them; a test compares every field. */
export type SecretType = "text" | "json" | "binary" | "file";

type ValueEncoding = "utf8" | "base64";

type EgressMethod = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** For what requests an agent may use a secret without seeing its value. */
export type EgressRule = {
  readonly hosts: readonly string[];
  readonly methods?: readonly EgressMethod[];
  readonly paths?: readonly string[];
  readonly ask: boolean;
};

/** A secret, without its value. */
export type SecretMetadata = {
  readonly id: string;
  readonly folder: string;
  readonly name: string;
  readonly path: string;
  readonly type: SecretType;
  readonly version: number;
  readonly revision: number;
  readonly tags: readonly string[];
  readonly has_note: boolean;
  readonly egress?: EgressRule;
  readonly size: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly updated_by: string;
  readonly deleted_at?: string;
};

export type SecretPage = {
  readonly items: readonly SecretMetadata[];
  readonly next_cursor?: string;
};

export type SecretValue = {
  readonly id: string;
  readonly path: string;
  readonly version: number;
  readonly type: SecretType;
  readonly value: string;
  readonly encoding: ValueEncoding;
  readonly note?: string;
};

export type NamedValue = {
  readonly id: string;
  readonly path: string;
  readonly from?: string;
  readonly name: string;
  readonly version: number;
  readonly type: SecretType;
  readonly value: string;
  readonly encoding: ValueEncoding;
};

export type SecretValues = {
  readonly revision: number;
  readonly items: readonly NamedValue[];
};

export type NewSecret = {
  readonly value: string;
  readonly encoding?: ValueEncoding;
  readonly type?: SecretType;
  readonly tags?: readonly string[];
  readonly note?: string | null;
};

export type ExchangedToken = {
  readonly access_token: string;
  readonly issued_token_type: "urn:ietf:params:oauth:token-type:access_token";
  readonly token_type: "Bearer";
  readonly expires_in: number;
  readonly scope: string;
};

export type FieldProblem = {
  readonly place: string;
  readonly reason: string;
};
