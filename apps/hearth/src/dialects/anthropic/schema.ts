import { Type } from "typebox";

export const countTokensRequest = Type.Object({});

export const messagesRequest = Type.Object({});
