import { Client } from "pg";
import { generateId } from "../../generate-id.ts";
import type { TestKeep, TestPerson } from "../../test/start-test-keep.ts";
import { type Month, monthBefore, parseMonth } from "../archive/months.ts";
import { createAuditLog } from "../audit-log.ts";
import { type CommittedRecord, type NodeLog, type Numbering, openNodeLog } from "../node-log.ts";

export type PastYear = {
  /** The twelve months before the current one, oldest first. */
  readonly months: readonly Month[];
  /** Checkpoints of all times, as a checkpoint file would have them. */
  readonly notes: readonly string[];
};

const minRecordsPerBatch = 60;
const batchesPerMonth = 20;
/** How many records are out of order around each end of a month. */
const shuffledAtEnd = 6;
const microsecondsApart = 1000;

/** The year before the current month, of which records can be added month by month. */
export type OpenedYear = AsyncDisposable &
  PastYear & {
    /** Records the reads of the next months. */
    record(months: number): Promise<void>;
  };

/** Reads in two logs, one of which adopts records of the other, through Keep's own functions. */
export async function openPastYear(
  keep: TestKeep,
  people: readonly TestPerson[],
  recordsPerMonth: number,
): Promise<OpenedYear> {
  const months = lastTwelveMonths();
  await runAsSuperuser(keep, months.flatMap(partitionStatements));
  const notes: string[] = [];
  const originPrefix = "past/audit/";
  await using cleanup = new AsyncDisposableStack();
  const first = cleanup.use(await openNodeLog({ ...keep.services, originPrefix }));
  const second = cleanup.use(await openNodeLog({ ...keep.services, originPrefix }));
  const numbers = numbersOf(months, recordsPerMonth);
  const firstId = first.numbering.log;
  const recorders = [
    createRecorder(
      keep,
      first,
      numbers.map((number) => ({ log: firstId, number })),
    ),
    createRecorder(keep, second, adoptSome(numbers, second.numbering.log, firstId)),
  ];
  const owned = cleanup.move();
  return {
    months,
    notes,
    async record(count) {
      for (const recorder of recorders) notes.push(...(await recorder(people, count * recordsPerMonth)));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

export async function recordPastYear(
  keep: TestKeep,
  people: readonly TestPerson[],
  recordsPerMonth: number,
): Promise<PastYear> {
  await using year = await openPastYear(keep, people, recordsPerMonth);
  await year.record(year.months.length);
  return year;
}

type RecordName = { readonly log: number; readonly number: number };

function adoptSome(numbers: readonly number[], own: number, other: number): readonly RecordName[] {
  return numbers.map((number, index) =>
    index % 50 === 49 ? { log: other, number: number + 1 } : { log: own, number },
  );
}

/** Gives every record the name that is set, instead of the next number of the clock. */
export function setNextName(numbering: Numbering, { log, number }: RecordName): void {
  numbering.log = log;
  numbering.last = number - 1;
  numbering.offset = Number.NEGATIVE_INFINITY;
}

/** Records the next of these names at each call, and returns the checkpoints. */
function createRecorder({ services }: TestKeep, nodeLog: NodeLog, names: readonly RecordName[]) {
  let next = 0;
  const numbering = { log: 0, last: 0, offset: 0 };
  const committed: CommittedRecord[] = [];
  const { database, serverKeys } = services;
  const audit = createAuditLog({ database, rowMacs: serverKeys.rowMacs, nodeLog: { numbering, committed } });
  const recordsPerBatch = Math.max(minRecordsPerBatch, Math.floor(names.length / 12 / batchesPerMonth));
  return async (people: readonly TestPerson[], records: number): Promise<readonly string[]> => {
    const notes: string[] = [];
    const wanted = names.slice(next, (next += records));
    for (let start = 0; start < wanted.length; start += recordsPerBatch) {
      const batch = wanted.slice(start, start + recordsPerBatch);
      await recordReads(people, batch.length, (entry, index) => {
        setNextName(numbering, batch[index] ?? { log: 0, number: 0 });
        return audit.recordRead(entry);
      });
      // In the order of the names; the few commits that this takes may end in another one.
      const byName = new Map(committed.splice(0).map((record) => [`${record.log}/${record.number}`, record]));
      nodeLog.committed.push(...batch.flatMap(({ log, number }) => byName.get(`${log}/${number}`) ?? []));
      await nodeLog.append();
      notes.push(nodeLog.latestCheckpoint() ?? "");
    }
    return notes;
  };
}

type ReadEntry = Parameters<ReturnType<typeof createAuditLog>["recordRead"]>[0];

async function recordReads(
  people: readonly TestPerson[],
  count: number,
  record: (entry: ReadEntry, index: number) => Promise<void>,
): Promise<void> {
  const by = { kind: "token", id: generateId(), address: "127.0.0.1" } as const;
  await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const { accountId = "", vaultId } = people[index % people.length] ?? {};
      const event = {
        type: "value-read",
        secret: generateId(),
        path: `/größe/${index}`,
        version: 1,
      } as const;
      return record({ accountId, vaultId, by, event }, index);
    }),
  );
}

function lastTwelveMonths(): readonly Month[] {
  const months: Month[] = [];
  let month = parseMonth(new Date().toISOString().slice(0, 7));
  while (month !== undefined && months.length < 12) {
    month = parseMonth(monthBefore(month));
    if (month !== undefined) months.unshift(month);
  }
  return months;
}

function partitionStatements({ name, start, end }: Month): readonly string[] {
  const partition = `audit_record_${name.replace("-", "_")}`;
  return [
    `CREATE TABLE ${partition} (LIKE audit_record INCLUDING DEFAULTS)`,
    `ALTER TABLE audit_record ATTACH PARTITION ${partition} FOR VALUES FROM (${start}) TO (${end})`,
  ];
}

/** Evenly over each month, and in another order at its end, as leaves are when several requests commit at once. */
function numbersOf(months: readonly Month[], perMonth: number): readonly number[] {
  const numbers = months.flatMap(({ start, end }) =>
    Array.from({ length: perMonth }, (_, index) => {
      if (index < shuffledAtEnd) return start + index * microsecondsApart;
      if (index >= perMonth - shuffledAtEnd) return end - (perMonth - index) * microsecondsApart;
      return start + Math.floor(((end - start) / perMonth) * index);
    }),
  );
  for (let end = perMonth; end < numbers.length; end += perMonth) {
    const around = numbers.slice(end - shuffledAtEnd, end + shuffledAtEnd);
    numbers.splice(end - shuffledAtEnd, around.length, ...around.toReversed());
  }
  return numbers;
}

export async function runAsSuperuser<Row extends object>(
  { databaseUrl }: Pick<TestKeep, "databaseUrl">,
  statements: readonly string[],
): Promise<readonly Row[]> {
  const superuser = new Client(databaseUrl);
  await superuser.connect();
  try {
    let rows: readonly Row[] = [];
    for (const statement of statements) rows = (await superuser.query<Row>(statement)).rows;
    return rows;
  } finally {
    await superuser.end();
  }
}
