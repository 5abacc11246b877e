/** Keys of queued requests for the gateway. The queue stores only their ids. */
import { randomBytes } from 'node:crypto';
import type { CloudKey, KeyRing } from '../gateway/access.js';

export interface KeysById extends KeyRing {
  /** Returns the valid key with this id. The queue has checked the key's secret before. */
  checkId(id: string): CloudKey | null;
}

/** Also accepts tickets: random texts that replace the key while a queued request runs. */
export class TicketRing implements KeyRing {
  readonly #tickets = new Map<string, string>();

  constructor(private readonly keys: KeysById) {}

  check(key: string): CloudKey | null {
    const id = this.#tickets.get(key);
    return id === undefined ? this.keys.check(key) : this.keys.checkId(id);
  }

  issue(keyId: string): string {
    const ticket = randomBytes(32).toString('base64url');
    this.#tickets.set(ticket, keyId);
    return ticket;
  }

  withdraw(ticket: string): void {
    this.#tickets.delete(ticket);
  }
}
