/**
 * @module
 * Recovery of the key-encryption key without its custodian: the key in files of the age format, for hybrid post-quantum
 * recipients, whole or as shares of which a threshold suffices. Guarantees that a file which is too old, of another set or
 * changed yields an error and never another key.
 * Imported by `commands/`.
 */
import { armor, Decrypter, Encrypter } from "age-encryption";
import { RecoveryError } from "./recovery-error.ts";

const recipientPattern = /^age1pq1[a-z0-9]{1900,2100}$/u;
const identityPattern = /^AGE-SECRET-KEY-PQ-1[A-Z0-9]{50,70}$/u;

/** As text that survives paper and e-mail. Classical recipients are refused: a file for both is only as strong as they. */
export async function sealFile(plaintext: Uint8Array, recipients: readonly string[]): Promise<string> {
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    if (!recipientPattern.test(recipient))
      throw new RecoveryError(
        `"${recipient.slice(0, 24)}" is not a hybrid recipient; create one with 'age-keygen -pq', whose public key begins with age1pq1`,
      );
    addRecipient(encrypter, recipient);
  }
  return `${armor.encode(await encrypter.encrypt(plaintext))}\n`;
}

function addRecipient(encrypter: Encrypter, recipient: string): void {
  try {
    encrypter.addRecipient(recipient);
  } catch (error) {
    throw new RecoveryError(`the recipient "${recipient.slice(0, 24)}…" has a typing error`, {
      cause: error,
    });
  }
}

const armorStart = "-----BEGIN";

/** As text or bytes. Undefined when none of the identities opens it. */
export async function openFile(
  content: Buffer,
  identities: readonly string[],
): Promise<Uint8Array | undefined> {
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  try {
    const isText = content.subarray(0, armorStart.length).toString("latin1") === armorStart;
    return await decrypter.decrypt(isText ? armor.decode(content.toString("latin1")) : content);
  } catch {
    return undefined;
  }
}

/** The secret keys in a file of `age-keygen -pq`. */
export function readIdentities(content: string): readonly string[] {
  const lines = content.split(/\r?\n/u).map((line) => line.trim());
  return lines.filter((line) => identityPattern.test(line));
}
