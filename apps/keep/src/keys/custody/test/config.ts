import { scale } from "@hearth-and-keep/figures";

/** Folder of the programs `age` and `age-keygen` of version 1.3 or newer, compiled outside the repository. */
export const ageFolder: string | undefined = process.env["AGE"];

/** OpenBao's program `bao`. */
export const openBao: string | undefined = process.env["OPENBAO"];

/** Whether custodians are used that take long to install or to start. */
export const hasSlowCustodians: boolean = scale !== "ci";
