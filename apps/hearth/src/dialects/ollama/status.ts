/**
 * @module
 * The local-runner family: what clients of Ollama's REST API send and expect, translated to and from our own words.
 * Promises the shapes those clients parse, byte for byte where they compare bytes.
 * Imported by `routes.ts` and `server.ts`; the other dialects never see it.
 */
import { type Answer, jsonAnswer, textAnswer, type WholeAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";

/**
 * The level of Ollama's API this family follows. Clients compare it with the level they need
 * (VS Code's chat asks for 0.6.4 and splits it on dots), so it is not our own version.
 */
const apiLevel = "0.32.1";

/** Clients probe `HEAD /` to see whether a server is there, and some compare the text. */
export function answerRoot(): WholeAnswer {
  return textAnswer("Ollama is running");
}

export function answerVersion(): Answer {
  return jsonAnswer({ version: apiLevel });
}

/** There is no cloud behind this server, and nothing turns one on. */
export function answerStatus(): Answer {
  return jsonAnswer({ cloud: { disabled: true, source: "none" } });
}

/** Whether a balancer may send more: no longer once the server was asked to end. */
export function answerReady(_call: HearthCall, { isDraining }: HearthParts): Answer {
  return isDraining?.() === true ? jsonAnswer({ status: "draining" }, 503) : jsonAnswer({ status: "ready" });
}
