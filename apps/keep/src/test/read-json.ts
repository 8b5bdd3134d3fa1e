/** What an answer holds, in the shape that the test expects and goes on to compare. */
export async function readAnswer<Shape>(answer: Response | Promise<Response>): Promise<Shape> {
  // The comparison that follows is what checks it.
  return (await (await answer).json()) as Shape;
}
