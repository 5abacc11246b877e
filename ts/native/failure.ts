/** A failure of native code: a plain object in events, or an `Error` with these properties when thrown. */
export interface NativeFailure {
  code: string;
  message: string;
  /** Index of the image that caused the error. */
  imageIndex?: number;
  /** If the prompt is too long: the least number of its tokens, and the limit. */
  promptTokens?: number;
  contextLength?: number;
}
