import {
  type Arbitrary,
  array,
  assert,
  constant,
  double,
  integer,
  nat,
  oneof,
  property,
  record,
} from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type LeaseMeter, type QueuedRequest, RequestQueue } from "./request-queue.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});

afterEach(() => {
  vi.useRealTimers();
});

type Grant = { readonly owner: string; readonly ticket: number; readonly meter: LeaseMeter };
type OwnerOptions = { readonly priority?: number; readonly signal?: AbortSignal };

/** A queue in front of an engine with a number of slots, as the scheduler uses it. */
class FakeModel {
  readonly queue = new RequestQueue<string, string>();
  readonly running: Grant[] = [];
  readonly granted: Grant[] = [];
  readonly aborted: number[] = [];
  readonly slots: number;
  #ticket = 0;

  constructor(slots: number) {
    this.slots = slots;
  }

  get freeSlots(): number {
    return this.slots - this.running.length;
  }

  enqueue(id: string, { priority = 0, signal = new AbortController().signal }: OwnerOptions = {}): number {
    this.#ticket += 1;
    const ticket = this.#ticket;
    const owner = { id, priority };
    const onAbort = (): void => void this.aborted.push(ticket);
    const { result } = this.queue.enqueue({ ticket, owner, request: id, signal, onAbort });
    result.catch(() => undefined);
    this.serve();
    return ticket;
  }

  serve(): void {
    while (this.freeSlots > 0) {
      const next = this.queue.next(() => true, this);
      if (next === undefined) return;
      this.#grant(next);
    }
  }

  #grant(next: QueuedRequest<string, string>): void {
    const grant = { owner: next.owner.id, ticket: next.ticket, meter: this.queue.charge(next) };
    next.resolve("lease");
    this.running.push(grant);
    this.granted.push(grant);
  }

  /** Ends a running request after these tokens; which one, as a fraction of those that run. */
  end(tokens: number, which = 0): void {
    const index = Math.min(this.running.length - 1, Math.floor(which * this.running.length));
    const [grant] = this.running.splice(index, 1);
    grant?.meter.add(tokens, 0);
    grant?.meter.end();
    this.serve();
  }

  ownersOf(grants: readonly Grant[]): readonly string[] {
    return grants.map(({ owner }) => owner);
  }
}

test("with one owner, requests are served in the order of their arrival", () => {
  const arrivals = array(integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 60 });
  assert(
    property(arrivals, integer({ min: 1, max: 8 }), (costs, slots) => {
      const model = new FakeModel(slots);
      const tickets = costs.map(() => model.enqueue("only"));
      for (const cost of costs) model.end(cost);
      expect(model.granted.map(({ ticket }) => ticket)).toEqual(tickets);
    }),
  );
});

type Step =
  | { readonly do: "enqueue"; readonly owner: number }
  | { readonly do: "end"; readonly tokens: number; readonly which: number }
  | { readonly do: "abort"; readonly which: number };

