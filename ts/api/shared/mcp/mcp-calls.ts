/** Runs the calls of one request within its limits. */
import type { McpResult } from '../../../mcp/tool-result.js';
import { parseArguments } from '../completion/call-arguments.js';
import type { McpOffer, OfferedTool } from './mcp-offer.js';

export const DEFAULT_MAX_CALLS = 32;
/** No calls begin after this time. */
const MAX_MS = 600_000;
/** Limit of all results together, in UTF-16 units. */
const MAX_RESULTS_LENGTH = 4 * 2 ** 20;

export class McpCalls {
  #left: number;
  #resultsLength = 0;
  readonly #deadline = performance.now() + MAX_MS;

  constructor(
    readonly offer: McpOffer,
    private readonly signal: AbortSignal,
    maxCalls = DEFAULT_MAX_CALLS,
  ) {
    this.#left = maxCalls;
  }

  /** Whether further calls may begin. */
  get isOpen(): boolean {
    return this.#left > 0 && performance.now() < this.#deadline;
  }

  /** `json` are the arguments. Rejects only with the reason of the signal. */
  async run(offered: OfferedTool | null, json: string): Promise<McpResult> {
    if (offered === null) return failed('The MCP server offers no such tool here.');
    if (!this.isOpen) return failed('The limit of tool calls is reached.');
    this.#left -= 1;
    const args = parseArguments(json);
    if (args === null) return failed('The arguments are not a JSON object, or are nested too deeply.');
    const result = await offered.entry.server.callTool(offered.tool.name, args, this.signal);
    this.#resultsLength += (result.output ?? result.error).length;
    if (this.#resultsLength <= MAX_RESULTS_LENGTH) return result;
    return failed(`The results of all calls exceed the limit of ${MAX_RESULTS_LENGTH} characters.`);
  }
}

function failed(error: string): McpResult {
  return { output: null, error };
}
