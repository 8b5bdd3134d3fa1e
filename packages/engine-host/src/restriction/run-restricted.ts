/**
 * @module
 * Starts an engine on a machine without bubblewrap: takes away access to files with Landlock, the root user, and
 * dangerous system calls with seccomp, then replaces itself by the engine. Its only argument is a RestrictedPlan as
 * JSON. If any step fails, nothing is started.
 * Nothing imports it: the sandbox starts it by its path.
 */
import { buildSeccompFilter } from "../sandbox/seccomp-filter.ts";
import { restrictFiles } from "./landlock.ts";
import { forbidNewPrivileges, installFilter, keepDescriptor, replaceProcess } from "./native-calls.ts";
import type { RestrictedPlan } from "./restricted-plan.ts";

// The server wrote it.
const plan = JSON.parse(process.argv[2] ?? "") as RestrictedPlan;

for (const descriptor of plan.descriptors) keepDescriptor(descriptor);
forbidNewPrivileges();
restrictFiles(plan);
if (plan.user !== undefined) {
  process.setgroups?.([...plan.user.groups]);
  process.setgid?.(plan.user.id);
  process.setuid?.(plan.user.id);
}
installFilter(buildSeccompFilter({ ...plan.filter, onlySignals: process.pid }));
replaceProcess(plan.program, plan.args, plan.environment);
