import { loadKeyRole } from "./key-role.ts";
import { loadModels } from "./models.ts";

/** What the server has and what it allows. Other programs add and delete models too, and keys can change. */
export async function loadServerState(): Promise<void> {
  await Promise.all([loadModels(), loadKeyRole()]);
}
