import type { FastifyRequest } from "fastify";

/** The service removes the parsed header, because Fastify rejects some values before a parser is called. */
export function findContentType({ raw: { rawHeaders } }: FastifyRequest): string | undefined {
  const index = rawHeaders.findIndex(
    (name, position) => position % 2 === 0 && name.toLowerCase() === "content-type",
  );
  return index === -1 ? undefined : rawHeaders[index + 1];
}
