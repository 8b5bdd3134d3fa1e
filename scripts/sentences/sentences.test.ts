import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { programs } from "./areas.ts";
import { collectSentences, sentencesOf } from "./collect-sentences.ts";

test("every area of both programs has sentences", () => {
  const counts = Object.entries(programs).flatMap(([program, areas]) =>
    Object.entries(areas).map(([area, patterns]) => ({
      area: `${program}: ${area}`,
      count: collectSentences(patterns).length,
    })),
  );
  expect(counts.filter(({ count }) => count === 0)).toEqual([]);
  expect(counts.length).toBeGreaterThanOrEqual(9);
  recordFigure({
    claim: "plain 2",
    text: counts.map(({ area, count }) => `${area} ${count}`).join(", "),
    counted: { reached: counts.length, needed: 9 },
  });
});

const sample = `import { query } from "a module";

export function Sample({ name }: { name: string }) {
  query("select one from two where three");
  if (name === "") throw new Error(\`model "\${name}" not found\`);
  return (
    <button className="button main" title="Shown once" type="button">
      Create token
    </button>
  );
}

export const help = "Wait for the server";
`;

test("JSX text, labels, help and errors are found; class names, SQL and imports are not", () => {
  expect(sentencesOf("sample.tsx", sample).map(({ line, text }) => `${line} ${text}`)).toEqual([
    '5 model "${name}" not found',
    "7 Shown once",
    "8 Create token",
    "13 Wait for the server",
  ]);
});
