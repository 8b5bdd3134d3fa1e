import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ProcessLock } from "./process-lock.ts";

test("a lock is held by one holder at a time, and can be acquired again after its release", () => {
  const folder = mkdtempSync(join(tmpdir(), "lock-"));
  try {
    const path = join(folder, "locks", "changes");
    const [one, other] = [new ProcessLock(path), new ProcessLock(path)];
    expect([one.tryAcquire(), other.tryAcquire()]).toEqual([true, false]);
    one.release();
    expect([other.tryAcquire(), one.tryAcquire()]).toEqual([true, false]);
    other.release();
    expect(new ProcessLock(join(folder, "locks", "downloads")).tryAcquire()).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a lock that cannot be written is always acquired", () => {
  const lock = new ProcessLock("/proc/locks/changes");
  expect([lock.tryAcquire(), lock.tryAcquire()]).toEqual([true, true]);
  lock.release();
});
