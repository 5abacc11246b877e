/** Ranks texts by the words of a question (BM25). */

const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/** Words, and single characters of Chinese and Japanese, which have no spaces. */
const WORDS = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|(?:(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}])[\p{L}\p{M}\p{N}])+/gu;

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(WORDS) ?? [];
}

/** 0: the text has none of the words. */
export function scoresByWords(question: string, texts: readonly string[]): number[] {
  const wanted = new Set(wordsOf(question));
  const found = texts.map((text) => {
    const words = wordsOf(text);
    const counts = new Map<string, number>();
    for (const word of words) if (wanted.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { length: words.length, counts };
  });
  const meanLength = found.reduce((sum, { length }) => sum + length, 0) / texts.length || 1;
  const frequencies = new Map<string, number>();
  for (const { counts } of found) {
    for (const word of counts.keys()) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
  }
  const rarity = (word: string) => {
    const frequency = frequencies.get(word) ?? 0;
    return Math.log(1 + (texts.length - frequency + 0.5) / (frequency + 0.5));
  };
  return found.map(({ length, counts }) => {
    const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / meanLength);
    let score = 0;
    for (const [word, count] of counts) score += (rarity(word) * count * (SATURATION + 1)) / (count + norm);
    return score;
  });
}
