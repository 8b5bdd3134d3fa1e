import type { Change, ReviewedOperation } from "@hearth-and-keep/vault-contract";
import { describe, expect, test } from "vitest";
import type { ApiError } from "../../vault-api/api-client.ts";
import { toAccess } from "../secrets/vault-access.ts";
import type { Scope } from "../tokens/scopes.ts";
import {
  countOperations,
  describeProposal,
  describeRefusal,
  describeSettings,
  mayDecide,
  operationLabel,
} from "./describe-change.ts";

const current = {
  most_versions: 100,
  when_versions_full: "destroy-oldest",
  environments: ["dev", "prod"],
  base: null,
  protected_paths: ["/prod/**", "/live/*"],
} as const;
const vault = {
  ...current,
  environments: [...current.environments],
  protected_paths: [...current.protected_paths],
};

test("settings are compared with the current ones", () => {
  expect(
    describeSettings(
      {
        protected_paths: ["/live/*", "/staging/**"],
        environments: [],
        base: "/base",
        most_versions: 5,
        when_versions_full: "refuse",
      },
      vault,
    ),
  ).toEqual([
    "Stop protecting /prod/**",
    "Protect /staging/**",
    "Environments: none (now dev, prod)",
    "Base folder: /base (now none)",
    "Maximum versions per secret: 5 (now 100)",
    "At the maximum number of versions, new versions are refused",
  ]);
  expect(describeSettings({ protected_paths: ["/prod/**", "/live/*"], base: null }, vault)).toEqual([
    "Protected paths: /prod/**, /live/* (as now)",
    "Base folder: none (as now)",
  ]);
  expect(describeSettings({ protected_paths: [], most_versions: 5 })).toEqual([
    "Protected paths: none",
    "Maximum versions per secret: 5",
  ]);
});

test("a proposal is described without its values", () => {
  const lines = describeProposal({
    operations: [
      { op: "put", path: "/prod/NEW", value: "canary", if_revision: 0 },
      { op: "put", path: "/prod/KEY", value: "canary", note: "canary", if_revision: 3 },
      { op: "move", path: "/prod/A", to: "/prod/B" },
      { op: "delete", path: "/prod/C" },
    ],
    delete_vault: true,
  });
  expect(lines).toEqual([
    "Create /prod/NEW",
    "Write a new value of /prod/KEY",
    "Move /prod/A to /prod/B",
    "Delete /prod/C",
    "Delete the vault with all its secrets",
  ]);
});

test("a write is a new secret only where none was when it was proposed", () => {
  const write = { op: "put", path: "/A", revision: 0 } as const;
  expect([operationLabel(write), operationLabel({ ...write, revision: 2 })]).toEqual([
    "New secret",
    "New value",
  ]);
  expect([0, 1, 2].map((count) => countOperations({ operation_count: count }))).toEqual([
    "Settings of the vault",
    "1 operation",
    "2 operations",
  ]);
});

describe("who may decide", () => {
  const summary: Change = {
    id: "c",
    state: "pending",
    reason: "r",
    fingerprint: "0".repeat(64),
    operation_count: 1,
    proposed_by: "person:p",
    proposed_at: "2026-01-01T00:00:00Z",
    expires_at: "2026-01-08T00:00:00Z",
    decided_by: null,
    decided_at: null,
    operations: [],
  };
  const withOperations = (...operations: ReviewedOperation[]): Change => ({ ...summary, operations });

  test("whoever may write every path that is written, and both paths of a move", () => {
    const put = { op: "put", path: "/dev/A", revision: 1 } as const;
    expect(mayDecide(withOperations(put), allowing("secrets:write"))).toBe(true);
    expect(mayDecide(withOperations(put), allowing("secrets:read"))).toBe(false);
    expect(mayDecide(withOperations(put, { ...put, path: "/prod/A" }), allowing("secrets:write"))).toBe(
      false,
    );
    const move = { op: "move", path: "/dev/A", to: "/dev/B", revision: 1 } as const;
    expect(mayDecide(withOperations(move), allowing("secrets:write"))).toBe(true);
    expect(mayDecide(withOperations({ ...move, to: "/prod/B" }), allowing("secrets:write"))).toBe(false);
  });

  test("a deletion needs the right to delete", () => {
    const deletion = withOperations({ op: "delete", path: "/dev/A", revision: 1 });
    expect(mayDecide(deletion, allowing("secrets:write", "secrets:delete"))).toBe(true);
    expect(mayDecide(deletion, allowing("secrets:write"))).toBe(false);
  });

  test("settings and the vault itself need the rights of a manager", () => {
    const settings = { ...summary, protected_paths: [] };
    expect(mayDecide(settings, allowing("vaults:write"))).toBe(true);
    expect(mayDecide(settings, allowing("secrets:write"))).toBe(false);
    const deletion = { ...summary, delete_vault: true as const };
    expect(mayDecide(deletion, allowing("vaults:delete"))).toBe(true);
    expect(mayDecide(deletion, allowing("vaults:write"))).toBe(false);
  });
});

test("a refusal says what to do, and an unexpected one keeps the server's text", () => {
  expect(refusal("second_person_required").nextStep).toBe("Ask another person who may make it.");
  for (const code of ["role_required", "insufficient_scope", "out_of_reach"] as const)
    expect(refusal(code).text).toMatch(/cannot approve or reject/u);
  expect(refusal("not_found").nextStep).toMatch(/list of changes/u);
  expect(refusal("conflict")).toEqual({ text: "From the server" });
});

function allowing(...scopes: readonly Scope[]) {
  return toAccess({
    organisation_id: "o",
    permissions: [{ scopes: [...scopes], paths: ["/dev/**"] }],
  });
}

function refusal(code: ApiError["code"]) {
  return describeRefusal({ code, message: "From the server" });
}