const step: Arbitrary<Step> = oneof(
  { weight: 4, arbitrary: record({ do: constant("enqueue"), owner: nat(5) }) },
  {
    weight: 3,
    arbitrary: record({
      do: constant("end"),
      tokens: integer({ min: 0, max: 2000 }),
      which: double({ min: 0, max: 0.999, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: record({ do: constant("abort"), which: nat(200) }) },
);

/** The simple model: which requests wait, of whom, and which have left. */
function play(steps: readonly Step[], slots: number) {
  const model = new FakeModel(slots);
  const clients = new Map<number, AbortController>();
  const owners = new Map<number, string>();
  const left = new Set<number>();
  const waiting = (): readonly number[] => {
    const granted = new Set(model.granted.map(({ ticket }) => ticket));
    return [...owners.keys()].filter((ticket) => !granted.has(ticket) && !left.has(ticket));
  };
  for (const each of steps) {
    if (each.do === "enqueue") {
      const client = new AbortController();
      const owner = `key ${each.owner}`;
      const ticket = model.enqueue(owner, { signal: client.signal });
      clients.set(ticket, client);
      owners.set(ticket, owner);
    } else if (each.do === "end") model.end(each.tokens, each.which);
    else {
      const ticket = waiting()[each.which % Math.max(1, waiting().length)];
      if (ticket !== undefined) {
        left.add(ticket);
        clients.get(ticket)?.abort(new Error("gone"));
      }
    }
    checkQueue(model, waiting(), owners);
  }
  return { model, waiting, owners };
}

function checkQueue(model: FakeModel, waiting: readonly number[], owners: ReadonlyMap<number, string>): void {
  // Nothing is lost, and what was aborted has left.
  expect(
    model.queue
      .inOrder()
      .map(({ ticket }) => ticket)
      .toSorted(byNumber),
  ).toEqual(waiting.toSorted(byNumber));
  // Work-conserving: a slot is free only if nobody waits, or it is the last one, kept for an owner that has none.
  if (waiting.length === 0 || model.freeSlots === 0) return;
  const holders = new Set(model.ownersOf(model.running));
  expect(model.slots).toBeGreaterThanOrEqual(4);
  expect(model.freeSlots).toBe(1);
  for (const ticket of waiting) expect(holders).toContain(owners.get(ticket));
}

function byNumber(one: number, other: number): number {
  return one - other;
}

test("whatever comes, ends or is aborted, no request is lost, no slot is idle and everything is served at last", () => {
  const steps = array(step, { maxLength: 120 });
  assert(
    property(steps, integer({ min: 1, max: 8 }), (taken, slots) => {
      const { model, waiting, owners } = play(taken, slots);
      for (let round = 0; waiting().length > 0 || model.running.length > 0; round += 1) {
        expect(round).toBeLessThan(owners.size + slots + 1);
        model.end(10);
      }
      expect(model.granted.length + model.aborted.length).toBe(owners.size);
    }),
    { numRuns: 300 },
  );
});

test("owners whose requests differ in length are served the same number of tokens, but for those that are running", () => {
  const costs = array(integer({ min: 50, max: 300 }), { minLength: 2, maxLength: 8 });
  assert(
    property(costs, (perRequest) => {
      const model = new FakeModel(8);
      const served = perRequest.map(() => 0);
      const enqueue = (): void => {
        for (const owner of perRequest.keys()) {
          while (model.queue.waitingOf(String(owner)) < 10) model.enqueue(String(owner));
        }
      };
      for (let count = 0; count < 1200; count += 1) {
        enqueue();
        const owner = Number(model.running[0]?.owner);
        const cost = perRequest[owner] ?? 0;
        // The estimates of the first requests are wrong, as they should be.
        if (count >= 200) served[owner] = (served[owner] ?? 0) + cost;
        model.end(cost);
      }
      // At the beginning of the measurement and at its end.
      const slack = 2 * 8 * Math.max(...perRequest);
      expect(Math.max(...served) - Math.min(...served)).toBeLessThanOrEqual(slack);
    }),
    { numRuns: 40 },
  );
});

test("an owner that comes back gets no credit for its absence, and is still served next", () => {
  const model = new FakeModel(1);
  model.enqueue("late");
  model.end(100);
  for (let count = 0; count < 40; count += 1) model.enqueue("busy");
  for (let count = 0; count < 20; count += 1) model.end(1000);
  for (let count = 0; count < 10; count += 1) model.enqueue("late");
  model.granted.length = 0;
  for (let count = 0; count < 10; count += 1) model.end(1000);
  const [first, ...others] = model.ownersOf(model.granted);
  expect(first).toBe("late");
  // With credit, all ten would be of the owner that was away.
  expect(others.filter((owner) => owner === "late").length).toBeLessThanOrEqual(5);
});

test("an owner with many requests leaves the others their share of the slots", () => {
  const model = new FakeModel(8);
  for (let count = 0; count < 100; count += 1) model.enqueue("greedy");
  expect(model.running).toHaveLength(8);
  for (let count = 0; count < 4; count += 1) model.enqueue("polite");
  for (let count = 0; count < 4; count += 1) model.end(100);
  expect(model.ownersOf(model.running).filter((owner) => owner === "polite")).toHaveLength(4);
});

test("a slot is kept for an owner that was here recently, and given to the others later", () => {
  const model = new FakeModel(4);
  model.enqueue("polite");
  model.end(10);
  for (let count = 0; count < 10; count += 1) model.enqueue("greedy");
  expect(model.ownersOf(model.running)).toEqual(["greedy", "greedy", "greedy"]);
  model.enqueue("polite");
  expect(model.ownersOf(model.running)).toEqual(["greedy", "greedy", "greedy", "polite"]);
  model.end(10, 0.9);
  expect(model.running).toHaveLength(3);
  vi.advanceTimersByTime(301_000);
  model.end(10);
  expect(model.running).toHaveLength(4);
});

test("a higher priority is served first, until the others have waited for fifteen seconds", () => {
  const model = new FakeModel(1);
  model.enqueue("first");
  model.enqueue("low");
  for (let count = 0; count < 3; count += 1) model.enqueue("high", { priority: 5 });
  model.end(10);
  model.end(500);
  expect(model.ownersOf(model.granted)).toEqual(["first", "high", "high"]);
  vi.advanceTimersByTime(16_000);
  model.end(500);
  expect(model.ownersOf(model.granted)).toEqual(["first", "high", "high", "low"]);
});

test("an output token counts as measured, between one and eight prompt tokens", () => {
  const model = new FakeModel(1);
  expect(model.queue.outputWeight).toBe(2);
  const usage = { promptTokens: 100, cachedTokens: 0, outputTokens: 100 };
  for (let count = 0; count < 200; count += 1) {
    model.enqueue("only");
    model.running[0]?.meter.measure(usage, { promptMilliseconds: 100, outputMilliseconds: 450 });
    model.end(10);
  }
  expect(model.queue.outputWeight).toBeCloseTo(4.5, 1);
  const cached = { ...usage, cachedTokens: 90 };
  model.enqueue("only");
  model.running[0]?.meter.measure(cached, { promptMilliseconds: 1, outputMilliseconds: 1_000_000 });
  expect(model.queue.outputWeight).toBeCloseTo(4.5, 1);
});

test("an aborted generation is charged for what it produced, and not for its estimate", () => {
  const model = new FakeModel(1);
  for (const owner of ["aborting", "finishing"]) {
    model.enqueue(owner);
    model.end(1000);
  }
  for (let count = 0; count < 40; count += 1) {
    model.enqueue("aborting");
    model.enqueue("finishing");
  }
  model.granted.length = 0;
  for (let count = 0; count < 30; count += 1) {
    model.end(model.running[0]?.owner === "aborting" ? 100 : 1000);
  }
  const aborted = model.ownersOf(model.granted).filter((owner) => owner === "aborting");
  expect(aborted.length).toBeGreaterThan(20);
});
