import koffi from "koffi";

/** System calls that Node.js does not have, called through the C library. Each throws if the kernel refuses. */

const library = koffi.load(null);
const syscall = library.func("long syscall(long number, ...)");
const prctl = library.func(
  "int prctl(int option, unsigned long second, void *third, long fourth, long fifth)",
);
const fcntl = library.func("int fcntl(int descriptor, int command, ...)");
const execve = library.func("int execve(const char *path, const char **argv, const char **envp)");

/** These numbers are the same on every architecture. */
const numbers = { createRuleset: 444, addRule: 445, restrictSelf: 446 } as const;
const setNoNewPrivileges = 38;
const setSeccomp = 22;
const filterMode = 2;
const setDescriptorFlags = 2;
const pathBeneath = 1;
const versionFlag = 1;

function check(result: number, name: string): number {
  if (result < 0) throw new Error(`${name} failed with error ${koffi.errno()}`);
  return result;
}

/** The version of Landlock in this kernel; 0 if it is missing or disabled. */
export function landlockVersion(): number {
  return Math.max(0, syscall(numbers.createRuleset, "void *", null, "size_t", 0, "uint32_t", versionFlag));
}

/** Returns the descriptor of the ruleset. */
export function createRuleset(attributes: Buffer): number {
  const { createRuleset: number } = numbers;
  return check(
    syscall(number, "void *", attributes, "size_t", attributes.length, "uint32_t", 0),
    "landlock_create_ruleset",
  );
}

export function addPathRule(ruleset: number, rule: Buffer): void {
  check(
    syscall(numbers.addRule, "int", ruleset, "int", pathBeneath, "void *", rule, "uint32_t", 0),
    "landlock_add_rule",
  );
}

export function restrictSelf(ruleset: number): void {
  check(syscall(numbers.restrictSelf, "int", ruleset, "uint32_t", 0), "landlock_restrict_self");
}

/** From now on no program that is executed gains privileges. */
export function forbidNewPrivileges(): void {
  check(prctl(setNoNewPrivileges, 1, null, 0, 0), "prctl(PR_SET_NO_NEW_PRIVS)");
}

export function installFilter(instructions: Buffer): void {
  const program = Buffer.alloc(16);
  program.writeUInt16LE(instructions.length / 8, 0);
  program.writeBigUInt64LE(koffi.address(instructions), 8);
  check(prctl(setSeccomp, filterMode, program, 0, 0), "prctl(PR_SET_SECCOMP)");
}

/** Node.js marks every inherited descriptor to be closed; this one stays open. */
export function keepDescriptor(descriptor: number): void {
  check(fcntl(descriptor, setDescriptorFlags, "int", 0), "fcntl(F_SETFD)");
}

/** Replaces this process; returns only by throwing. */
export function replaceProcess(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): never {
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  execve(program, [program, ...args, null], [...variables, null]);
  throw new Error(`execve failed with error ${koffi.errno()}`);
}
