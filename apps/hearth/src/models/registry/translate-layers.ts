import { asFields, type JsonFields, listField, parseFields, textField } from "../store/json-fields.ts";
import { type Layer, type LayerKind, makeLayer, parseManifest } from "../store/manifest.ts";

const mostLayers = 8192;
const longestText = 1024;

/** Media types whose content is the same file as in our own layers; archives are never unpacked. */
const kinds: readonly (readonly [RegExp, LayerKind])[] = [
  [/^application\/vnd\.docker\.ai\.gguf(?:\.v\d+)?$/u, "model"],
  [/^application\/vnd\.docker\.ai\.mmproj$/u, "projector"],
  [/^application\/vnd\.docker\.ai\.license$/u, "license"],
  [/^application\/vnd\.cncf\.model\.weight\.v1\.gguf$/u, "model"],
];
const rawFile = /^application\/(?:vnd\.cncf\.model\.(?:weight|doc)\.v1\.raw|octet-stream|x-gguf)$/u;
const titles = ["org.cncf.model.filepath", "org.opencontainers.image.title"];

/** The layers of Docker's and the CNCF's models in our words; those that we have no use for are left out. */
export function translateLayers(content: Uint8Array): readonly Layer[] {
  const { layers } = parseManifest(content);
  const written = listField(parseFields(content), "layers", mostLayers).map((each) =>
    asFields(each, "a layer"),
  );
  const translated = layers.flatMap((layer, index) => {
    const title = titleOf(written[index] ?? {});
    const kind = kindOf(layer.mediaType, title);
    return kind === undefined ? [] : [{ kind, layer: { ...makeLayer(kind, layer) }, title }];
  });
  const isSplit = translated.filter(({ kind }) => kind === "model").length > 1;
  return translated.map(({ kind, layer, title }) =>
    isSplit && kind === "model" && title !== undefined ? { ...layer, name: title } : layer,
  );
}

/** The name of the file without its folders. */
function titleOf(layer: JsonFields): string | undefined {
  const annotations = asFields(layer["annotations"] ?? {}, "annotations");
  const paths = titles.map((title) => textField(annotations, title, longestText));
  return paths
    .find((path) => path !== undefined)
    ?.split("/")
    .at(-1);
}

function kindOf(mediaType: string, title = ""): LayerKind | undefined {
  const known = kinds.find(([pattern]) => pattern.test(mediaType));
  if (known !== undefined) return known[1];
  if (!rawFile.test(mediaType)) return undefined;
  if (/\.gguf$/iu.test(title)) return /mmproj/iu.test(title) ? "projector" : "model";
  return /^licen[cs]e(?:\.\w+)?$/iu.test(title) ? "license" : undefined;
}
