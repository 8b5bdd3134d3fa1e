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
  readonly #lanes: { readonly toTarget: DirectionState; readonly toClient: DirectionState };
  #lastDirection: Direction | undefined;

  constructor({ client, target, number, faults }: ConnectionPlan) {
    const upstream = connect({ ...target, allowHalfOpen: true });
    this.#client = client;
    this.#upstream = upstream;
    const closed = [whenClosed(client), whenClosed(upstream)];
    const toTarget = { source: client, sink: upstream };
    const toClient = { source: upstream, sink: client };
    this.#lanes = {
      toTarget: new DirectionState({ ...toTarget, ...this.#laneParts("to-target", number) }, faults),
      toClient: new DirectionState({ ...toClient, ...this.#laneParts("to-client", number) }, faults),
    };
    // A failure of one side (a reset, or a target that refuses) becomes a reset of the other.
    Promise.all([this.#lanes.toTarget.run(), this.#lanes.toClient.run()]).catch(() => this.end("reset"));
    this.ended = Promise.all(closed).then(() => undefined);
  }

  get bytesToTarget(): number {
    return this.#lanes.toTarget.forwardedBytes;
  }

  get bytesToClient(): number {
    return this.#lanes.toClient.forwardedBytes;
  }

  setFaults(faults: readonly ArmedFault[]): void {
    this.#lanes.toTarget.setFaults(faults);
    this.#lanes.toClient.setFaults(faults);
  }

  end(how: Ending): void {
    this.#lanes.toTarget.stop();
    this.#lanes.toClient.stop();
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

  #laneParts(direction: Direction, connection: number) {
    return {
      place: { connection, direction },
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
  // The lane that uses the socket gets the same error from its read or write; without a listener Node would exit.
  socket.on("error", () => undefined);
  return new Promise((resolve) => socket.once("close", () => resolve()));
}
