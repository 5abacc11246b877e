/** From what gives the most lines to what gives none. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
