import { Type } from "typebox";

export const chatCompletionsRequest = Type.Object({});

export const completionsRequest = Type.Object({});

export const createEmbeddingsRequest = Type.Object({});

export const responsesRequest = Type.Object({});
