import { Buffer } from "node:buffer";
import type { Transform } from "node:stream";
import { createMask, maskWhole } from "../run/mask-secrets.ts";

/** The values that left this process in this run, and what removes them from responses. */
export type ReleasedValues = {
  /** False when it is too short to be recognized. */
  add(value: string): boolean;
  /** Also removes values that are added while it runs: a host can answer an earlier request with what a later one contains. */
  createMask(): Transform;
  readonly mask: (text: string) => string;
  /** Whether the name of a header contains a value, in any case and without the characters that names cannot have. */
  isIn(name: string): boolean;
};

const minCharacters = 8;

export function createReleasedValues(): ReleasedValues {
  let values: readonly string[] = [];
  return {
    add(value) {
      if (value.length < minCharacters) return false;
      if (!values.includes(value)) values = [...values, value];
      return true;
    },
    createMask: () => createMask(() => values)(),
    // Headers are Latin-1, in which a character is a byte.
    mask: (text) => maskWhole(values, Buffer.from(text, "latin1")).toString("latin1"),
    isIn: (name) => values.some((value) => toToken(name).includes(toToken(value))),
  };
}

/** As it can be in the name of a header. */
function toToken(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/gu, "");
}
