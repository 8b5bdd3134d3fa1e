/**
 * @module
 * Setup files of the test projects. Unit tests start no process, thread, server or connection, so that all of them run
 * in under a minute and do not depend on the machine. This setup enforces that.
 */
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import workerThreads from "node:worker_threads";

const advice = 'rename it to "*.integration.test.ts", or test the logic without starting anything';

function reject(action: string): never {
  throw new Error(`A unit test may not ${action}: ${advice}`);
}

for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"] as const) {
  Object.defineProperty(childProcess, name, {
    value: () => reject(`start a process (${name})`),
    writable: true,
  });
}
net.Server.prototype.listen = () => reject("listen on a port");
net.Socket.prototype.connect = () => reject("open a connection");
// Only the constructor is called.
workerThreads.Worker = function Worker() {
  reject("start a thread");
} as unknown as typeof workerThreads.Worker;
syncBuiltinESMExports();
