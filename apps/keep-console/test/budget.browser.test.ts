import { recordFigure } from "@hearth-and-keep/figures";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { startConsoleFixture } from "./console-fixture.ts";

/** Transferred bytes; 1 kB is 1000 bytes. */
const limits = { scriptBytes: 150_000, styleBytes: 15_000, requests: 26 };

test("the first screen stays within its size budget and loads only from Keep", async () => {
  await using fixture = await startConsoleFixture();
  const person = await fixture.signIn();
  await fixture.request(person, "/api/secrets/vaults");
  const [vault] = await fixture.request<{ id: string }[]>(person, "/api/secrets/vaults");
  const path = `/api/secrets/vaults/${vault?.id}/secrets/by-path/KEY`;
  await fixture.request(person, path, { method: "PUT", body: { value: "1" } });

  // The same session in a browser with an empty cache.
  const context = await fixture.browser.browser.newContext({
    storageState: await person.context().storageState(),
  });
  const page = await context.newPage();
  const loads = watchLoads(page);
  await page.goto(`${fixture.url}/secrets`);
  await page.getByRole("link", { name: "KEY", exact: true }).waitFor();
  const drawn = await loads();
  await context.close();

  const bytesOf = (type: string): number =>
    drawn.filter((load) => load.type === type).reduce((sum, { bytes }) => sum + bytes, 0);
  const [scriptBytes, styleBytes] = [bytesOf("script"), bytesOf("stylesheet")];
  expect(drawn.filter(({ origin }) => origin !== fixture.url)).toEqual([]);
  expect(
    drawn.filter(({ type, encoding }) => ["script", "stylesheet"].includes(type) && encoding !== "br"),
  ).toEqual([]);
  expect(scriptBytes).toBeGreaterThan(10_000);
  expect(scriptBytes).toBeLessThanOrEqual(limits.scriptBytes);
  expect(styleBytes).toBeLessThanOrEqual(limits.styleBytes);
  expect(drawn.length).toBeLessThanOrEqual(limits.requests);
  recordFigure({
    claim: "console 6",
    text: `until the list of secrets is rendered: ${kilobytes(scriptBytes)} of scripts and ${kilobytes(styleBytes)} of style over the wire, ${drawn.length} requests, none to another origin (at most ${kilobytes(limits.scriptBytes)}, ${kilobytes(limits.styleBytes)}, ${limits.requests})`,
  });
});

type Load = {
  readonly type: string;
  readonly origin: string;
  readonly bytes: number;
  readonly encoding: string;
};

function watchLoads(page: Page): () => Promise<readonly Load[]> {
  const loads: Promise<Load>[] = [];
  page.on("requestfinished", (request) => {
    const measure = async (): Promise<Load> => {
      const { responseBodySize } = await request.sizes();
      const encoding = (await (await request.response())?.headerValue("content-encoding")) ?? "";
      const { origin } = new URL(request.url());
      return { type: request.resourceType(), origin, bytes: responseBodySize, encoding };
    };
    loads.push(measure());
  });
  return () => Promise.all(loads);
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
