import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  findFreePort,
  makeTemporaryFolder,
  type OwnedProcess,
  preparePython,
  startProcess,
} from "@hearth-and-keep/test-servers";
import type { Custodian, Fault } from "./custodian.ts";
import { runProgram, withPlainFile } from "./local-custodians.ts";

/** moto and the AWS command line; `scripts/python/requirements.in` says how such a list is locked. */
const requirements = fileURLToPath(new URL("../../../../../../scripts/python/aws-kms.txt", import.meta.url));
const policy = {
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "kms:Decrypt", Resource: "*" }],
};
const region = "eu-central-1";
const policyNames = ["--user-name", "keep", "--policy-name", "decrypt"];

type Cloud = AsyncDisposable & {
  readonly server: OwnedProcess;
  /** The AWS command line, for this server. */
  readonly program: readonly string[];
  /** Runs it as an administrator. */
  readonly aws: (...args: readonly string[]) => Promise<string>;
  /** As long as the work runs, the server does not check who asks. */
  readonly withoutChecks: <Result>(work: () => Promise<Result>) => Promise<Result>;
};

async function startCloud(): Promise<Cloud> {
  const { folder, interpreter } = await preparePython({ requirements });
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  const server = await startProcess({
    command: interpreter,
    arguments: ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)],
    readyWithinSeconds: 60,
    isReady: isUp,
  });
  // Its script names the interpreter by the path under which the environment was created.
  const program = [interpreter, join(folder, "bin", "aws"), "--endpoint-url", url];
  const administrator = { AWS_DEFAULT_REGION: region, AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "a" };
  /** After so many requests, rights are checked. */
  const checkAfter = (requests: number) =>
    fetch(`${url}/moto-api/reset-auth`, { method: "POST", body: String(requests) });
  return {
    server,
    program,
    aws: async (...args) => {
      const [command = "", ...options] = program;
      return (await runProgram(command, [...options, ...args, "--output", "text"], administrator)).trim();
    },
    withoutChecks: async (work) => {
      await checkAfter(1_000_000);
      const result = await work();
      await checkAfter(0);
      return result;
    },
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** The AWS command line and a server that answers as AWS KMS does, also to users without the right. */
export async function startAwsKms(): Promise<Custodian> {
  const cloud = await startCloud();
  const { server, program, aws, withoutChecks } = cloud;
  const folder = await makeTemporaryFolder("aws");
  const grant = () =>
    aws("iam", "put-user-policy", ...policyNames, "--policy-document", JSON.stringify(policy));
  const { keyId, user } = await withoutChecks(async () => {
    await aws("iam", "create-user", "--user-name", "keep");
    await grant();
    return {
      keyId: await aws("kms", "create-key", "--query", "KeyMetadata.KeyId"),
      user: await createCredentials(cloud),
    };
  });
  return {
    folder: folder.path,
    async seal(key, name) {
      const file = join(folder.path, name);
      // Its command line prints the bytes that it decrypts in base64, as Keep's keys are written.
      await withPlainFile(Buffer.from(key, "base64"), async (plain) => {
        const args = ["--key-id", keyId, "--plaintext", `fileb://${plain}`];
        const context = ["--encryption-context", "app=keep", "--query", "CiphertextBlob"];
        const sealed = await withoutChecks(() => aws("kms", "encrypt", ...args, ...context));
        await writeFile(file, Buffer.from(sealed, "base64"));
      });
      const decrypt = `kms decrypt --ciphertext-blob fileb://${file} --encryption-context app=keep --query Plaintext --output text`;
      return { file, command: `env ${user} ${program.join(" ")} ${decrypt}` };
    },
    faults: {
      away: pause(server),
      "permission lost": async () => {
        await withoutChecks(() => aws("iam", "delete-user-policy", ...policyNames));
        return async () => void (await withoutChecks(grant));
      },
    },
    async [Symbol.asyncDispose]() {
      await cloud[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The environment of a user, as arguments of `env`. */
async function createCredentials({ aws }: Cloud): Promise<string> {
  const query = "AccessKey.[AccessKeyId,SecretAccessKey]";
  const created = await aws("iam", "create-access-key", "--user-name", "keep", "--query", query);
  const [id, secret] = created.split("\t");
  return `AWS_DEFAULT_REGION=${region} AWS_ACCESS_KEY_ID=${id} AWS_SECRET_ACCESS_KEY=${secret}`;
}

/** Stops a server from answering, while its port stays open. */
export function pause({ pid }: OwnedProcess): Fault {
  return async () => {
    process.kill(pid, "SIGSTOP");
    return async () => void process.kill(pid, "SIGCONT");
  };
}
