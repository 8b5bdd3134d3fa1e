import { expect, test } from "vitest";
import { digestOf } from "../store/digest.ts";
import { translateLayers } from "./translate-layers.ts";

const digest = digestOf("x");

function manifest(...layers: readonly { mediaType: string; title?: string }[]): Buffer {
  const encoded = layers.map(({ mediaType, title }) => ({
    mediaType,
    digest,
    size: 1,
    annotations: { "org.cncf.model.filepath": title },
  }));
  return Buffer.from(JSON.stringify({ schemaVersion: 2, layers: encoded }));
}

function kindsOf(...layers: readonly { mediaType: string; title?: string }[]): readonly string[] {
  return translateLayers(manifest(...layers)).map(({ mediaType }) => mediaType.split(".").at(-1) ?? "");
}

test("Docker's weights, projectors and licences are converted, and other layers are left out", () => {
  expect(
    kindsOf(
      { mediaType: "application/vnd.docker.ai.gguf.v3" },
      { mediaType: "application/vnd.docker.ai.mmproj" },
      { mediaType: "application/vnd.docker.ai.license" },
      { mediaType: "application/vnd.docker.ai.chat.template.jinja" },
      { mediaType: "application/vnd.docker.ai.safetensors" },
    ),
  ).toEqual(["model", "projector", "license"]);
});

test("raw files of CNCF models are recognised by their names, and archives are ignored", () => {
  expect(
    kindsOf(
      { mediaType: "application/vnd.cncf.model.weight.v1.raw", title: "weights/model.gguf" },
      { mediaType: "application/vnd.cncf.model.weight.v1.raw", title: "mmproj-model-f16.gguf" },
      { mediaType: "application/vnd.cncf.model.doc.v1.raw", title: "LICENSE.txt" },
      { mediaType: "application/vnd.cncf.model.weight.v1.tar+gzip", title: "model.gguf" },
      { mediaType: "application/vnd.cncf.model.weight.v1.raw", title: "model.safetensors" },
    ),
  ).toEqual(["model", "projector", "license"]);
});

test("shards of a split model keep their file names without folders", () => {
  const mediaType = "application/vnd.cncf.model.weight.v1.raw";
  const layers = translateLayers(
    manifest(
      { mediaType, title: "../a/m-00001-of-00002.gguf" },
      { mediaType, title: "m-00002-of-00002.gguf" },
    ),
  );
  expect(layers.map(({ name }) => name)).toEqual(["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]);
});
