import { collectUntil, nextOf, peek, takeLiteral } from "../splitting/read-text.ts";
import type { Scanner, Steps } from "../splitting/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import type { Outcome } from "./json-calls.ts";
import { takeSign } from "./json-text.ts";
import { toJsonText } from "./python-values.ts";

const quote = '<|"|>';

/** Reads `name{key:value,…}`, where keys are bare and texts stand between marks of their own. */
export function* readGemmaCall(scanner: Scanner, writer: CallWriter): Steps<Outcome> {
  const heading = yield* collectUntil(scanner, ["{"]);
  if (heading.marker === undefined) return "unfinished";
  const name = heading.text.trim();
  if (!/^[\w.-]+$/u.test(name)) return "other";
  writer.start(name, undefined);
  const value = yield* readValue(scanner);
  if (value === undefined)
    return scanner.endedBy !== undefined && scanner.unread === "" ? "unfinished" : "other";
  writer.write(value);
  writer.end();
  return "whole";
}

/** A value as JSON text; undefined for what is none. */
function* readValue(scanner: Scanner): Steps<string | undefined> {
  if ((yield* nextOf(scanner, [quote])) !== undefined) return yield* readText(scanner);
  const sign = yield* takeSign(scanner, "{[");
  if (sign === "{") return yield* readItems(scanner, { close: "}", hasKeys: true });
  if (sign === "[") return yield* readItems(scanner, { close: "]", hasKeys: false });
  const { text, marker } = yield* collectUntil(scanner, [",", "}", "]"]);
  // The family's template prints nothing at all for null.
  return marker === undefined ? undefined : toJsonText(text.trim() === "" ? "null" : text);
}

function* readText(scanner: Scanner): Steps<string | undefined> {
  scanner.take(quote.length);
  const { text, marker } = yield* collectUntil(scanner, [quote]);
  scanner.take(marker?.length ?? 0);
  return marker === undefined ? undefined : JSON.stringify(text);
}

type Items = { readonly close: string; readonly hasKeys: boolean };

function* readItems(scanner: Scanner, { close, hasKeys }: Items): Steps<string | undefined> {
  const items: string[] = [];
  if (yield* takeLiteral(scanner, close)) return hasKeys ? "{}" : "[]";
  for (;;) {
    const key = hasKeys ? yield* readKey(scanner) : "";
    if (key === undefined) return undefined;
    const value = yield* readValue(scanner);
    if (value === undefined) return undefined;
    items.push(key + value);
    const sign = yield* takeSign(scanner, `,${close}`);
    if (sign === undefined) return undefined;
    if (sign === close) return hasKeys ? `{${items.join(", ")}}` : `[${items.join(", ")}]`;
    yield* peek(scanner);
  }
}

function* readKey(scanner: Scanner): Steps<string | undefined> {
  const { text, marker } = yield* collectUntil(scanner, [":"]);
  scanner.take(marker?.length ?? 0);
  if (marker === undefined) return undefined;
  return `${JSON.stringify(text.trim().replaceAll(quote, ""))}: `;
}
