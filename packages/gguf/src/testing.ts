export type { MutantFamily } from "./test/mutation/change-field.ts";
export {
  generateByteFlips,
  generateStructuralMutants,
  generateTruncations,
  type Mutant,
  type SeedFile,
} from "./test/mutation/mutate.ts";
export { type Entry, type EntryValue, type WrittenModel, writeModel } from "./writing/write-model.ts";
