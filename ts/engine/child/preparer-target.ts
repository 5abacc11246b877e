/** Runs the calls of a server in the process that prepares requests, where only data is returned. */
import type { NativePreparer, NativeRenderedPrompt, NativeReplyFormat } from '../../native/addon.js';
import type { CallArgs, CallName, CallResult, CallTarget } from '../calls.js';

type Watched = <T>(work: () => Promise<T>) => Promise<T>;

export class PreparerTarget implements CallTarget {
  /** `watched` runs all that is prepared. */
  constructor(
    private readonly preparer: NativePreparer,
    private readonly openParser: (format: NativeReplyFormat) => unknown,
    private readonly watched: Watched,
  ) {}

  run<M extends CallName>(method: M, args: CallArgs<M>, owner: number): Promise<CallResult<M>> {
    return this.watched(async () => (await this.#prepare(method, args, owner)) as CallResult<M>);
  }

  cancelOwner(owner: number): void {
    this.preparer.cancelPreparation(owner);
  }

  async #prepare(method: CallName, args: readonly unknown[], owner: number): Promise<unknown> {
    if (method === 'compileGrammar') {
      // Only tests that it compiles: a constraint cannot leave its process, so the worker compiles it again.
      await this.preparer.compileGrammar(args[0] as CallArgs<'compileGrammar'>[0], 1, owner);
      return [];
    }
    const methods = this.preparer as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const result = await methods[method]?.(...args, owner);
    if (method === 'render') {
      // Only tests that the parser can be made: the worker makes the one that parses the completion.
      const { format } = result as NativeRenderedPrompt;
      if (format !== null) this.openParser(format);
    }
    return result;
  }
}
