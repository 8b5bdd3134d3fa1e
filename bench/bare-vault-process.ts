import { fastify } from "fastify";
import { Pool } from "pg";

/**
 * The baseline for Keep: a Fastify handler and the database driver. `/value/:vault/:secret` reads an encrypted value
 * and inserts an audit row in one transaction; PUT `/write/:vault` inserts a row; `/vaults` is one indexed query. It checks no token, decrypts nothing and
 * does not chain its audit rows. Usage: `node bare-vault-process.ts <database url> <account id>`.
 */
const pool = new Pool({ connectionString: process.argv[2] ?? "", max: 10 });
const accountId = process.argv[3] ?? "";
const server = fastify({ logger: false });

server.get<{ Params: { vault: string; secret: string } }>("/value/:vault/:secret", async (request) => {
  const { vault, secret } = request.params;
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query({
      name: "value",
      text: "SELECT sealed FROM secret JOIN secret_version ON secret_version.account_id = secret.account_id AND secret_version.vault_id = secret.vault_id AND secret_version.secret_id = secret.id AND version = current_version WHERE secret.account_id = $1 AND secret.vault_id = $2 AND secret.id = $3 AND deleted_at IS NULL",
      values: [accountId, vault, secret],
    });
    await client.query({
      name: "audit",
      text: "INSERT INTO bare_audit (account_id, vault_id, secret_id, body) VALUES ($1, $2, $3, $4)",
      values: [accountId, vault, secret, JSON.stringify({ type: "value-read", secret, by: "somebody" })],
    });
    await client.query("COMMIT");
    return { id: secret, value: rows[0]?.sealed.toString("base64") };
  } finally {
    client.release();
  }
});

server.put<{ Params: { vault: string } }>("/write/:vault", async (request) => {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query({
      name: "write",
      text: "INSERT INTO bare_write (vault_id, body) VALUES ($1, $2) RETURNING id",
      values: [request.params.vault, JSON.stringify(request.body)],
    });
    await client.query("COMMIT");
    return rows[0];
  } finally {
    client.release();
  }
});

server.get("/vaults", async () => {
  const { rows } = await pool.query({
    name: "vaults",
    text: "SELECT id, name, true AS is_encrypted, created_at FROM vault WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id",
    values: [accountId],
  });
  return rows;
});

const address = await server.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`Bare handler on ${address}\n`);
