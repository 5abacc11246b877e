/** How often each fuzzer has run since what it looks at changed: kept in a file from one run to the next. */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/** Result of one run. */
export interface Run {
  executions: number;
  seconds: number;
  findings: number;
}

export interface Total extends Run {
  /** A digest of the code that was looked at. */
  code: string;
  runs: number;
  /** The first and the last run with this code, as ISO 8601 dates. */
  since: string;
  until: string;
}

interface Entry extends Total {
  /** The totals of earlier states of the code, the latest first. */
  earlier: Total[];
}

const MAX_EARLIER = 20;

export class ExecutionTally {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** The total of a target for this state of the code; undefined when it has not run yet. */
  total(target: string, code: string): Total | undefined {
    const entry = this.#read()[target];
    if (entry?.code !== code) return undefined;
    const { earlier: _, ...total } = entry;
    return total;
  }

  /** Adds a run, and returns the new total. A run of other code than the last one begins a new total. */
  add(target: string, code: string, run: Run, now = new Date()): Total {
    const entries = this.#read();
    const last = entries[target];
    const until = now.toISOString();
    const fresh: Total = { code, executions: 0, seconds: 0, findings: 0, runs: 0, since: until, until };
    const { earlier, ...before }: Entry = last ?? { ...fresh, earlier: [] };
    const isSame = before.code === code;
    const base = isSame ? before : fresh;
    const total: Total = {
      ...base,
      executions: base.executions + run.executions,
      seconds: base.seconds + run.seconds,
      findings: base.findings + run.findings,
      runs: base.runs + 1,
      until,
    };
    entries[target] = { ...total, earlier: isSame ? earlier : [before, ...earlier].slice(0, MAX_EARLIER) };
    this.#write(entries);
    return total;
  }

  #read(): Record<string, Entry> {
    try {
      return JSON.parse(fs.readFileSync(this.#file, 'utf8')) as Record<string, Entry>;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw new Error(`${this.#file} cannot be read: ${(error as Error).message}`);
    }
  }

  /** Atomic: an interrupted write keeps the old file. */
  #write(entries: Record<string, Entry>): void {
    const written = `${this.#file}.new`;
    fs.writeFileSync(written, `${JSON.stringify(entries, null, 2)}\n`);
    fs.renameSync(written, this.#file);
  }
}

/** A digest of the files in folders, and of single files, that are wanted. It does not depend on where the root is. */
export function digestOf(root: string, names: readonly string[], isWanted: (file: string) => boolean): string {
  const hash = createHash('sha256');
  for (const name of names) {
    const isFolder = fs.statSync(path.join(root, name)).isDirectory();
    const inside = isFolder ? fs.readdirSync(path.join(root, name)).sort() : [];
    const files = isFolder ? inside.map((each) => `${name}/${each}`) : [name];
    for (const file of files.filter(isWanted)) {
      hash
        .update(`${file}\0`)
        .update(fs.readFileSync(path.join(root, file)))
        .update('\0');
    }
  }
  return hash.digest('hex').slice(0, 16);
}
