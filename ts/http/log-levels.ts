/** From the most verbose to silent. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export interface LogOptions {
  /** `debug` adds probes and scrapes, `warn` leaves only requests with a status of 500 or more. */
  level: (typeof LOG_LEVELS)[number];
  /** Includes the beginnings of prompts; default false. */
  prompts?: boolean;
  /** Called with one line at a time, including its line break. */
  write(line: string): void;
}
