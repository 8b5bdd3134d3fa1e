import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import type { Custodian } from "./custodian.ts";
import { moveAway, replaceFile, runProgram, withPlainFile } from "./local-custodians.ts";

/** The age program, with a file for a hybrid recipient. */
export async function startAge(programs: string): Promise<Custodian> {
  const folder = await makeTemporaryFolder("age");
  const identityFile = join(folder.path, "identity");
  const [age, keygen] = [join(programs, "age"), join(programs, "age-keygen")];
  await runProgram(keygen, ["-pq", "-o", identityFile]);
  const recipient = (await runProgram(keygen, ["-y", identityFile])).trim();
  const other = await runProgram(keygen, ["-pq"]);
  return {
    folder: folder.path,
    async seal(key, name) {
      const file = join(folder.path, name);
      await withPlainFile(Buffer.from(key), (plain) => runProgram(age, ["-r", recipient, "-o", file, plain]));
      return { file, command: `${age} -d -i ${identityFile} ${file}` };
    },
    faults: { away: moveAway(identityFile), "permission lost": replaceFile(identityFile, other) },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** A credential of systemd, sealed with a secret of this machine. */
export async function startSystemd(): Promise<Custodian> {
  const folder = await makeTemporaryFolder("systemd");
  const secret = join(folder.path, "secret");
  const environment = { SYSTEMD_CREDENTIAL_SECRET: secret };
  const options = ["--name=keep-key", "--with-key=host"];
  const otherName = "--name=another-service";
  const seal = (plain: string, file: string, name = "--name=keep-key") =>
    runProgram("systemd-creds", ["encrypt", name, "--with-key=host", plain, file], environment);
  const files: string[] = [];
  return {
    folder: folder.path,
    async seal(key, name) {
      const file = join(folder.path, name);
      await withPlainFile(Buffer.from(key), (plain) => seal(plain, file));
      files.push(file);
      const command = `env SYSTEMD_CREDENTIAL_SECRET=${secret} systemd-creds decrypt ${options[0]} ${file} -`;
      return { file, command };
    },
    faults: {
      away: moveAway(secret),
      // A credential for another service.
      "permission lost": async () => {
        const returns = await Promise.all(files.map((file) => moveAway(file)()));
        for (const file of files)
          await withPlainFile(Buffer.from("x"), (plain) => seal(plain, file, otherName));
        return async () => {
          for (const giveBack of returns) await giveBack();
        };
      },
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const tokenModule = "/usr/lib/softhsm/libsofthsm2.so";

/** An RSA key in a token of SoftHSM, through PKCS#11. */
export async function startSoftHsm(): Promise<Custodian> {
  const folder = await makeTemporaryFolder("softhsm");
  const [settings, tokens, pin] = ["softhsm2.conf", "tokens", "pin"].map((name) => join(folder.path, name));
  if (settings === undefined || tokens === undefined || pin === undefined) throw new Error("No paths");
  await runProgram("mkdir", [tokens]);
  await writeFile(
    settings,
    `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`,
  );
  await writeFile(pin, "314159");
  const environment = { SOFTHSM2_CONF: settings };
  const initialize = ["--init-token", "--free", "--label", "keep", "--pin", "314159", "--so-pin", "271828"];
  await runProgram("softhsm2-util", initialize, environment);
  const tool = (...args: readonly string[]) =>
    runProgram(
      "pkcs11-tool",
      ["--module", tokenModule, "--token-label", "keep", "--login", "--pin", "314159", ...args],
      environment,
    );
  await tool("--keypairgen", "--key-type", "rsa:2048", "--id", "01", "--label", "keep");
  const publicKey = join(folder.path, "public.der");
  await tool("--read-object", "--type", "pubkey", "--id", "01", "--output-file", publicKey);
  return {
    folder: folder.path,
    async seal(key, name) {
      const file = join(folder.path, name);
      const args = ["pkeyutl", "-encrypt", "-pubin", "-inkey", publicKey, "-keyform", "DER"];
      const padding = ["-pkeyopt", "rsa_padding_mode:oaep"];
      await withPlainFile(Buffer.from(key), (plain) =>
        runProgram("openssl", [...args, ...padding, "-in", plain, "-out", file]),
      );
      const decrypt = `pkcs11-tool --module ${tokenModule} --token-label keep --login --pin "$(cat ${pin})" --decrypt --id 01 --mechanism RSA-PKCS-OAEP --hash-algorithm SHA-1 --mgf MGF1-SHA1 --input-file ${file}`;
      return { file, command: `env SOFTHSM2_CONF=${settings} sh -c '${decrypt}'` };
    },
    faults: { away: moveAway(tokens), "permission lost": replaceFile(pin, "000000") },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
