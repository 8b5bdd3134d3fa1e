import { expect, test } from "vitest";
import { cosignNote, signNote } from "./sign-note.ts";
import { formatNote, parseNote } from "./signed-note.ts";
import { bitsOf, flipBitOfText } from "./test/flip-bit.ts";
import { makeSigner } from "./test/make-signer.ts";
import { formatVerifierKey, makeVerifierKey, parseVerifierKey } from "./verifier-key.ts";
import { verifyNote } from "./verify-note.ts";

/** The example in the documentation of Go's note package. */
const published = {
  key: "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
  note: [
    "If you think cryptography is the answer to your problem,",
    "then you don't know what your problem is.",
    "",
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=",
    "",
  ].join("\n"),
};
const text = "log.example\n12\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
const time = 1_790_000_000;

async function publishedKey() {
  const key = await parseVerifierKey(published.key);
  if (key === undefined) throw new Error("The published key is malformed");
  return key;
}

test("the published note is verified with its published key", async () => {
  const key = await publishedKey();
  expect(formatVerifierKey(key)).toBe(published.key);
  const verified = await verifyNote(published.note, [key]);
  expect(verified?.text).toBe(published.note.slice(0, published.note.indexOf("\n\n") + 1));
  expect(verified?.signatures).toEqual([{ key, time: undefined }]);
  const parsed = parseNote(published.note);
  expect(parsed === undefined ? "" : formatNote(parsed)).toBe(published.note);
});

test("every changed bit of a note is found", async () => {
  const key = await publishedKey();
  const bits = bitsOf(published.note);
  expect(bits).toBeGreaterThan(1500);
  for (let bit = 0; bit < bits; bit += 1) {
    const altered = flipBitOfText(published.note, bit);
    expect(
      altered === undefined ? undefined : await verifyNote(altered, [key]),
      `bit ${bit}`,
    ).toBeUndefined();
  }
});

test("a log signs, a witness cosigns, and signatures of unknown keys are ignored", async () => {
  const [log, stranger] = [await makeSigner("log.example"), await makeSigner("log.example")];
  const witness = await makeSigner("witness.example", "cosignature");
  const signatures = [
    await signNote(text, stranger),
    await signNote(text, log),
    await cosignNote(text, witness, time),
  ];
  const note = formatNote({ text, signatures });
  expect(await verifyNote(note, [log.key, witness.key])).toEqual({
    text,
    signatures: [
      { key: log.key, time: undefined },
      { key: witness.key, time },
    ],
  });
  expect((await verifyNote(note, [witness.key]))?.signatures).toHaveLength(1);
  expect(await verifyNote(note, [])).toBeUndefined();
  expect(await verifyNote(note, [(await makeSigner("log.example")).key])).toBeUndefined();
  await expect(signNote(text, witness)).rejects.toThrow(RangeError);
  await expect(cosignNote(text, log, time)).rejects.toThrow(RangeError);
  await expect(cosignNote(text, witness, -1)).rejects.toThrow(RangeError);
});

test("one invalid signature of a known key invalidates the note", async () => {
  const log = await makeSigner("log.example");
  const witness = await makeSigner("witness.example", "cosignature");
  const signature = await signNote(text, log);
  const cosignature = await cosignNote(text, witness, time);
  const laterTime = { ...cosignature, signature: cosignature.signature.with(7, 1) };
  const beyondSafeTime = { ...cosignature, signature: cosignature.signature.with(0, 1) };
  const plain = { ...(await signNote(text, log)), name: witness.key.name, keyId: witness.key.id };
  const keys = [log.key, witness.key];
  expect(await verifyNote(formatNote({ text, signatures: [signature, cosignature] }), keys)).toBeDefined();
  for (const invalid of [laterTime, beyondSafeTime, plain, { ...cosignature, signature: Uint8Array.of(1) }])
    expect(await verifyNote(formatNote({ text, signatures: [signature, invalid] }), keys)).toBeUndefined();
  const other = { text: text.replace("12", "13"), signatures: [signature] };
  expect(await verifyNote(formatNote(other), keys)).toBeUndefined();
});

test("malformed notes are rejected", () => {
  const { note } = published;
  const line = note.slice(note.indexOf("—"));
  const [base64 = ""] = line.trim().split(" ").slice(-1);
  const malformed = [
    "",
    "\n",
    "\n\n",
    "text\n\n",
    note.slice(0, -1),
    note.replace("\n\n", "\n"),
    note.replace("—", "-"),
    note.replace("— ", "—"),
    note.replace("— ", "—  "),
    note.replace("— PeterNeumann ", "—  "),
    note.replace("PeterNeumann ", "Peter+Neumann "),
    note.replace("PeterNeumann ", "Peter\u00a0Neumann "),
    note.replace("PeterNeumann ", `${"n".repeat(256)} `),
    note.replace(base64, ""),
    note.replace(base64, "x08gow=="),
    note.replace(base64, base64.slice(0, -1)),
    note.replace(base64, `${base64.slice(0, -2)}N=`),
    note.replace(base64, `${base64} `),
    note.replace(base64, base64.replace("/", "_")),
    note.replace("If", "I\tf"),
    note.replace("If", "I\rf"),
    note.replace("If", "I\0f"),
    note.replace("If", "I\ud800f"),
    note.replace("If", "x".repeat(256 * 1024)),
    `${note}\n`,
    `${note}text\n`,
    note + line.repeat(64),
  ];
  for (const each of malformed) expect(parseNote(each), JSON.stringify(each).slice(0, 300)).toBeUndefined();
  for (const valid of [note, `\n${note}`, note + line.repeat(63), note.replace("If", "I\n\nf")])
    expect(parseNote(valid)).toBeDefined();
});

test("malformed verifier keys and texts that cannot be in a note are rejected", async () => {
  const { key } = published;
  const malformed = [
    "",
    key.slice(1),
    key.slice(0, -1),
    `${key}A`,
    key.replace("c74f20a3", "c74f20a4"),
    key.replace("c74f20a3", "C74F20A3"),
    key.replace("+AR", "+Ag"),
    key.replace("PeterNeumann", "Peter Neumann"),
    key.replace("PeterNeumann", ""),
  ];
  for (const each of malformed) expect(await parseVerifierKey(each), each).toBeUndefined();
  const publicKey = new Uint8Array(32);
  for (const name of ["", "a b", "a+b", "a\nb", "\ud800"])
    await expect(makeVerifierKey({ name, type: "signature", publicKey })).rejects.toThrow(RangeError);
  const short = { name: "a", type: "signature", publicKey: new Uint8Array(31) } as const;
  await expect(makeVerifierKey(short)).rejects.toThrow(RangeError);
  const signature = await signNote(text, await makeSigner("log.example"));
  for (const each of ["no newline", "tab\t\n"])
    expect(() => formatNote({ text: each, signatures: [signature] })).toThrow(RangeError);
  expect(() => formatNote({ text, signatures: [] })).toThrow(RangeError);
});
