/** A row of the specification: its number there, what it says, and the modes that it is about. */
import type { HostedMode, Mode } from '../support/modes.js';

export interface Row {
  /** The section or table, and the row of it: `2.1 top_k`. */
  row: string;
  says: string;
  modes: readonly Mode[];
  /** Throws when the mode does not do what the row says. */
  check(mode: HostedMode): Promise<void> | void;
}

export const ALL: readonly Mode[] = ['runtime', 'desktop', 'serverless'];
export const LOCAL: readonly Mode[] = ['runtime', 'desktop'];
/** The runtime's parameters are serverless's too. */
export const RUNTIME: readonly Mode[] = ['runtime', 'serverless'];
