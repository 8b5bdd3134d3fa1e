/** A duration in nanoseconds, as Go writes it. Zero is omitted. */
export function durationField(name: string, milliseconds: number): Readonly<Record<string, number>> {
  const nanoseconds = Math.round(milliseconds * 1e6);
  return nanoseconds === 0 ? {} : { [name]: nanoseconds };
}
