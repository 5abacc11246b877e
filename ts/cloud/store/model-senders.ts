/** Which organisations have sent a model: that one knows its digest does not give it what another one has sent. */
import type { Database } from './database.js';

const STEPS = [
  `CREATE TABLE model_senders (
    sha256 TEXT NOT NULL,
    org TEXT NOT NULL,
    PRIMARY KEY (sha256, org)
  ) STRICT, WITHOUT ROWID`,
];

export class ModelSenders {
  constructor(private readonly database: Database) {
    database.migrate('models', STEPS);
  }

  /** Forgets who sent models that are not there any more. */
  add(sha256: string, org: string, isThere: (sha256: string) => boolean): void {
    this.database.transaction(() => {
      const all = this.database.all<{ sha256: string }>('SELECT DISTINCT sha256 FROM model_senders');
      for (const { sha256: each } of all) {
        if (!isThere(each)) this.database.run('DELETE FROM model_senders WHERE sha256 = ?', [each]);
      }
      this.database.run('INSERT OR IGNORE INTO model_senders (sha256, org) VALUES (?, ?)', [sha256, org]);
    });
  }

  has(sha256: string, org: string): boolean {
    return this.database.get('SELECT 1 FROM model_senders WHERE sha256 = ? AND org = ?', [sha256, org]) !== undefined;
  }
}
