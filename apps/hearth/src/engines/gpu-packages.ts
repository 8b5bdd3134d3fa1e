/** The release of the binding, and of its packages for GPUs, that Hearth is tested with. */
export const bindingVersion = "3.22.1";

export const gpuBackends = ["vulkan", "cuda"] as const;
export type GpuBackend = (typeof gpuBackends)[number];

/** npm's integrity of each package of this release. A test compares them to the lockfile. */
const packages = {
  "linux-x64-vulkan":
    "sha512-bBxqU+JOcBu1nb5Qj2zcMci+JByT1E8EajHvYodyNfVIPkEhXh+/HMwR1/BT7xP08YK0hks+kM8fglER0P8JEg==",
  "linux-x64-cuda":
    "sha512-8rQCjyNNLZJUFit+YpjwlC4hwkKgOMIkB2wuycKBf8NU2O3ySKbiWZQ8aw9ku2nUTXjSnUIrE6KB88itduTBuA==",
  "linux-x64-cuda-ext":
    "sha512-4e5ajkiM2aR2WAdB/N/ACk4weEhHvOAIrzxZPsIX0xDFW5+6hhShuy1/vs88SK9NGdgAco9IyE28eYS0H1efpA==",
} as const;

export type GpuPackage = { readonly name: string; readonly integrity: string };

/** The packages to install for a GPU; none if this platform has none. */
export function gpuPackagesFor(
  backend: GpuBackend,
  { platform, arch }: { readonly platform: string; readonly arch: string } = process,
): readonly GpuPackage[] {
  const build = `${platform}-${arch}-${backend}`;
  return Object.entries(packages)
    .filter(([name]) => name === build || name === `${build}-ext`)
    .map(([name, integrity]) => ({ name: `@node-llama-cpp/${name}`, integrity }));
}
