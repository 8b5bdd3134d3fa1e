/** One of the places a context has for conversations; what it holds is known to its owner. */
export type Place<Holder> = {
  readonly holder: Holder;
  /** Its number in the context. */
  readonly number: number;
  /** Whose conversation is in it; undefined when nobody may use what is there. */
  partition: string | undefined;
  isTaken: boolean;
  usedAt: number;
};

export type Wanted = {
  readonly prompt: readonly number[];
  readonly partition: string;
  readonly signal: AbortSignal;
};

export type PlacePoolParts<Holder> = {
  /** The tokens that a place has in it. */
  readonly present: (holder: Holder) => readonly number[];
  /** Whether places beside those at work are better than places that were idle for longest. */
  readonly prefersNeighbours: boolean;
};

type Waiting<Holder> = { readonly wanted: Wanted; readonly give: (place: Place<Holder>) => void };

/**
 * The places of one context, lent one to each conversation under way, first come first served. A request gets the
 * free one that has the longest part of its prompt already in it; what another partition left behind is never used,
 * not even to measure.
 */
export class PlacePool<Holder> {
  readonly #places: readonly Place<Holder>[];
  readonly #parts: PlacePoolParts<Holder>;
  #waiting: Waiting<Holder>[] = [];

  constructor(holders: readonly Holder[], parts: PlacePoolParts<Holder>) {
    this.#parts = parts;
    this.#places = holders.map((holder, number) => ({
      holder,
      number,
      partition: undefined,
      isTaken: false,
      usedAt: 0,
    }));
  }

  get freePlaces(): number {
    return this.#places.filter((place) => !place.isTaken).length;
  }

  get waitingRequests(): number {
    return this.#waiting.length;
  }

  take(wanted: Wanted): Promise<Place<Holder>> {
    // A signal that has fired already tells nobody, so who left before would wait for a place.
    if (wanted.signal.aborted) return Promise.reject(wanted.signal.reason);
    const place = this.#bestFree(wanted);
    if (place !== undefined) {
      place.isTaken = true;
      return Promise.resolve(place);
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting<Holder> = { wanted, give: resolve };
      this.#waiting.push(waiting);
      wanted.signal.addEventListener(
        "abort",
        () => {
          this.#waiting = this.#waiting.filter((each) => each !== waiting);
          reject(wanted.signal.reason);
        },
        { once: true },
      );
    });
  }

  giveBack(place: Place<Holder>): void {
    place.isTaken = false;
    place.usedAt = performance.now();
    const next = this.#waiting.shift();
    if (next === undefined) return;
    const best = this.#bestFree(next.wanted) ?? place;
    best.isTaken = true;
    next.give(best);
  }

  /** How much of a prompt a place has in it, as far as it may be used. */
  common(place: Place<Holder>, { prompt, partition }: Wanted): number {
    return place.partition === partition ? commonPrefix(this.#parts.present(place.holder), prompt) : 0;
  }

  #bestFree(wanted: Wanted): Place<Holder> | undefined {
    return this.#places
      .filter((place) => !place.isTaken)
      .map((place) => ({
        place,
        common: this.common(place, wanted),
        neighbours: this.#parts.prefersNeighbours ? this.#takenNeighbours(place) : 0,
      }))
      .toSorted(
        (a, b) => b.common - a.common || b.neighbours - a.neighbours || a.place.usedAt - b.place.usedAt,
      )[0]?.place;
  }

  #takenNeighbours({ number }: Place<Holder>): number {
    return [number - 1, number + 1].filter((each) => this.#places[each]?.isTaken === true).length;
  }
}

function commonPrefix(present: readonly number[], prompt: readonly number[]): number {
  const limit = Math.min(present.length, prompt.length);
  let length = 0;
  while (length < limit && present[length] === prompt[length]) length += 1;
  return length;
}
