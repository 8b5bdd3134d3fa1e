import { expect, test } from "vitest";
import { type AddressSource, labelOf, refreshMembers, resolveName } from "./discovery.ts";

const never = new AbortController().signal;
const hrefs = (addresses: readonly URL[]) => addresses.map(({ href }) => href);

/** The lists that come until there are so many. */
async function listsOf(source: AddressSource, count: number): Promise<readonly (readonly URL[])[]> {
  const ending = new AbortController();
  const lists: (readonly URL[])[] = [];
  for await (const addresses of refreshMembers(source).watch(ending.signal)) {
    lists.push(addresses);
    if (lists.length === count) ending.abort();
  }
  return lists;
}

test("the system's resolver tells every address of a name, with the port and the path kept", async () => {
  const addresses = await resolveName(new URL("http://localhost:8000/engine"))(never);
  expect(hrefs(addresses)).toContain("http://127.0.0.1:8000/engine");
  for (const href of hrefs(addresses))
    expect(href).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):8000\/engine$/u);
});

test.each([
  ["both families", ["fd00::4", "10.0.0.4", "10.0.0.5", "fd00::5"], ["10.0.0.4", "10.0.0.5"]],
  ["one family", ["fd00::4", "fd00::5"], ["[fd00::4]", "[fd00::5]"]],
])("a name with addresses of %s stands for each engine once", async (_which, numbers, hosts) => {
  const found = numbers.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const list = await resolveName(new URL("http://engines.lan:8000"), async () => found)(never);
  expect(hrefs(list)).toEqual(hosts.map((host) => `http://${host}:8000/`));
});

test("engines are told apart by host, port and path, and by nothing else", () => {
  const labels = ["http://a:1/x", "http://a:1/x/", "http://a", "https://a", "http://[fd00::4]:8000"].map(
    (text) => labelOf(new URL(text)),
  );
  expect(labels).toEqual(["a:1/x", "a:1/x", "a:80", "a:443", "[fd00::4]:8000"]);
});

test("a name that is nobody's is a list that cannot be had, and the next question is asked all the same", {
  timeout: 20_000,
}, async () => {
  const nobody = resolveName(new URL("http://engines.invalid:8000"));
  await expect(nobody(never)).rejects.toThrow("ENOTFOUND");
  let asked = 0;
  const lists = await listsOf((signal) => {
    asked += 1;
    return asked === 1 ? nobody(signal) : Promise.resolve([new URL("http://10.0.0.4:8000")]);
  }, 1);
  expect([asked, lists.map(hrefs)]).toEqual([2, [["http://10.0.0.4:8000/"]]]);
});

test("no list is longer than a thousand and twenty-four addresses", async () => {
  const many = Array.from(
    { length: 3000 },
    (_, index) => new URL(`http://10.0.${index >> 8}.${index & 255}`),
  );
  expect((await listsOf(() => Promise.resolve(many), 1))[0]).toEqual(many.slice(0, 1024));
});

test("who leaves does not wait for a resolver that is silent", async () => {
  const ending = new AbortController();
  const asking = resolveName(new URL("http://engines.invalid:8000"))(ending.signal);
  ending.abort(new Error("The server ends"));
  await expect(asking).rejects.toThrow("The server ends");
});
