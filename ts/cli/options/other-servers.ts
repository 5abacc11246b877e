/** Flags of llama-server and vLLM for what chasqui always does. They have no effect. */
import { choice, inGroup, on, type UngroupedRows } from '../../options/option-row.js';

export const ALWAYS_ON = inGroup('Server', {
  alwaysOn: {
    ...on,
    flag: '--cont-batching',
    aliases: [
      ...(['-cb', '--jinja', '--props'] as const),
      ...(['--embeddings', '--embedding', '--reranking', '--rerank'] as const),
      ...(['--enable-prefix-caching', '--enable-auto-tool-choice'] as const),
      ...(['--swa-full', '--kv-unified', '-kvu', '--no-context-shift'] as const),
      ...(['--backend-sampling', '-bs', '--cache-idle-slots'] as const),
    ],
    noAliases: ['--no-jinja', '--no-cache-idle-slots'],
    help: 'Accepted for other servers',
  },
  reasoningFormat: {
    ...choice('auto', 'deepseek'),
    help: 'Accepted for llama-server: replies have the reasoning in a field of its own',
  },
} as const satisfies UngroupedRows);

/** Flags of llama-server that `chasqui serve` refuses, with the equivalent or the reason. */
export const EXPLAINED: Readonly<Record<string, string>> = {
  '--context-shift': 'A completion ends when its context is full. For more room: --ctx-size',
  '--agent': 'Requests use tools of MCP servers: --mcp-config',
  '--media-path': 'Requests cannot read files of this machine. Send media as data URIs.',
  '--mmproj-url': 'Download the projector, and name its file with --mmproj.',
  '--slot-save-path': 'Conversations are saved automatically with --cache-disk.',
  '--tools': 'There are no built-in tools. Requests use tools of MCP servers: --mcp-config',
  '--ui-mcp-proxy': 'The server connects to MCP servers itself: --mcp-config',
};
