import { connect } from "node:net";
import { recordFigure } from "@hearth-and-keep/figures";
import { Client } from "pg";
import { expect, test } from "vitest";
import { readJson } from "../test/read-json.ts";
import { startTestKeep } from "../test/start-test-keep.ts";

/** The raw bytes of the response. */
function fetchRaw(
  url: string,
  { path, token }: { readonly path: string; readonly token: string },
): Promise<string> {
  const { hostname, port, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname);
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.once("error", reject);
    socket.once("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    );
  });
}

/** SQL that makes recording a read fail, and SQL that undoes it. */
const faults = {
  "the insert raises": [
    "CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$; CREATE TRIGGER fault BEFORE INSERT ON audit_record FOR EACH ROW EXECUTE FUNCTION raise_it()",
    "DROP TRIGGER fault ON audit_record; DROP FUNCTION raise_it",
  ],
  "the insert is cancelled by a timeout": [
    "CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'late' USING ERRCODE = '57014'; END $$; CREATE TRIGGER fault BEFORE INSERT ON audit_record FOR EACH ROW EXECUTE FUNCTION raise_it()",
    "DROP TRIGGER fault ON audit_record; DROP FUNCTION raise_it",
  ],
  "the disk is full": [
    "CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$; CREATE TRIGGER fault BEFORE INSERT ON audit_record FOR EACH ROW EXECUTE FUNCTION raise_it()",
    "DROP TRIGGER fault ON audit_record; DROP FUNCTION raise_it",
  ],
  "the commit fails": [
    "CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$; CREATE CONSTRAINT TRIGGER fault AFTER INSERT ON audit_record DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION raise_it()",
    "DROP TRIGGER fault ON audit_record; DROP FUNCTION raise_it",
  ],
  "the permission to record is revoked": [
    "REVOKE INSERT ON audit_record FROM keep_application",
    "GRANT INSERT ON audit_record TO keep_application",
  ],
  "the table is missing": [
    "ALTER TABLE audit_record RENAME TO elsewhere",
    "ALTER TABLE elsewhere RENAME TO audit_record",
  ],
} as const;

test("no value is returned while its read cannot be recorded, and values are returned again afterwards", {
  timeout: 300_000,
}, async () => {
  await using keep = await startTestKeep();
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["secrets:read", "secrets:write"] });
  const value = "canary-8f1c2d7e55aa4b90";
  const vault = `/api/secrets/vaults/${person.vaultId}`;
  const written = await keep.request(`${vault}/secrets/by-path/a/KEY`, {
    method: "PUT",
    token,
    body: { value },
  });
  expect(written.status).toBe(201);
  const { id } = await readJson<{ id: string }>(written);
  const forms = [value, Buffer.from(value).toString("base64"), Buffer.from(value).toString("hex")];
  const paths = [`${vault}/secrets/${id}/value`, `${vault}/values/by-path/a/KEY`, `${vault}/values?path=/a`];
  const superuser = new Client(keep.databaseUrl);
  await superuser.connect();
  let refused = 0;
  try {
    for (const [name, [fault, undo]] of Object.entries(faults)) {
      for (const path of paths)
        expect([name, await fetchRaw(keep.url, { path, token })]).toEqual([
          name,
          expect.stringContaining(value),
        ]);
      await superuser.query(fault);
      for (const path of paths) {
        const bytes = await fetchRaw(keep.url, { path, token });
        expect([name, bytes]).toEqual([name, expect.stringMatching(/^HTTP\/1\.1 50[03] /u)]);
        expect(forms.filter((form) => bytes.includes(form))).toEqual([]);
        refused += 1;
      }
      const write = { method: "PUT", token, body: { value: "another" } };
      expect((await keep.request(`${vault}/secrets/by-path/a/KEY`, write)).status).toBeGreaterThanOrEqual(
        500,
      );
      await superuser.query(undo);
    }
  } finally {
    await superuser.end();
  }
  const after = await keep.request(`${vault}/secrets/${id}/value`, { token });
  expect(await after.json()).toMatchObject({ value, version: 1 });
  const needed = Object.keys(faults).length * paths.length;
  recordFigure({
    claim: "keep 7",
    text: `${refused} reads during ${Object.keys(faults).length} faults that prevented recording: no value returned`,
    counted: { reached: refused, needed },
  });
});
