/**
 * @module
 * A TCP proxy that misbehaves on command, to put in front of any server a test talks to: late, slow, cut,
 * silent, corrupted or lying answers, and refused connections. It promises the same bytes and the same moment
 * for the same faults, keeps the back-pressure of both sides, and without faults changes nothing.
 * Imported through the package's index by tests, benchmarks and `show`; it knows none of the other parts.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { listenOnLoopback } from "../loopback-port.ts";
import { ConnectionTable, type ProxyCounts } from "./connection-table.ts";
import { armFault, type ConnectionFault, type Ending, type Fault } from "./fault.ts";

export type FaultProxyPlan = {
  /** Address of the real server with its port; the scheme and the path may be anything. */
  readonly target: string;
  readonly faults?: readonly Fault[];
};

export type FaultProxy = AsyncDisposable & {
  /** The target's address with the proxy's host and port in it. */
  readonly url: string;
  readonly port: number;
  /** Replaces all faults, on open connections too; positions and `times` count anew from here. */
  setFaults(faults: readonly Fault[]): Promise<void>;
  cutConnections(how: Ending): void;
  counts(): ProxyCounts;
};

export async function startFaultProxy({ target, faults = [] }: FaultProxyPlan): Promise<FaultProxy> {
  const table = new ConnectionTable(readTarget(target));
  const server = createServer({ allowHalfOpen: true }, (client) => table.accept(client));
  const port = await listenOnLoopback(server);
  const proxy: FaultProxy = {
    url: replaceAddress(target, port),
    port,
    async setFaults(next) {
      const onConnections = next.filter(isConnectionFault);
      table.setFaults(onConnections.map(armFault));
      await setDoor(server, { isOpen: onConnections.length === next.length, port });
    },
    cutConnections: (how) => table.cut(how),
    counts: () => table.counts(),
    async [Symbol.asyncDispose]() {
      await setDoor(server, { isOpen: false, port });
      await table.destroy();
    },
  };
  try {
    await proxy.setFaults(faults);
  } catch (problem) {
    await proxy[Symbol.asyncDispose]();
    throw problem;
  }
  return proxy;
}

function readTarget(target: string): { host: string; port: number } {
  const url = URL.parse(target);
  if (url === null || url.port === "") {
    throw new Error(`Cannot start the fault proxy: "${target}" is not an address with a port`);
  }
  return { host: url.hostname, port: Number(url.port) };
}

function isConnectionFault(fault: Fault): fault is ConnectionFault {
  return fault.kind !== "refuse";
}

/** Only a socket that does not listen gives clients a real "connection refused". */
async function setDoor(server: Server, door: { isOpen: boolean; port: number }): Promise<void> {
  if (door.isOpen === server.listening) return;
  if (door.isOpen) {
    server.listen(door.port, "127.0.0.1");
    await once(server, "listening");
  } else {
    // The port is free at once; the "close" event waits for open connections, which live on.
    server.close();
  }
}

function replaceAddress(target: string, port: number): string {
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String(port);
  return url.href.replace(/\/$/, target.endsWith("/") ? "/" : "");
}
