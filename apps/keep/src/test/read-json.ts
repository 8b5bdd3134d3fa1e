/** The response's JSON body in the shape that the test expects. */
export async function readJson<Shape>(response: Response | Promise<Response>): Promise<Shape> {
  // Checked by the test's assertions.
  return (await (await response).json()) as Shape;
}
