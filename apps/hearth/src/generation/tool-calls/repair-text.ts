import { peek } from "../stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "../stream-parser/scanner.ts";

export type RepairContext = {
  readonly scanner: Scanner;
  /** Receives valid JSON text. */
  readonly write: (text: string) => void;
  /** Markers after a call. Outside of strings they end it; in a string only if nothing else follows. */
  readonly endMarkers: readonly string[];
};

/** Whether a value was read, or what came in place of the rest of it: a marker, or the end of the text. */
export type ValueEnd = "value" | "marker" | "cut";

/**
 * Reads a string between single or double quotes and writes it as JSON while it arrives. Control characters, quotes in
 * the text and unknown escapes are escaped. A string that never ends is closed at the end of the text, without the
 * brackets and markers that were meant to follow it.
 */
export function* repairText(context: RepairContext): ParserSteps<ValueEnd> {
  const { scanner, write } = context;
  const quote = scanner.take(1).text;
  write('"');
  for (;;) {
    const at = findSpecial(context, quote);
    if (at > 0) write(scanner.take(at).text);
    const next = scanner.unread.charAt(0);
    if (next === "" && scanner.endedBy === undefined) yield;
    else if (next === "") return closeText(context, "cut");
    else if (next === quote && (yield* endsText(context))) {
      scanner.take(1);
      write('"');
      return "value";
    } else {
      const end = yield* readSpecial(context, next);
      if (end !== undefined) return closeText(context, end);
    }
  }
}

function closeText({ scanner, write }: RepairContext, end: ValueEnd): ValueEnd {
  // Nothing is repaired if the token limit cut the text.
  if (scanner.endedBy === "length") return "cut";
  write('"');
  return end;
}

/** The length of the text before the next character or marker that needs a decision. */
function findSpecial({ scanner, endMarkers }: RepairContext, quote: string): number {
  const { unread } = scanner;
  const found = unread.search(quote === "'" ? /["'\\}\]\p{Cc}]/u : /["\\}\]\p{Cc}]/u);
  const limit = found === -1 ? unread.length : found;
  const starts = endMarkers.map((marker) => {
    const full = unread.slice(0, limit + marker.length).indexOf(marker);
    return full === -1 ? partialStart(unread.slice(0, limit + 1), marker) : full;
  });
  return Math.min(limit, ...starts);
}

function partialStart(text: string, marker: string): number {
  for (let at = Math.max(0, text.length - marker.length + 1); at < text.length; at += 1) {
    if (marker.startsWith(text.slice(at))) return at;
  }
  return Number.POSITIVE_INFINITY;
}

/** Returns how the string ends here; undefined if it goes on. */
function* readSpecial(context: RepairContext, next: string): ParserSteps<ValueEnd | undefined> {
  const { scanner, write } = context;
  if (next === "\\") return yield* readEscape(context);
  if (next === '"' || next === "'") {
    scanner.take(1);
    write(next === '"' ? String.raw`\"` : "'");
    return undefined;
  }
  // Brackets and line breaks after which only markers follow do not belong to the text.
  const run = /^[}\]\s]*/u.exec(scanner.unread)?.[0] ?? "";
  const after = scanner.unread.slice(run.length);
  if (after === "" && run !== "") {
    if (scanner.endedBy !== undefined) scanner.take(run.length);
    else yield;
    return scanner.unread === "" ? "cut" : undefined;
  }
  const marker = findFinalMarker(context, run.length);
  if (marker === "final") {
    scanner.take(run.length);
    return "marker";
  }
  if (marker === "wait") {
    yield;
    return undefined;
  }
  write(escape(scanner.take(Math.max(1, run.length)).text));
  return undefined;
}

/**
 * Whether the text at an offset is a marker after which nothing but markers follows. A string may mention a marker, so
 * that it is held back until this is decided.
 */
export function findFinalMarker(
  { scanner, endMarkers }: Pick<RepairContext, "scanner" | "endMarkers">,
  offset: number,
): "final" | "wait" | "other" {
  let rest = scanner.unread.slice(offset);
  const isEnded = scanner.endedBy !== undefined;
  for (let found = 0; ; found += 1) {
    const marker = endMarkers.find((each) => rest.startsWith(each));
    if (marker === undefined) {
      if (rest === "" && found > 0) return isEnded ? "final" : "wait";
      const mayGrow = !isEnded && endMarkers.some((each) => each.startsWith(rest));
      return mayGrow ? "wait" : "other";
    }
    rest = rest.slice(marker.length).trimStart();
  }
}

function* readEscape({ scanner, write }: RepairContext): ParserSteps<undefined> {
  const { unread, endedBy } = scanner;
  const isPartial = /^\\(?:u[\da-f]{0,3})?$/iu.test(unread);
  if (isPartial && endedBy === undefined) {
    yield;
    return undefined;
  }
  if (isPartial && unread.length === 1) {
    scanner.take(1);
    return undefined;
  }
  const valid = /^\\(?:["\\/bfnrt]|u[\da-f]{4})/iu.exec(unread)?.[0];
  if (valid !== undefined) write(scanner.take(valid.length).text);
  else if (/^\\['\p{Cc}]/u.test(unread)) {
    scanner.take(1);
    write(escape(scanner.take(1).text));
  } else {
    scanner.take(1);
    write(String.raw`\\`);
  }
  return undefined;
}

/**
 * Whether a quote ends the string. In valid JSON, a comma, a colon or a bracket follows; a quote within the text is
 * followed by something else. If another string follows, a comma is missing.
 */
function* endsText({ scanner, endMarkers }: RepairContext): ParserSteps<boolean> {
  for (;;) {
    const next = scanner.unread.slice(1, 200).trimStart();
    const isEnded = scanner.endedBy !== undefined;
    if (/^[,}\]:]/u.test(next) || endMarkers.some((marker) => next.startsWith(marker))) return true;
    if (next === "" && isEnded) return true;
    const following = /^["'][^"'\\\n]{0,64}["']\s*(?<after>\S)/u.exec(next)?.groups?.["after"];
    if (following !== undefined) return ":,}]".includes(following);
    const mayBeMarker = endMarkers.some((marker) => marker.startsWith(next));
    const mayBeText = /^["'][^"'\\\n]{0,64}(?:["']\s*)?$/u.test(next);
    if (isEnded || !(next === "" || mayBeMarker || mayBeText)) return false;
    yield;
  }
}

function escape(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The whitespace that comes next. */
export function* takeWhitespace(scanner: Scanner): ParserSteps<string> {
  let taken = "";
  while (/^\s$/u.test(yield* peek(scanner))) {
    taken += scanner.take(/^\s*/u.exec(scanner.unread)?.[0].length ?? 0).text;
  }
  return taken;
}
