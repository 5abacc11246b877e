/** Reads secrets from standard input: other accounts can read a command line. */

const MAX_INPUT = 64 * 1024;

/** Returns all of standard input, without the final line break. */
export async function readInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin) {
    text += chunk;
    if (text.length > MAX_INPUT) throw new Error(`standard input has more than ${MAX_INPUT} characters`);
  }
  return text.replace(/\r?\n$/, '');
}
