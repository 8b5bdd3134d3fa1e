export type { MutantFamily } from "./test/mutation/change-field.ts";
export {
  type Mutant,
  makeByteFlips,
  makeStructuralMutants,
  makeTruncations,
  type SeedFile,
} from "./test/mutation/mutate.ts";
export { type Entry, type EntryValue, type WrittenModel, writeModel } from "./writing/write-model.ts";
