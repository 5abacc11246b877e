/**
 * Reads an answer again, up to five times, until it comes in more than one piece: what a busy machine hands over late
 * comes in one, and says nothing about whether answers are streamed.
 */
export async function inPieces<Answer extends { pieces: string[] }>(read: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const answer = await read();
    if (answer.pieces.length > 1) return answer;
  }
  throw new Error('The answer came in one piece, five times.');
}
