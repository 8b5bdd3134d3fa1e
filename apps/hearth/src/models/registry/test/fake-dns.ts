import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv6 } from "node:net";

/** The addresses of each name, per consecutive query; the last list repeats. */
export type FakeNames = Map<string, readonly (readonly string[])[]>;

const typeNumbers: Readonly<Record<number, "IPv4" | "IPv6">> = { 1: "IPv4", 28: "IPv6" };
const nameError = 3;
/** A pointer to the name in the question, which follows the header (RFC 1035, 4.1.4). */
const namePointer = Buffer.from([0xc0, 12]);
const headerBytes = 12;

/** A DNS server over UDP that looks up every query in the current table. */
export async function serveFakeNames(names: FakeNames): Promise<AsyncDisposable> {
  const socket = createSocket({ type: "udp6", ipv6Only: false });
  const queryCounts = new Map<string, number>();
  socket.on("message", (query, sender) => {
    const { name, family, end } = parseQuery(query);
    const rounds = names.get(name);
    const key = `${name} ${family} ${JSON.stringify(rounds)}`;
    const count = queryCounts.get(key) ?? 0;
    queryCounts.set(key, count + 1);
    const addresses = rounds?.[Math.min(count, rounds.length - 1)] ?? [];
    const matching = addresses.filter((address) => isIPv6(address) === (family === "IPv6"));
    const records = family === undefined ? [] : matching.map((address) => recordOf(address));
    socket.send(
      createResponse(query.subarray(0, end), records, addresses.length > 0),
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

function parseQuery(query: Buffer): { name: string; family: "IPv4" | "IPv6" | undefined; end: number } {
  const labels: string[] = [];
  let offset = headerBytes;
  for (let length = query[offset] ?? 0; length > 0; length = query[offset] ?? 0) {
    labels.push(query.toString("latin1", offset + 1, offset + 1 + length));
    offset += length + 1;
  }
  return {
    name: labels.join(".").toLowerCase(),
    family: typeNumbers[query.readUInt16BE(offset + 1)],
    end: offset + 5,
  };
}

function createResponse(query: Buffer, records: readonly Buffer[], isKnown: boolean): Buffer {
  const response = Buffer.concat([query, ...records]);
  response.writeUInt16BE(0x8580 + (isKnown ? 0 : nameError), 2);
  response.writeUInt16BE(records.length, 6);
  response.writeUInt32BE(0, 8);
  return response;
}

function recordOf(address: string): Buffer {
  const content = isIPv6(address) ? bytesOfIPv6(address) : Buffer.from(address.split(".").map(Number));
  const header = Buffer.alloc(10);
  header.writeUInt16BE(content.length === 16 ? 28 : 1, 0);
  header.writeUInt16BE(1, 2);
  header.writeUInt16BE(content.length, 8);
  return Buffer.concat([namePointer, header, content]);
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
