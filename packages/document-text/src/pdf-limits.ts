export type PdfLimits = {
  /** The size of the file. */
  readonly documentBytes: number;
  readonly pages: number;
  /** The size of the text in UTF-8; longer text is cut. */
  readonly textBytes: number;
  /** From the start of the process to its response. */
  readonly seconds: number;
  /** Of the process. */
  readonly memoryBytes: number;
  /** How many documents are read at the same time. */
  readonly processes: number;
  /** How many documents can wait for that. */
  readonly waiting: number;
};

const mebibyte = 1024 ** 2;

export const defaultPdfLimits: PdfLimits = {
  documentBytes: 32 * mebibyte,
  pages: 500,
  textBytes: 4 * mebibyte,
  seconds: 20,
  memoryBytes: 512 * mebibyte,
  processes: 2,
  waiting: 32,
};
