/** Fields by which a request of any endpoint says how long its model stays loaded. */
export interface ModelUse {
  /** From Ollama: seconds, or a text such as `5m` or `1h30m`; 0: unload it when nobody uses it, less than 0: never. */
  keep_alive?: number | string;
  /** From LM Studio: the same as seconds. */
  ttl?: number;
}

/** As much as the server's own option for this takes. */
export const MAX_KEEP_ALIVE_S = 1_000_000;
const MAX_DURATION_LENGTH = 64;

export const modelUseSchemas: Record<keyof ModelUse, object> = {
  keep_alive: { type: ['number', 'string'], maximum: MAX_KEEP_ALIVE_S, maxLength: MAX_DURATION_LENGTH },
  ttl: { type: 'integer', minimum: -1, maximum: MAX_KEEP_ALIVE_S },
};
