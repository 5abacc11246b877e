/** Flags of llama-server and vLLM for what chasqui always does. They have no effect. */
import type { OptionRows } from '../../options/option-row.js';

export const ALWAYS_ON = {
  alwaysOn: {
    type: 'boolean',
    default: true,
    flag: '--cont-batching',
    aliases: [
      ...(['-cb', '--jinja', '--metrics', '--slots', '--props'] as const),
      ...(['--embeddings', '--embedding', '--reranking', '--rerank'] as const),
      ...(['--enable-prefix-caching', '--enable-auto-tool-choice'] as const),
    ],
    group: 'Server',
    help: 'Accepted for other servers',
  },
} as const satisfies OptionRows;
