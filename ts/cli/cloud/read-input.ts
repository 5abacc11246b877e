/** What should not stand on a command line, which other accounts may see. */

const MAX_INPUT = 64 * 1024;

/** All of standard input, without the end of its last line. */
export async function readInput(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin) {
    text += chunk;
    if (text.length > MAX_INPUT) throw new Error(`standard input has more than ${MAX_INPUT} characters`);
  }
  return text.replace(/\r?\n$/, '');
}
