import { nodeSha256, seededRandom } from "@hearth-and-keep/transparency-log/testing";
import { expect, test } from "vitest";
import { writeLines } from "./test/alter-lines.ts";
import { makeExport } from "./test/make-export.ts";
import { verifyAuditExport } from "./verify-export.ts";

const characters =
  '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/=-_ :,.{}[]"\\\n\r\t\u0000é\u2028';
const changes = 200;

test("one changed character anywhere in a file is found", async () => {
  const { lines, keys } = await makeExport();
  const text = writeLines(lines)
    .map((line) => `${line}\n`)
    .join("");
  expect(await verifyAuditExport(text.split("\n"), { keys })).toMatchObject({ isValid: true });
  const random = seededRandom("changed character");
  for (let count = 0; count < changes; count += 1) {
    const at = random(text.length);
    const replacement = characters[random(characters.length)] ?? "";
    if (text[at] === replacement) continue;
    const altered = `${text.slice(0, at)}${replacement}${text.slice(at + 1)}`;
    const { isValid } = await verifyAuditExport(altered.split("\n"), { keys }, nodeSha256);
    expect(isValid, `"${replacement}" at ${at}, after ${text.slice(at - 40, at)}`).toBe(false);
  }
});
