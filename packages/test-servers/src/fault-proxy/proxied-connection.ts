import { connect, type Socket } from "node:net";
import { DirectionState } from "./direction.ts";
import type { ArmedFault, Direction, Ending } from "./fault.ts";

type ConnectionPlan = {
  readonly client: Socket;
  readonly target: { readonly host: string; readonly port: number };
  /** Counted from 1. */
  readonly number: number;
  readonly faults: readonly ArmedFault[];
};

/** A client's connection and the one opened to the target for it; they end together. */
export class ProxiedConnection {
  /** Resolves when both sockets are closed; never rejects. */
  readonly ended: Promise<void>;
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #directions: { readonly toTarget: DirectionState; readonly toClient: DirectionState };
  #lastDirection: Direction | undefined;

  constructor({ client, target, number, faults }: ConnectionPlan) {
    const upstream = connect({ ...target, allowHalfOpen: true });
    this.#client = client;
    this.#upstream = upstream;
    const closed = [whenClosed(client), whenClosed(upstream)];
    const toTarget = { source: client, sink: upstream };
    const toClient = { source: upstream, sink: client };
    this.#directions = {
      toTarget: new DirectionState({ ...toTarget, ...this.#directionOptions("to-target", number) }, faults),
      toClient: new DirectionState({ ...toClient, ...this.#directionOptions("to-client", number) }, faults),
    };
    // A failure on one side (a reset, or a refused connection) resets the other.
    Promise.all([this.#directions.toTarget.run(), this.#directions.toClient.run()]).catch(() =>
      this.end("reset"),
    );
    this.ended = Promise.all(closed).then(() => undefined);
  }

  get bytesToTarget(): number {
    return this.#directions.toTarget.forwardedBytes;
  }

  get bytesToClient(): number {
    return this.#directions.toClient.forwardedBytes;
  }

  setFaults(faults: readonly ArmedFault[]): void {
    this.#directions.toTarget.setFaults(faults);
    this.#directions.toClient.setFaults(faults);
  }

  end(how: Ending): void {
    this.#directions.toTarget.stop();
    this.#directions.toClient.stop();
    for (const socket of [this.#client, this.#upstream]) {
      if (how === "close") socket.end();
      else if (socket.connecting) socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  destroy(): void {
    this.end("close");
    this.#client.destroy();
    this.#upstream.destroy();
  }

  #directionOptions(direction: Direction, connection: number) {
    return {
      side: { connection, direction },
      noteTurn: () => {
        const isNew = this.#lastDirection !== direction;
        this.#lastDirection = direction;
        return isNew;
      },
      endConnection: (how: Ending) => this.end(how),
    };
  }
}

function whenClosed(socket: Socket): Promise<void> {
  // The direction that uses the socket gets the same error from its read or write; without a listener Node exits.
  socket.on("error", () => undefined);
  return new Promise((resolve) => socket.once("close", () => resolve()));
}
