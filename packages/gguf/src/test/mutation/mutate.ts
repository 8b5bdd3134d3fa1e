/**
 * @module
 * Mutants of valid model files, the same for the same seed on every machine.
 * A structural mutant changes one field of the header in a way its role suggests; a byte flip changes any byte.
 * A mutant may still be a legal file, as when a name changes; who counts refusals must ask llama.cpp's reader.
 * Used by tests only, through the package's `testing.ts`.
 */
import { changeField, type MutantFamily, rolesByFamily } from "./change-field.ts";
import { type Field, mapFields } from "./map-fields.ts";
import { type SeededRandom, seededRandom } from "./seeded-random.ts";

export type SeedFile = { readonly name: string; readonly bytes: Uint8Array };

export type Mutant = {
  readonly seedName: string;
  readonly family: MutantFamily | "truncation" | "byte-flip";
  /** What was changed, enough to make it again. */
  readonly change: string;
  readonly bytes: Uint8Array;
};

type MutationPlan = { readonly seed: number; readonly count: number };

/** Structural mutants in turn over the families and, within a family, over the files that have such fields. */
export function* makeStructuralMutants(
  files: readonly SeedFile[],
  { seed, count }: MutationPlan,
): Generator<Mutant> {
  const random = seededRandom(seed);
  const families = sortFields(files);
  for (let made = 0; made < count; made += 1) {
    const { family, targets } = families[made % families.length] ?? random.pick(families);
    const target = targets[Math.floor(made / families.length) % targets.length] ?? random.pick(targets);
    yield family === "truncation" ? truncate(target, random) : change(target, family, random);
  }
}

export function* makeByteFlips(files: readonly SeedFile[], { seed, count }: MutationPlan): Generator<Mutant> {
  const random = seededRandom(seed);
  const ends = files.map(({ bytes }) => headerEnd(mapFields(bytes)));
  for (let made = 0; made < count; made += 1) {
    const index = made % files.length;
    const file = files[index] ?? random.pick(files);
    // Nine of ten hit the header: what lies in the weights changes an answer, never a size.
    const end = random.below(10) === 0 ? file.bytes.length : (ends[index] ?? 1);
    const offset = random.below(end);
    const mask = random.below(2) === 0 ? 1 << random.below(8) : 1 + random.below(255);
    const bytes = Uint8Array.from(file.bytes);
    bytes[offset] = (bytes[offset] ?? 0) ^ mask;
    yield { seedName: file.name, family: "byte-flip", change: `byte ${offset} ^ ${mask}`, bytes };
  }
}

/** The file cut at the start of every field of its header, or of every so many. */
export function* makeTruncations(file: SeedFile, most: number): Generator<Mutant> {
  const fields = mapFields(file.bytes);
  const step = Math.max(1, Math.ceil(fields.length / most));
  for (let index = 0; index < fields.length; index += step) {
    const field = fields[index];
    if (field !== undefined) yield cutAt(file, field, field.offset);
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
  return cutAt(file, field, field.offset + random.below(Math.max(1, field.bytes)));
}

function cutAt(file: SeedFile, field: Field, end: number): Mutant {
  return {
    seedName: file.name,
    family: "truncation",
    change: `${describe(field)} cut at byte ${end}`,
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
