import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { createLayer, type Layer, type LayerKind, parseManifest } from "../store/manifest.ts";
import { parseJson } from "../store/parse-json.ts";
import { layerTitlesSchema } from "./schema.ts";

const validator = Compile(layerTitlesSchema);

/** Media types whose content is the same file as in Ollama's layers; archives are never unpacked. */
const kinds: readonly (readonly [RegExp, LayerKind])[] = [
  [/^application\/vnd\.docker\.ai\.gguf(?:\.v\d+)?$/u, "model"],
  [/^application\/vnd\.docker\.ai\.mmproj$/u, "projector"],
  [/^application\/vnd\.docker\.ai\.license$/u, "license"],
  [/^application\/vnd\.cncf\.model\.weight\.v1\.gguf$/u, "model"],
];
const rawFile = /^application\/(?:vnd\.cncf\.model\.(?:weight|doc)\.v1\.raw|octet-stream|x-gguf)$/u;

/** Converts the layers of Docker's and the CNCF's model formats to Ollama's kinds; other layers are left out. */
export function translateLayers(content: Uint8Array): readonly Layer[] {
  const { layers } = parseManifest(content);
  const titles = (parseJson(content, validator).layers ?? []).map(titleOf);
  const translated = layers.flatMap((layer, index) => {
    const title = titles[index];
    const kind = kindOf(layer.mediaType, title);
    return kind === undefined ? [] : [{ kind, layer: createLayer(kind, layer), title }];
  });
  const isSplit = translated.filter(({ kind }) => kind === "model").length > 1;
  return translated.map(({ kind, layer, title }) =>
    isSplit && kind === "model" && title !== undefined ? { ...layer, name: title } : layer,
  );
}

type AnnotatedLayer = NonNullable<Static<typeof layerTitlesSchema>["layers"]>[number];

/** The file name without its folders. */
function titleOf({ annotations }: AnnotatedLayer): string | undefined {
  const path = annotations?.["org.cncf.model.filepath"] ?? annotations?.["org.opencontainers.image.title"];
  return path?.split("/").at(-1);
}

function kindOf(mediaType: string, title = ""): LayerKind | undefined {
  const known = kinds.find(([pattern]) => pattern.test(mediaType));
  if (known !== undefined) return known[1];
  if (!rawFile.test(mediaType)) return undefined;
  if (/\.gguf$/iu.test(title)) return /mmproj/iu.test(title) ? "projector" : "model";
  return /^licen[cs]e(?:\.\w+)?$/iu.test(title) ? "license" : undefined;
}
