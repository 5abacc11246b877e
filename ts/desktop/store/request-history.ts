/** Persistent history of requests for a day. */
import type { RequestRow } from '../api-types.js';
import type { Store } from './database.js';

const DAY_MS = 24 * 3600 * 1000;
const MAX_ROWS = 10_000;
/** Batches writes: a busy server finishes hundreds of requests per second. */
const WRITE_EVERY_MS = 1000;

export class RequestHistory {
  #unwritten: RequestRow[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly store: Store) {}

  add(row: RequestRow): void {
    this.#unwritten.push(row);
    if (this.#unwritten.length > MAX_ROWS) this.#unwritten.shift();
    this.#timer ??= setTimeout(() => this.#write(), WRITE_EVERY_MS);
  }

  /** Newest first. */
  list(limit: number): RequestRow[] {
    const rows = this.store.rows<{ row: string }>('SELECT row FROM requests ORDER BY at DESC, id LIMIT ?', limit);
    return [...this.#unwritten.toReversed(), ...rows.map(toRow)].slice(0, limit);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#write();
  }

  /** Keeps the rows in memory if the write fails, and retries with the next request. */
  #write(): void {
    this.#timer = undefined;
    if (this.#unwritten.length === 0) return;
    try {
      this.#writeAll();
      this.#unwritten = [];
    } catch {}
  }

  #writeAll(): void {
    this.store.transaction(() => {
      for (const row of this.#unwritten) {
        this.store.run(
          'INSERT OR REPLACE INTO requests (id, at, row) VALUES (?, ?, ?)',
          row.id,
          row.at,
          JSON.stringify(row),
        );
      }
      this.store.run('DELETE FROM requests WHERE at < ?', Date.now() - DAY_MS);
      this.store.run(
        'DELETE FROM requests WHERE id IN (SELECT id FROM requests ORDER BY at DESC LIMIT -1 OFFSET ?)',
        MAX_ROWS,
      );
    });
  }
}

/** Rows of earlier versions lack the requested name. */
function toRow({ row }: { row: string }): RequestRow {
  return { requested: null, ...(JSON.parse(row) as Omit<RequestRow, 'requested'>) };
}
