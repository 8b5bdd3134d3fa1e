import { hash } from "node:crypto";
import type { SynchronousSha256 } from "../hashing.ts";

/** The hash function that a server passes. */
export const nodeSha256: SynchronousSha256 = (bytes) => hash("sha256", bytes, "buffer");
