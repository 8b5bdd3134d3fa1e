/** E.g. "load_tensors: Vulkan0 model buffer size = 85.82 MiB". */
const bufferLine =
  /\b(?<device>\w+)\s+(?:model|KV|RS|compute|output)\s+buffer size\s*=\s*(?<mebibytes>[\d.]+) MiB/gu;
/** Buffers in the machine's own memory: "CPU", "CPU_Mapped", "Vulkan_Host". */
const inMainMemory = /^CPU|_Host$/u;

/** What a line of llama.cpp's log says that it has allocated in the memory of GPUs. */
export function countGpuBytes(message: string): number {
  return [...message.matchAll(bufferLine)].reduce((sum, { groups }) => {
    const { device = "CPU", mebibytes = "0" } = groups ?? {};
    return inMainMemory.test(device) ? sum : sum + Math.round(Number(mebibytes) * 1024 ** 2);
  }, 0);
}
