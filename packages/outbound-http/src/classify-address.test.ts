import { expect, test } from "vitest";
import { type AddressKind, classifyAddress } from "./classify-address.ts";

const examples: Readonly<Record<AddressKind, readonly string[]>> = {
  public: [
    "1.1.1.1",
    "203.0.114.10",
    "2606:4700::1",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
    "64:ff9b::1.1.1.1",
  ],
  private: ["127.0.0.1", "10.0.0.1", "::1", "fe80::1%lo", "fd12::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"],
  never: [
    "169.254.169.254",
    "0.0.0.0",
    "255.255.255.255",
    "::",
    "64:ff9b::",
    "::127.0.0.1",
    "::ffff:a9fe:a9fe",
    "fd00:ec2::254",
    "ff02::1",
    "2002:7f00:1::",
    "registry.lan",
    "127.1",
    "",
  ],
};

test.each(Object.entries(examples))("%s addresses are recognised in every spelling", (kind, addresses) => {
  const classified = addresses.map((address) => [address, classifyAddress(address)]);
  expect(classified).toEqual(addresses.map((address) => [address, kind]));
});
