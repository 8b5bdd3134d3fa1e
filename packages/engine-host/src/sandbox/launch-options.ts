import type { SharedFile } from "../memory/shared-file.ts";

export type LaunchOptions = {
  readonly program: string;
  readonly args: readonly string[];
  /** The complete environment of the process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Variables to set inside the sandbox as well, because bubblewrap clears the environment. */
  readonly sandboxEnvironment?: Readonly<Record<string, string>>;
  /** Files and folders of the program itself, in addition to the system libraries. */
  readonly programPaths: readonly string[];
  /** The model, its adapters and its projector: the only other files it can read. */
  readonly modelFiles: readonly string[];
  /** The only folder it can write to, for the socket it listens on. */
  readonly writableFolder?: string;
  /** What it inherits in addition to standard input, output and error: a worker's channel. */
  readonly channelDescriptor?: number;
  /** The only file it can write, which it inherits; absent if it writes none. */
  readonly sharedFile?: SharedFile;
  /** Whether it has access to the machine's GPUs. */
  readonly usesGpu?: boolean;
  readonly memory?: MemoryLimit;
  /** Address space that it reserves at startup and never writes; the data limit counts it. */
  readonly reservedBytes?: number;
};

export type MemoryLimit = {
  readonly limitBytes: number;
  /** `cgroup.procs` of the cgroup with this limit, if there is one. */
  readonly cgroupProcsPath?: string;
};
