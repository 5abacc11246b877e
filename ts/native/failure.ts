/** A failure that native code reports: a plain object on the way out, or an `Error` with these properties when thrown. */
export interface NativeFailure {
  code: string;
  message: string;
  /** Which of the job's images the error is about, counted from 0. */
  imageIndex?: number;
  /** Of a prompt that does not fit: how many tokens it has at least, and how many there is room for. */
  promptTokens?: number;
  contextLength?: number;
}
