import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import reviewed from "./fixtures/recorded-differences.json" with { type: "json" };
import { compareAnswers, type FieldDifference } from "./test/compare-answers.ts";
import { recordedAnswers, startReplay } from "./test/replay-answers.ts";

/** A difference that was looked at, and why it is right. */
type Reviewed = {
  /** Names of answers, with `|` between them and `*` for any text. */
  readonly answers: string;
  /** Paths of fields; `*` stands for one step, `**` for any number of them. */
  readonly places: readonly string[];
  readonly ours?: unknown;
  /** It hangs on the machine or its speed, so it need not be seen. */
  readonly sometimes?: boolean;
  readonly reason: string;
};

const differencesReviewed: readonly Reviewed[] = reviewed;

test("every recorded answer of a real Ollama is given again, field by field, but for reviewed differences", async () => {
  await using stage = await startReplay();
  const used = new Set<Reviewed>();
  const surprises: (FieldDifference & { readonly answer: string })[] = [];
  let fields = 0;
  let different = 0;
  for (const answer of recordedAnswers) {
    const { name, status, content_type: contentType, body } = answer;
    const compared = compareAnswers({ status, contentType, body }, await stage.ask(answer));
    fields += compared.fields;
    different += compared.differences.length;
    for (const difference of compared.differences) {
      const known = differencesReviewed.filter((each) => covers(each, name, difference));
      for (const each of known) used.add(each);
      if (known.length === 0) surprises.push({ answer: name, ...difference });
    }
  }
  expect(surprises).toEqual([]);
  const unseen = differencesReviewed.filter((each) => !used.has(each) && each.sometimes !== true);
  expect(unseen.map(({ reason }) => reason)).toEqual([]);
  expect(recordedAnswers.length).toBe(57);
  // Vectors, which that Ollama refused to make, are fields too.
  expect(fields - different).toBeGreaterThanOrEqual(1500);
  recordFigure({
    claim: "store 4",
    text: `${recordedAnswers.length} of 57 recorded answers: ${fields - different} fields equal, all others for ${used.size} reviewed reasons`,
    counted: { reached: recordedAnswers.length, needed: 57 },
  });
}, 240_000);

test("a difference that nobody looked at is seen, in a field, in the head and in a stream", () => {
  const head = { status: 200, contentType: "application/json; charset=utf-8" };
  const stream = { status: 200, contentType: "application/x-ndjson" };
  const seen = (recorded: object, ours: object): readonly string[] =>
    compareAnswers({ ...head, body: "{}", ...recorded }, { ...head, body: "{}", ...ours }).differences.map(
      ({ place }) => place,
    );
  expect(seen({ body: '{"a":{"b":[1]}}' }, { body: '{"a":{"b":[2]}}' })).toEqual(["body/a/b/0"]);
  expect(seen({ body: '{"a":1}' }, { body: '{"a":1,"c":null}' })).toEqual(["body/c"]);
  expect(seen({ status: 404 }, { contentType: "text/html", body: "{}" })).toEqual(["status", "content type"]);
  const pieces = '{"response":"a","done":false}\n{"response":"b","done":false}\n{"done":true}\n';
  const joined = '{"response":"ab","done":false}\n{"done":true}\n';
  expect(seen({ ...stream, body: pieces }, { ...stream, body: joined })).toEqual([]);
  expect(seen({ ...stream, body: pieces }, { ...stream, body: joined.replace("ab", "ac") })).toEqual([
    "body/0/response",
  ]);
  expect(seen({ body: '{"a":"b…' }, { body: '{"a":"bc"}' })).toEqual([]);
  expect(seen({ body: '{"a":"b…' }, { body: '{"a":"c"}' })).toEqual(["body"]);
});

function covers({ answers, places, ...rest }: Reviewed, name: string, difference: FieldDifference): boolean {
  const isNamed = answers.split("|").some((pattern) => matches(pattern, name));
  const isPlaced = places.some((pattern) => matches(pattern, difference.place));
  return isNamed && isPlaced && (!("ours" in rest) || rest.ours === difference.ours);
}

function matches(pattern: string, value: string): boolean {
  const parts = pattern.split("**").map((part) =>
    part
      .split("*")
      .map((text) => RegExp.escape(text))
      .join("[^/]*"),
  );
  return new RegExp(`^${parts.join(".*")}$`, "u").test(value);
}
