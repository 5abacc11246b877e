/** Words that are one token in most vocabularies, with and without a leading space. */
const words = 'time year people way day man thing woman life child world school state family student group'.split(' ');

export function randomWords(random: () => number, count: number): string {
  return Array.from({ length: count }, () => words[Math.floor(random() * words.length)]).join(' ');
}
