/**
 * @module
 * Generates mutants of valid model files, reproducible from a seed on every machine.
 * A structural mutant changes one header field according to its role; a byte flip changes any byte.
 * A mutant can still be a valid file, e.g. if only a name changes, so tests that count rejections compare with
 * llama.cpp's reader. Used by tests only, through the package's `testing.ts`.
 */
import { changeField, type MutantFamily, rolesByFamily } from "./change-field.ts";
import { type Field, mapFields } from "./map-fields.ts";
import { type SeededRandom, seededRandom } from "./seeded-random.ts";

export type SeedFile = { readonly name: string; readonly bytes: Uint8Array };

export type Mutant = {
  readonly seedName: string;
  readonly family: MutantFamily | "truncation" | "byte-flip";
  /** Describes the change in enough detail to reproduce it. */
  readonly change: string;
  readonly bytes: Uint8Array;
};

type MutationPlan = { readonly seed: number; readonly count: number };

/** Cycles through the families and, within a family, through the files that have such fields. */
export function* generateStructuralMutants(
  files: readonly SeedFile[],
  { seed, count }: MutationPlan,
): Generator<Mutant> {
  const random = seededRandom(seed);
  const families = sortFields(files);
  for (let index = 0; index < count; index += 1) {
    const { family, targets } = families[index % families.length] ?? random.pick(families);
    const target = targets[Math.floor(index / families.length) % targets.length] ?? random.pick(targets);
    yield family === "truncation" ? truncate(target, random) : change(target, family, random);
  }
}

export function* generateByteFlips(
  files: readonly SeedFile[],
  { seed, count }: MutationPlan,
): Generator<Mutant> {
  const random = seededRandom(seed);
  const ends = files.map(({ bytes }) => headerEnd(mapFields(bytes)));
  for (let index = 0; index < count; index += 1) {
    const fileIndex = index % files.length;
    const file = files[fileIndex] ?? random.pick(files);
    // Nine of ten hit the header: a change in the weights affects the output but no size.
    const end = random.below(10) === 0 ? file.bytes.length : (ends[fileIndex] ?? 1);
    const offset = random.below(end);
    const mask = random.below(2) === 0 ? 1 << random.below(8) : 1 + random.below(255);
    const bytes = Uint8Array.from(file.bytes);
    bytes[offset] = (bytes[offset] ?? 0) ^ mask;
    yield { seedName: file.name, family: "byte-flip", change: `byte ${offset} ^ ${mask}`, bytes };
  }
}

/** Truncates the file at the start of each header field, or of evenly spaced ones if there are more than `maxCount`. */
export function* generateTruncations(file: SeedFile, maxCount: number): Generator<Mutant> {
  const fields = mapFields(file.bytes);
  const step = Math.max(1, Math.ceil(fields.length / maxCount));
  for (let index = 0; index < fields.length; index += step) {
    const field = fields[index];
    if (field !== undefined) yield truncateAt(file, field, field.offset);
  }
}

type Target = { readonly file: SeedFile; readonly fields: readonly Field[] };
type FamilyTargets = { readonly family: MutantFamily | "truncation"; readonly targets: readonly Target[] };

function sortFields(files: readonly SeedFile[]): readonly FamilyTargets[] {
  const mapped = files.map((file) => ({ file, fields: mapFields(file.bytes) }));
  const families = rolesByFamily.map(({ family, accepts }) => ({
    family,
    targets: mapped
      .map(({ file, fields }) => ({ file, fields: fields.filter(accepts) }))
      .filter(({ fields }) => fields.length > 0),
  }));
  return [...families.filter(({ targets }) => targets.length > 0), { family: "truncation", targets: mapped }];
}

function change({ file, fields }: Target, family: MutantFamily, random: SeededRandom): Mutant {
  const field = random.pick(fields);
  const bytes = Uint8Array.from(file.bytes);
  const description = changeField(bytes, { field, fields }, random);
  return { seedName: file.name, family, change: `${describe(field)} ${description}`, bytes };
}

function truncate({ file, fields }: Target, random: SeededRandom): Mutant {
  const field = random.pick(fields);
  return truncateAt(file, field, field.offset + random.below(Math.max(1, field.bytes)));
}

function truncateAt(file: SeedFile, field: Field, end: number): Mutant {
  return {
    seedName: file.name,
    family: "truncation",
    change: `${describe(field)} truncated at byte ${end}`,
    bytes: file.bytes.subarray(0, end),
  };
}

function describe({ role, owner, offset }: Field): string {
  return `${role} of "${owner.slice(0, 60)}" at ${offset}`;
}

function headerEnd(fields: readonly Field[]): number {
  const last = fields.at(-1);
  return last === undefined ? 1 : last.offset + last.bytes;
}
