import { table } from './table.js';
import { type Figures, median, type Subject, type Work } from './work.js';

export interface Row {
  name: string;
  work: Work;
  figure: keyof Figures & ('decodeRate' | 'totalRate');
}

/**
 * Runs the subjects alternately (A B C A B C ...) after one warm-up round, so a drift of the machine's speed affects all of
 * them. The first subject is the baseline of the ratios.
 */
export async function measureRow(row: Row, subjects: readonly Subject[], rounds: number): Promise<string[]> {
  const figures = new Map<Subject, Figures[]>(subjects.map((subject) => [subject, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const subject of subjects) {
      const figure = await subject.run(row.work, round);
      if (round > 0) figures.get(subject)?.push(figure);
    }
  }
  const limits = figures.get(subjects[0] as Subject)?.map((each) => each[row.figure]) ?? [];
  return subjects.flatMap((subject, index) => {
    const rates = figures.get(subject)?.map((each) => each[row.figure]) ?? [];
    const rate = median(rates).toFixed(0);
    if (index === 0) return [row.name, rate];
    const ratio = median(rates.map((each, round) => each / (limits[round] ?? Number.NaN)));
    const first = median(figures.get(subject)?.map((each) => each.firstTokenMs ?? Number.NaN) ?? []);
    return [rate, ratio.toFixed(2), first.toFixed(1)];
  });
}

export function generationTable(subjects: readonly string[], rows: readonly (readonly string[])[]): string {
  const [limit, ...others] = subjects;
  const head = ['tokens per second', `${limit}`, ...others.flatMap((name) => [name, 'ratio', 'first token, ms'])];
  return table(head, rows);
}
