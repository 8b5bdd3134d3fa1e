import { expect, test } from "vitest";
import { createMask, maskText } from "./mask-secrets.ts";

/** What a masked program prints, when it writes these chunks. */
async function masked(values: readonly string[], chunks: readonly (string | Buffer)[]): Promise<string> {
  const stream = createMask(values)();
  const output: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => output.push(chunk));
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await new Promise((resolve) => stream.on("end", resolve));
  return Buffer.concat(output).toString("utf8");
}

const secret = 's3cr3t/ value+with ünicode & "quotes"';

test.each([
  ["as it is", secret],
  ["in base64", Buffer.from(secret).toString("base64").replace(/=+$/u, "").slice(0, -1)],
  ["in URL-safe base64", Buffer.from(secret).toString("base64url").slice(0, -1)],
  ["in a URL", encodeURIComponent(secret)],
  ["in a URL of Python", encodeURIComponent(secret).replaceAll("%2F", "/")],
  ["in JSON of Python", JSON.stringify(secret).slice(1, -1).replace("ü", String.raw`\u00fc`)],
  ["in JSON of Go", JSON.stringify(secret).slice(1, -1).replace("&", String.raw`\u0026`)],
  ["in a form", encodeURIComponent(secret).replaceAll("%20", "+")],
  ["in hexadecimal", Buffer.from(secret).toString("hex")],
  ["in HTML", secret.replaceAll("&", "&amp;").replaceAll('"', "&quot;")],
  ["in JSON", JSON.stringify(secret).slice(1, -1)],
])("a value is masked %s, at every position at which its bytes are split", async (_form, written) => {
  const bytes = Buffer.from(`before ${written} after`);
  for (let at = 0; at <= bytes.length; at += 1) {
    const output = await masked([secret], [bytes.subarray(0, at), bytes.subarray(at)]);
    expect(output).toContain(maskText);
    expect(output).not.toContain(written.slice(4, -4));
  }
  const single = [...bytes].map((byte) => Buffer.of(byte));
  expect(await masked([secret], single)).toMatch(/^before \[hidden\].{0,3} after$/u);
});

test("a value is masked in the base64 of a longer text, e.g. of HTTP Basic authentication", async () => {
  for (const user of ["a", "ab", "abc"]) {
    const header = Buffer.from(`${user}:${secret}`).toString("base64");
    const output = await masked([secret], [`Authorization: Basic ${header}\n`]);
    expect(Buffer.from(output, "base64").toString("utf8")).not.toContain("value");
    expect(output).toContain(maskText);
  }
});

test("text without values, and bytes that are no text, stay as they are", async () => {
  const text = "nothing to hide: s3cr3t/ value+with other text\n";
  expect(await masked([secret], [text])).toBe(text);
  const stream = createMask([secret])();
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  stream.end(bytes);
  expect(stream.read()).toEqual(bytes);
});

test("overlapping values, repeated values and values within values are masked", async () => {
  expect(await masked(["abcdef", "defghi"], ["abcdefghi"])).not.toContain("abcdef");
  expect(await masked(["secret", "secret-longer"], ["secret-longer secret"])).toBe(`${maskText} ${maskText}`);
  expect(await masked(["aaaa"], ["aaa", "aaaaa", "b"])).toBe(`${maskText}${maskText}b`);
});

test("values of fewer than four characters are not masked", async () => {
  expect(await masked(["1", "yes", ""], ["1 yes no"])).toBe("1 yes no");
  expect(await masked(["four"], ["four"])).toBe(maskText);
});

test("a line of a value of several lines is masked by itself", async () => {
  const key = "-----BEGIN KEY-----\nabcdefghijklmnop\n-----END KEY-----";
  expect(await masked([key], ["  abcdefghijklmnop\r\n"])).toBe(`  ${maskText}\r\n`);
  expect(await masked([key], [key.replaceAll("\n", "\r\n")])).toBe(maskText);
});

test("values with characters of regular expressions are taken literally", async () => {
  expect(await masked([".*+?^${}()|[]\\"], ["x .*+?^${}()|[]\\ y"])).toBe(`x ${maskText} y`);
});
