import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KeyIntake, type Stroke } from "./bracketed-paste.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Takes pieces with a pause after each, in milliseconds, and gives what they are. */
function strokesOf(...pieces: readonly (readonly [text: string, pause: number])[]): readonly string[] {
  const strokes: Stroke[] = [];
  const intake = new KeyIntake((stroke) => strokes.push(stroke));
  for (const [text, pause] of pieces) {
    intake.take(text);
    vi.advanceTimersByTime(pause);
  }
  vi.advanceTimersByTime(1000);
  return strokes.map(({ kind, text }) => `${kind} ${JSON.stringify(text)}`);
}

const [start, end] = ["\u001B[200~", "\u001B[201~"];

test("keys come one line at a time, so that what follows an Enter waits for the next line", () => {
  expect(strokesOf(["se", 0], ["cond\r", 30], ["/bye\r", 30])).toEqual([
    'keys "se"',
    String.raw`keys "cond\r"`,
    String.raw`keys "/bye\r"`,
  ]);
  expect(strokesOf(["\u001B[D\u007Fa\u0003b\u0004", 0])).toEqual([
    String.raw`keys "\u001b[D${"\u007F"}a\u0003"`,
    String.raw`keys "b\u0004"`,
  ]);
});

test("what stands between marks is pasted, however it is broken and however slowly it comes", () => {
  const text = `ab${start}one\rtwo\u001B[A\u0003${end}\r`;
  const whole = ['keys "ab"', String.raw`paste "one\ntwo[A"`, String.raw`keys "\r"`];
  for (let place = 1; place < text.length; place += 1) {
    const strokes = strokesOf([text.slice(0, place), 40], [text.slice(place), 40]);
    // Letters before the mark may come in two parts.
    expect(strokes.join("").replace('"keys "b', "b")).toBe(whole.join(""));
  }
});

test("without marks, lines that come at once are pasted; after a mark was seen they are typed", () => {
  expect(strokesOf(["one\r", 10], ["two\r\n", 0])).toEqual([
    String.raw`paste "one\ntwo"`,
    String.raw`keys "\r\n"`,
  ]);
  expect(strokesOf(["one\r", 20], ["two\r", 20])).toEqual([
    String.raw`keys "one\r"`,
    String.raw`keys "two\r"`,
  ]);
  expect(strokesOf([`${start}x${end}`, 0], ["one\rtwo\r", 0])).toEqual([
    'paste "x"',
    String.raw`keys "one\r"`,
    String.raw`keys "two\r"`,
  ]);
});

test("Ctrl-C and Escape wait for nothing that does not come", () => {
  const seen: string[] = [];
  const intake = new KeyIntake(({ text }) => seen.push(text));
  intake.take("abc\u0003");
  expect(seen).toEqual(["abc\u0003"]);
  intake.take("\u001B");
  vi.advanceTimersByTime(50);
  expect(seen).toEqual(["abc\u0003", "\u001B"]);
  intake.close();
});

test("a paste without an end is cut off at a million letters", () => {
  const strokes: Stroke[] = [];
  const intake = new KeyIntake((stroke) => strokes.push(stroke));
  intake.take(start);
  for (let piece = 0; piece < 30; piece += 1) intake.take("x".repeat(50_000));
  intake.take(end);
  expect(strokes.map(({ text }) => text.length)).toEqual([1_000_000]);
});
