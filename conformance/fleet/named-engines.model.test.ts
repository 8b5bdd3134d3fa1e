import { expect, test } from "vitest";
import { runInNetworkNamespace } from "../../apps/hearth/src/models/registry/test/network-namespace.ts";
import type { NamedMoment } from "./find-named-engines.ts";

test("engines behind a DNS name follow its addresses, and stay while the name cannot be resolved", {
  timeout: 120_000,
}, async () => {
  const program = new URL("find-named-engines.ts", import.meta.url);
  // Printed by that program.
  const moments = JSON.parse(await runInNetworkNamespace(program)) as readonly NamedMoment[];
  expect(moments).toEqual([
    { when: "unknown", engines: [], status: 0 },
    { when: "appeared", engines: ["203.0.114.10", "203.0.114.20"], status: 200 },
    { when: "one gone", engines: ["203.0.114.20"], status: 200 },
    { when: "another came", engines: ["203.0.114.20", "203.0.114.30"], status: 200 },
    { when: "name gone", engines: ["203.0.114.20", "203.0.114.30"], status: 200 },
    { when: "name server gone", engines: ["203.0.114.20", "203.0.114.30"], status: 200 },
  ]);
});
