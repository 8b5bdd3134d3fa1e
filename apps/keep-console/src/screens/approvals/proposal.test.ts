import type { SecretMetadata, SecretValue, VaultDetail } from "@hearth-and-keep/vault-contract";
import { expect, test } from "vitest";
import { toDraft } from "../secrets/secret-draft.ts";
import { proposeDeletion, proposeMove, proposeSecretVersion, proposeSettings } from "./proposal.ts";

const secret: SecretMetadata = {
  id: "s",
  path: "/prod/KEY",
  folder: "/prod",
  name: "KEY",
  type: "text",
  size: 3,
  tags: ["a", "b"],
  has_note: true,
  version: 2,
  revision: 7,
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
  updated_by: "person:p",
};
const value: SecretValue = {
  id: "s",
  path: "/prod/KEY",
  version: 2,
  type: "text",
  value: "old",
  encoding: "utf8",
  note: "why",
};

test("a new value names the revision it replaces, and leaves out what stays as it is", () => {
  const draft = toDraft(secret, value);
  const put = { op: "put", path: "/prod/KEY", value: "new", encoding: "utf8", type: "text", if_revision: 7 };
  const stored = { secret, value };
  expect(proposeSecretVersion(stored, { ...draft, text: "new" }).operations).toEqual([put]);
  expect(proposeSecretVersion(stored, { ...draft, text: "new", tags: "a", note: "" }).operations).toEqual([
    { ...put, tags: ["a"], note: null },
  ]);
});

test("a move and a deletion name the revision of the secret", () => {
  expect(proposeMove(secret, "/prod/B").operations).toEqual([
    { op: "move", path: "/prod/KEY", to: "/prod/B", if_revision: 7 },
  ]);
  expect(proposeDeletion(secret).operations).toEqual([{ op: "delete", path: "/prod/KEY", if_revision: 7 }]);
});

test("only settings that differ from the current ones are proposed", () => {
  const settings = { most_versions: 100, environments: ["dev"], base: null, protected_paths: ["/prod/**"] };
  const next = { ...settings, protected_paths: [], base: "/base" };
  const vault: VaultDetail = {
    ...settings,
    id: "v",
    name: "Vault",
    kind: "project",
    is_encrypted: true,
    revision: 1,
    demands_preconditions: false,
    when_versions_full: "destroy-oldest",
    created_at: "2026-01-01T00:00:00Z",
    updated_at: "2026-01-01T00:00:00Z",
  };
  expect(proposeSettings(vault, next)).toEqual({
    base: "/base",
    protected_paths: [],
  });
});
