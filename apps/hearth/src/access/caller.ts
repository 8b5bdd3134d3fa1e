/** Who calls: the name of the key that was shown, or nobody in particular on a server without keys. */
export type Caller = {
  readonly keyName: string;
  /** Prompts cached for one partition are never used for another. */
  readonly cachePartition: string;
};
