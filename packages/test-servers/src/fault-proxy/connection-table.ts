import type { Socket } from "node:net";
import type { ArmedFault, Ending } from "./fault.ts";
import { ProxiedConnection } from "./proxied-connection.ts";

export type ProxyCounts = {
  /** All since the start, except refused ones. */
  readonly connections: number;
  readonly openConnections: number;
  /** Bytes forwarded, after the faults. */
  readonly bytesToTarget: number;
  readonly bytesToClient: number;
};

/** Every connection through the proxy, numbered from 1 in the order of arrival. */
export class ConnectionTable {
  readonly #target: { readonly host: string; readonly port: number };
  readonly #open = new Set<ProxiedConnection>();
  readonly #closedBytes = { toTarget: 0, toClient: 0 };
  #accepted = 0;
  #faults: readonly ArmedFault[] = [];

  constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target;
  }

  accept(client: Socket): void {
    this.#accepted += 1;
    const plan = { client, target: this.#target, number: this.#accepted, faults: this.#faults };
    const connection = new ProxiedConnection(plan);
    this.#open.add(connection);
    void connection.ended.then(() => this.#close(connection));
  }

  setFaults(faults: readonly ArmedFault[]): void {
    this.#faults = faults;
    for (const connection of this.#open) connection.setFaults(faults);
  }

  cut(how: Ending): void {
    for (const connection of this.#open) connection.end(how);
  }

  counts(): ProxyCounts {
    const open = [...this.#open];
    return {
      connections: this.#accepted,
      openConnections: open.length,
      bytesToTarget: open.reduce((sum, { bytesToTarget }) => sum + bytesToTarget, this.#closedBytes.toTarget),
      bytesToClient: open.reduce((sum, { bytesToClient }) => sum + bytesToClient, this.#closedBytes.toClient),
    };
  }

  async destroy(): Promise<void> {
    const open = [...this.#open];
    for (const connection of open) connection.destroy();
    await Promise.all(open.map((connection) => connection.ended));
  }

  #close(connection: ProxiedConnection): void {
    this.#open.delete(connection);
    this.#closedBytes.toTarget += connection.bytesToTarget;
    this.#closedBytes.toClient += connection.bytesToClient;
  }
}
