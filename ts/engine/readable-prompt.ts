/** The mark of a control token in the text of a message, and the header of a prompt with marks (native/llama/chat/control-tokens.h). */
const MARK = '\x7f\x7f';
const HEADER = `${MARK}\uFDD1`;

/** A rendered prompt for people. */
export function readablePrompt(prompt: string): string {
  return prompt.startsWith(HEADER) ? prompt.slice(HEADER.length).replaceAll(MARK, '') : prompt;
}
