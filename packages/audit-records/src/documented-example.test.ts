import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { verifyAuditExport } from "./verify-export.ts";

test("the example in the documentation of the format is valid, and invalid with a changed name", async () => {
  const page = readFileSync(new URL("../../../docs/keep/audit-export.md", import.meta.url), "utf8");
  const example = /```json\n(?<lines>[^`]+)```/u.exec(page)?.groups?.["lines"] ?? "";
  expect(await verifyAuditExport(example.split("\n"))).toMatchObject({ isValid: true, records: 2 });
  expect(await verifyAuditExport(example.replace("Web shop", "Web ship").split("\n"))).toMatchObject({
    isValid: false,
    record: "1/1769847300000000",
  });
});
