import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv6 } from "node:net";

/** The addresses of each name; a list of lists is given out one after another, the last one again and again. */
export type ForgedNames = Map<string, readonly (readonly string[])[]>;

const typeNumbers: Readonly<Record<number, "IPv4" | "IPv6">> = { 1: "IPv4", 28: "IPv6" };
const noSuchName = 3;
/** A pointer to the question's name, which begins after the head (RFC 1035, 4.1.4). */
const nameOfQuestion = Buffer.from([0xc0, 12]);
const headBytes = 12;

/** Answers the system's resolver over UDP, for every name in the table as it is at that moment. */
export async function serveForgedNames(names: ForgedNames): Promise<AsyncDisposable> {
  const socket = createSocket({ type: "udp6", ipv6Only: false });
  const asked = new Map<string, number>();
  socket.on("message", (question, sender) => {
    const { name, family, end } = readQuestion(question);
    const rounds = names.get(name);
    const key = `${name} ${family} ${JSON.stringify(rounds)}`;
    const turn = asked.get(key) ?? 0;
    asked.set(key, turn + 1);
    const addresses = rounds?.[Math.min(turn, rounds.length - 1)] ?? [];
    const fitting = addresses.filter((address) => isIPv6(address) === (family === "IPv6"));
    const records = family === undefined ? [] : fitting.map((address) => recordOf(address));
    socket.send(
      answerTo(question.subarray(0, end), records, addresses.length > 0),
      sender.port,
      sender.address,
    );
  });
  socket.bind(53, "::");
  await once(socket, "listening");
  return {
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, "close");
    },
  };
}

function readQuestion(question: Buffer): { name: string; family: "IPv4" | "IPv6" | undefined; end: number } {
  const labels: string[] = [];
  let place = headBytes;
  for (let length = question[place] ?? 0; length > 0; length = question[place] ?? 0) {
    labels.push(question.toString("latin1", place + 1, place + 1 + length));
    place += length + 1;
  }
  return {
    name: labels.join(".").toLowerCase(),
    family: typeNumbers[question.readUInt16BE(place + 1)],
    end: place + 5,
  };
}

function answerTo(question: Buffer, records: readonly Buffer[], isKnown: boolean): Buffer {
  const answer = Buffer.concat([question, ...records]);
  answer.writeUInt16BE(0x8580 + (isKnown ? 0 : noSuchName), 2);
  answer.writeUInt16BE(records.length, 6);
  answer.writeUInt32BE(0, 8);
  return answer;
}

function recordOf(address: string): Buffer {
  const content = isIPv6(address) ? bytesOfIPv6(address) : Buffer.from(address.split(".").map(Number));
  const head = Buffer.alloc(10);
  head.writeUInt16BE(content.length === 16 ? 28 : 1, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(content.length, 8);
  return Buffer.concat([nameOfQuestion, head, content]);
}

function bytesOfIPv6(address: string): Buffer {
  const [left = "", right = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const zeros = Array.from({ length: 8 - groupsOf(left).length - groupsOf(right).length }, () => "0");
  const all = [...groupsOf(left), ...zeros, ...groupsOf(right)];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}

function groupsOf(text: string): string[] {
  return text.split(":").filter((group) => group !== "");
}
