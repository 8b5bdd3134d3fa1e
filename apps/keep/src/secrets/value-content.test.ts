import { expect, test } from "vitest";
import { countJsonBytes, encodeValue } from "./value-content.ts";

test("the counted bytes of a value are those of its JSON, whatever its type, size and content", () => {
  for (const type of ["text", "json", "binary", "file"] as const) {
    for (const text of ["", "a", "ab", "abc", 'q"\\\n\u0001', "é€😀", "x".repeat(70_001)]) {
      const value = Buffer.from(text);
      const written = Buffer.byteLength(JSON.stringify(encodeValue(value, type).value));
      expect([type, text.length, countJsonBytes(value, type)]).toEqual([type, text.length, written]);
    }
  }
});
