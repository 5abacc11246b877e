/** Audit entries of failed sign-ins, rate-limited so that they cannot fill the disk. */
import type { AuditLog } from '../accounts/audit.js';
import { TryCounter } from '../accounts/sign-in-limits.js';

export class FailedSignIns {
  readonly #rows = new TryCounter({ burst: 60, perMinute: 1, maxEntries: 1 });
  #unwritten = 0;

  constructor(private readonly audit: AuditLog) {}

  /** An entry includes the number of suppressed ones before it. */
  add(name: string, address: string): void {
    if (this.#rows.take('all') > 0) {
      this.#unwritten++;
      return;
    }
    const actor = { kind: 'nobody', name: 'not signed in', org: null, app: null, address } as const;
    const detail = this.#unwritten > 0 ? { unwritten_before: this.#unwritten } : {};
    this.audit.add({ actor, action: 'sign_in.failed', subject: name.slice(0, 64), detail });
    this.#unwritten = 0;
  }
}
