/**
 * @module
 * A TCP proxy that injects faults, to put in front of any server under test: delayed, slow, cut, stalled, corrupted or
 * falsified responses, and refused connections. Faults are deterministic in bytes and position, back-pressure is kept
 * in both directions, and without faults nothing changes.
 * Imported through the package's index by tests, benchmarks and claims; independent of the other test servers.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { listenOnLoopback } from "../loopback-port.ts";
import { ConnectionTable, type ProxyCounts } from "./connection-table.ts";
import { armFault, type ConnectionFault, type Ending, type Fault } from "./fault.ts";

export type FaultProxyPlan = {
  /** URL of the real server with its port; the scheme and the path may be anything. */
  readonly target: string;
  readonly faults?: readonly Fault[];
};

export type FaultProxy = AsyncDisposable & {
  /** The target's URL with the proxy's host and port. */
  readonly url: string;
  readonly port: number;
  /** Replaces all faults, also on open connections; positions and `times` are counted from here. */
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
      await setListening(server, { isOpen: onConnections.length === next.length, port });
    },
    cutConnections: (how) => table.cut(how),
    counts: () => table.counts(),
    async [Symbol.asyncDispose]() {
      await setListening(server, { isOpen: false, port });
      await table.destroy();
    },
  };
  try {
    await proxy.setFaults(faults);
  } catch (error) {
    await proxy[Symbol.asyncDispose]();
    throw error;
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

/** Clients get a real "connection refused" only when the port is not open. */
async function setListening(server: Server, state: { isOpen: boolean; port: number }): Promise<void> {
  if (state.isOpen === server.listening) return;
  if (state.isOpen) {
    server.listen(state.port, "127.0.0.1");
    await once(server, "listening");
  } else {
    // The port is closed immediately; the "close" event would wait for open connections, which stay open.
    server.close();
  }
}

function replaceAddress(target: string, port: number): string {
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String(port);
  return url.href.replace(/\/$/, target.endsWith("/") ? "/" : "");
}
