import { textBytes } from "../bytes.ts";
import { nodeSha256 } from "./node-sha256.ts";

/** Integers from 0 up to but excluding the bound, the same in every run. */
export function seededRandom(seed: string): (bound: number) => number {
  let count = 0;
  return (bound) => {
    count += 1;
    const bytes = nodeSha256(textBytes(`${seed} ${count}`));
    return Buffer.from(bytes).readUIntBE(0, 6) % bound;
  };
}
