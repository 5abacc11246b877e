/** Each is one token of most vocabularies, with a space before it and without. */
const words = 'time year people way day man thing woman life child world school state family student group'.split(' ');

export function randomWords(random: () => number, count: number): string {
  return Array.from({ length: count }, () => words[Math.floor(random() * words.length)]).join(' ');
}
