/**
 * @module
 * Setup files of the test projects. A unit test starts nothing: no process, thread, server or connection, so that the
 * whole project runs in under a minute and never depends on the machine. This setup makes that a rule.
 */
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import workerThreads from "node:worker_threads";

const advice = 'rename it to "*.integration.test.ts", or test the logic without starting anything';

function refuse(action: string): never {
  throw new Error(`A unit test may not ${action}: ${advice}`);
}

for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"] as const) {
  Object.defineProperty(childProcess, name, {
    value: () => refuse(`start a process (${name})`),
    writable: true,
  });
}
net.Server.prototype.listen = () => refuse("listen on a port");
net.Socket.prototype.connect = () => refuse("open a connection");
// Only its construction matters here.
workerThreads.Worker = function Worker() {
  refuse("start a thread");
} as unknown as typeof workerThreads.Worker;
syncBuiltinESMExports();
