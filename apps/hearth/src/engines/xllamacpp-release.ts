/** The PyPI release of `xllamacpp` that Hearth's driver is tested with. */
export const xllamacppVersion = "2026.10.11549";

/** SHA-256 of every wheel of this release. The source distribution is left out, because nothing is compiled. */
const wheels = {
  "Linux on x64": "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",
  "Linux on ARM": "e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e",
  "macOS on ARM": "4ecda27a308b2403aa13c9d04b270befab95edc556c24ed00b2f8a98bd7f6781",
  "macOS on x64": "1f2a08052bb653659bcf1bedbbaf86b97f41dd46aa2763d596d7f27c5d89a689",
  "Windows on x64": "1b76730ab9af47ec8d05a3d55154305fa92642f694dd9ad87d9e5a5e9956a59d",
  "Linux on x64, free-threaded Python": "b9d341c07245b246d235a7186b0df8b892a3665fd92e37e1de606eaeff1d5265",
  "Linux on ARM, free-threaded Python": "cd580dd0a984e0d3ad2d1f7115a064fc2383b9d7a616521819e7a37e7de2c6d2",
  "macOS on ARM, free-threaded Python": "9993211c112a8f0ecc338b4a9a2ea40a5f12a1a10b980089eb0f684fa32f921b",
  "macOS on x64, free-threaded Python": "7a04d90562878fde09a106f9618810e67cfa07ed46b946705e0b95c9e5f33edb",
  "Windows on x64, free-threaded Python": "aef25324f172925988378cf5c14dc6ec4291b889a06aa0388332e75d69c8bd93",
};

/** A requirements file for `pip --require-hashes`; xllamacpp has no dependencies. */
export const xllamacppRequirements = [
  `xllamacpp==${xllamacppVersion}`,
  ...Object.values(wheels).map((hash) => `    --hash=sha256:${hash}`),
].join(" \\\n");
