import { expect, test } from "vitest";
import { type AddressSource, labelOf, refreshMembers, resolveName } from "./discovery.ts";

const never = new AbortController().signal;
const hrefs = (addresses: readonly URL[]) => addresses.map(({ href }) => href);

/** Collects the given number of lists. */
async function listsOf(source: AddressSource, count: number): Promise<readonly (readonly URL[])[]> {
  const controller = new AbortController();
  const lists: (readonly URL[])[] = [];
  for await (const addresses of refreshMembers(source).watch(controller.signal)) {
    lists.push(addresses);
    if (lists.length === count) controller.abort();
  }
  return lists;
}

test("the system resolver returns every address of a name, and port and path are kept", async () => {
  const addresses = await resolveName(new URL("http://localhost:8000/engine"))(never);
  expect(hrefs(addresses)).toContain("http://127.0.0.1:8000/engine");
  for (const href of hrefs(addresses))
    expect(href).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):8000\/engine$/u);
});

test.each([
  ["both address families", ["fd00::4", "10.0.0.4", "10.0.0.5", "fd00::5"], ["10.0.0.4", "10.0.0.5"]],
  ["one address family", ["fd00::4", "fd00::5"], ["[fd00::4]", "[fd00::5]"]],
])("a name with addresses of %s lists each engine once", async (_which, ips, hosts) => {
  const found = ips.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const list = await resolveName(new URL("http://engines.lan:8000"), async () => found)(never);
  expect(hrefs(list)).toEqual(hosts.map((host) => `http://${host}:8000/`));
});

test("engines are identified by host, port and path only", () => {
  const labels = ["http://a:1/x", "http://a:1/x/", "http://a", "https://a", "http://[fd00::4]:8000"].map(
    (text) => labelOf(new URL(text)),
  );
  expect(labels).toEqual(["a:1/x", "a:1/x", "a:80", "a:443", "[fd00::4]:8000"]);
});

test("an unknown name yields no list, and the next refresh still happens", {
  timeout: 20_000,
}, async () => {
  const unknownName = resolveName(new URL("http://engines.invalid:8000"));
  await expect(unknownName(never)).rejects.toThrow("ENOTFOUND");
  let calls = 0;
  const lists = await listsOf((signal) => {
    calls += 1;
    return calls === 1 ? unknownName(signal) : Promise.resolve([new URL("http://10.0.0.4:8000")]);
  }, 1);
  expect([calls, lists.map(hrefs)]).toEqual([2, [["http://10.0.0.4:8000/"]]]);
});

test("a list is limited to 1,024 addresses", async () => {
  const many = Array.from(
    { length: 3000 },
    (_, index) => new URL(`http://10.0.${index >> 8}.${index & 255}`),
  );
  expect((await listsOf(() => Promise.resolve(many), 1))[0]).toEqual(many.slice(0, 1024));
});

test("aborting does not wait for a resolver that does not respond", async () => {
  const controller = new AbortController();
  const resolving = resolveName(new URL("http://engines.invalid:8000"))(controller.signal);
  controller.abort(new Error("The server is stopping"));
  await expect(resolving).rejects.toThrow("The server is stopping");
});
