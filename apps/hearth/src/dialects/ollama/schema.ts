import { Type } from "typebox";

export const chatRequest = Type.Object({});

export const copyRequest = Type.Object({});

export const deleteRequest = Type.Object({});

export const embeddingsRequest = Type.Object({});

export const embedRequest = Type.Object({});

export const generateRequest = Type.Object({});

export const showRequest = Type.Object({});
