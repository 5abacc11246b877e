/**
 * Reads an answer of hundreds of tokens again, up to five times, until it comes in more than one piece. The engine
 * computes a short answer before the server has written its first token; such an answer comes in one piece each time.
 */
export async function inPieces<Answer extends { pieces: string[] }>(read: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const answer = await read();
    if (answer.pieces.length > 1) return answer;
  }
  throw new Error('The answer came in one piece, five times.');
}

/** The demo model answers it with hundreds of tokens. */
export const LONG_PROMPT = 'Count from 1 to 99';
/** Beginning of the answer to `LONG_PROMPT`. */
export const LONG_ANSWER = /^1, 2, 3, 4, 5, .*, 98, 99/;
