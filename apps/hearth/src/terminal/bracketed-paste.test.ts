import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { InputParser, type TerminalInput } from "./bracketed-paste.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Feeds chunks, each followed by a pause in milliseconds, and returns the parsed inputs. */
function parse(...chunks: readonly (readonly [text: string, pause: number])[]): readonly string[] {
  const inputs: TerminalInput[] = [];
  const parser = new InputParser((input) => inputs.push(input));
  for (const [text, pause] of chunks) {
    parser.feed(text);
    vi.advanceTimersByTime(pause);
  }
  vi.advanceTimersByTime(1000);
  return inputs.map(({ kind, text }) => `${kind} ${JSON.stringify(text)}`);
}

const [start, end] = ["\u001B[200~", "\u001B[201~"];

test("keys are emitted one line at a time, so that input after Enter can wait for the next line", () => {
  expect(parse(["se", 0], ["cond\r", 30], ["/bye\r", 30])).toEqual([
    'keys "se"',
    String.raw`keys "cond\r"`,
    String.raw`keys "/bye\r"`,
  ]);
  expect(parse(["\u001B[D\u007Fa\u0003b\u0004", 0])).toEqual([
    String.raw`keys "\u001b[D${"\u007F"}a\u0003"`,
    String.raw`keys "b\u0004"`,
  ]);
});

test("text between markers is a paste, however it is split and however slowly it arrives", () => {
  const text = `ab${start}one\rtwo\u001B[A\u0003${end}\r`;
  const expected = ['keys "ab"', String.raw`paste "one\ntwo[A"`, String.raw`keys "\r"`];
  for (let offset = 1; offset < text.length; offset += 1) {
    const inputs = parse([text.slice(0, offset), 40], [text.slice(offset), 40]);
    // Keys before the marker may be emitted in two chunks.
    expect(inputs.join("").replace('"keys "b', "b")).toBe(expected.join(""));
  }
});

test("without markers, lines that arrive at once are a paste; after a marker was seen they are typed", () => {
  expect(parse(["one\r", 10], ["two\r\n", 0])).toEqual([
    String.raw`paste "one\ntwo"`,
    String.raw`keys "\r\n"`,
  ]);
  expect(parse(["one\r", 20], ["two\r", 20])).toEqual([String.raw`keys "one\r"`, String.raw`keys "two\r"`]);
  expect(parse([`${start}x${end}`, 0], ["one\rtwo\r", 0])).toEqual([
    'paste "x"',
    String.raw`keys "one\r"`,
    String.raw`keys "two\r"`,
  ]);
});

test("Ctrl-C and Escape are not held back", () => {
  const seen: string[] = [];
  const parser = new InputParser(({ text }) => seen.push(text));
  parser.feed("abc\u0003");
  expect(seen).toEqual(["abc\u0003"]);
  parser.feed("\u001B");
  vi.advanceTimersByTime(50);
  expect(seen).toEqual(["abc\u0003", "\u001B"]);
  parser.close();
});

test("a paste without an end marker is limited to a million characters", () => {
  const inputs: TerminalInput[] = [];
  const parser = new InputParser((input) => inputs.push(input));
  parser.feed(start);
  for (let chunk = 0; chunk < 30; chunk += 1) parser.feed("x".repeat(50_000));
  parser.feed(end);
  expect(inputs.map(({ text }) => text.length)).toEqual([1_000_000]);
});
