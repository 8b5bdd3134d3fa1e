import * as fc from "fast-check";

/** A file and its expected secrets: type and bytes in hex, by path relative to its folder. */
export type GeneratedFile = {
  readonly format: "dotenv" | "json";
  readonly content: string;
  readonly secrets: ReadonlyMap<string, string>;
};

const seed = 18;

/** Deterministic; half .env, half JSON. */
export function generateFiles(count: number): readonly GeneratedFile[] {
  return [
    ...fc.sample(dotenvFile, { seed, numRuns: count / 2 }),
    ...fc.sample(jsonFile, { seed, numRuns: count - count / 2 }),
  ];
}

export function describeBytes(type: string, bytes: Buffer): string {
  return `${type} ${bytes.toString("hex")}`;
}

/** Text with a meaning in at least one of the formats. */
const specialText = fc.constantFrom(
  ...String.raw`'"\$#=!~*&;|<>(){}[]`.split(""),
  "`",
  " ",
  "\t",
  "\n",
  "\r",
  "\\n",
  "\\\\",
  "${A}",
  "$(id)",
  " #",
  "\r\n",
  "export ",
  "\uFEFF",
  "\u2028",
);
const fragment = fc.oneof(
  { weight: 3, arbitrary: specialText },
  { weight: 3, arbitrary: fc.string({ unit: "grapheme", maxLength: 8 }) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: "binary", maxLength: 4 }).map((text) => text.replaceAll("\0", "0")),
  },
);
const text = fc
  .array(fragment, { maxLength: 8 })
  .map((fragments) => fragments.join(""))
  .filter((value) => value.isWellFormed());
const variableName = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{2,11}$/u);

const dotenvEntry = fc.record({
  name: variableName,
  value: text,
  style: fc.constantFrom("plain", "single", "double"),
  before: fc.constantFrom("", "", "export ", "  ", "# a comment\n", "\n\t\n"),
  sign: fc.constantFrom("=", "=", " = ", "=\t"),
  after: fc.constantFrom("", "", " ", ' # it\'s a "comment"'),
});

const dotenvFile = fc
  .record({
    entries: fc.uniqueArray(dotenvEntry, { selector: ({ name }) => name, minLength: 1, maxLength: 5 }),
    lineEnd: fc.constantFrom("\n", "\r\n"),
    byteOrderMark: fc.constantFrom("", "\uFEFF"),
  })
  .map(({ entries, lineEnd, byteOrderMark }): GeneratedFile => {
    const lines = entries.map(
      ({ name, value, style, before, sign, after }) =>
        `${before}${name}${sign}${write(value, style)}${after}\n`,
    );
    return {
      format: "dotenv",
      content: byteOrderMark + lines.join("").replaceAll("\n", lineEnd),
      secrets: new Map(entries.map(({ name, value }) => [name, describeBytes("text", Buffer.from(value))])),
    };
  });

/** Writes the value in the given style if possible. */
function write(value: string, style: string): string {
  const isPlain = !/[\r\n]|^[ \t'"`#]|[ \t]$|[ \t]#/u.test(value);
  if (style === "plain" && isPlain) return value;
  if (style !== "double" && !/['\r]/u.test(value)) return `'${value}'`;
  return `"${value
    .replaceAll(/[\\"$]/gu, String.raw`\$&`)
    .replaceAll("\r", "\\r")
    .replaceAll("\t", "\\t")}"`;
}

type Node = { readonly key: string } & (
  | { readonly members: readonly Node[] }
  | { readonly type: string; readonly bytes: Buffer; readonly written: string }
);

const key = fc
  .oneof(
    { weight: 4, arbitrary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 10 }) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        "__proto__",
        "constructor",
        "toString",
        "value",
        "base64",
        "members",
        "$type",
      ),
    },
  )
  .map((name) => name.normalize("NFC"))
  .filter(
    (name) =>
      !/[\p{Cc}\p{Cs}\p{Cf}/]/u.test(name) && name.trim() === name && ![".", "..", "*", "**"].includes(name),
  );

const plainJson = fc.oneof(
  fc.constantFrom("0", "-0", "1.50", "1e400", "12345678901234567890", "true", "false", "null", "[]"),
  fc.json({ maxDepth: 2 }).map((inner) => `[ 1,\n  ${inner} ]`),
);

const leaf = fc.oneof(
  { weight: 4, arbitrary: text.map((value) => asLeaf("text", value, JSON.stringify(value))) },
  { weight: 2, arbitrary: plainJson.map((value) => asLeaf("json", value, value)) },
  {
    weight: 1,
    arbitrary: fc.json({ maxDepth: 2 }).map((value) => asLeaf("json", value, typed("json", "value", value))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("binary", "file"), fc.uint8Array({ maxLength: 24 }))
      .map(([type, bytes]) => ({
        type,
        bytes: Buffer.from(bytes),
        written: typed(type, "base64", Buffer.from(bytes).toString("base64")),
      })),
  },
);

function asLeaf(type: string, value: string, written: string) {
  return { type, bytes: Buffer.from(value), written };
}

function typed(type: string, field: string, value: string): string {
  return `{"${field}": ${JSON.stringify(value)}, "$type": "${type}"}`;
}

const { folder } = fc.letrec<{ folder: readonly Node[]; node: Node }>((tie) => ({
  folder: fc.uniqueArray(tie("node"), { selector: (node) => node.key, maxLength: 4 }),
  node: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.tuple(key, leaf).map(([name, value]): Node => ({ key: name, ...value })),
    fc.tuple(key, tie("folder")).map(([name, members]): Node => ({ key: name, members })),
  ),
}));

const jsonFile = fc.tuple(folder, fc.constantFrom("", " ", "\n  ")).map(([members, space]): GeneratedFile => {
  const secrets = new Map<string, string>();
  return { format: "json", content: writeFolder(members, { path: "", space, secrets }), secrets };
});

type WriteOptions = { readonly path: string; readonly space: string; readonly secrets: Map<string, string> };

function writeFolder(members: readonly Node[], { path, space, secrets }: WriteOptions): string {
  const written = members.map((node) => {
    const secretPath = path === "" ? node.key : `${path}/${node.key}`;
    if ("members" in node) {
      return `${JSON.stringify(node.key)}:${space}${writeFolder(node.members, { path: secretPath, space, secrets })}`;
    }
    secrets.set(secretPath, describeBytes(node.type, node.bytes));
    // A plain string named $type would turn its folder into a typed secret.
    const value =
      node.key === "$type" && node.type === "text"
        ? typed("text", "value", node.bytes.toString())
        : node.written;
    return `${JSON.stringify(node.key)}${space}:${value}`;
  });
  return `{${space}${written.join(`,${space}`)}${space}}`;
}
