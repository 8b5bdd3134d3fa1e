/** All items of a list that is read in pages of this size, each after the last item of the one before. */
export async function* readPages<Item>(
  size: number,
  readPage: (last: Item | undefined) => Promise<readonly Item[]>,
): AsyncGenerator<Item> {
  let page: readonly Item[] = [];
  do {
    page = await readPage(page.at(-1));
    yield* page;
  } while (page.length === size);
}
