/** The options of `loadModel` about how long a model may reason, unless a request says otherwise. */
import { ChasquiError } from '../errors.js';
import type { NativeReasoningTags } from '../native/addon.js';
import { type Job, MAX_REASONING_MESSAGE } from './job.js';
import { MAX_COUNT, type OptionRows, type OptionsOf } from './option-row.js';

const GROUP = 'Model';

export const REASONING_OPTIONS = {
  reasoningBudget: {
    type: 'integer',
    min: -1,
    max: MAX_COUNT,
    unit: 'tokens',
    default: -1,
    flag: '--reasoning-budget',
    placeholder: 'n',
    group: GROUP,
    help:
      'how much the model may reason at a time, where its template has tags around that; then it is made to answer; 0: ' +
      'not at all, -1: without limit; requests go before it',
  },
  reasoningBudgetMessage: {
    type: 'string',
    flag: '--reasoning-budget-message',
    placeholder: 'text',
    group: GROUP,
    help: 'what the model is made to write where `reasoningBudget` ends its reasoning; requests go before it',
    otherwise: 'none',
  },
} as const satisfies OptionRows;

/** What these options say. */
export interface ReasoningLimits {
  /** `null`: reasoning is not limited. */
  budget: number | null;
  message: string;
}

/** @throws {ChasquiError} `invalid_options` */
export function reasoningLimits(options: OptionsOf<typeof REASONING_OPTIONS>): ReasoningLimits {
  const { reasoningBudget = REASONING_OPTIONS.reasoningBudget.default, reasoningBudgetMessage = '' } = options;
  const { length } = reasoningBudgetMessage;
  if (length > MAX_REASONING_MESSAGE) {
    const most = `may have ${MAX_REASONING_MESSAGE} at most`;
    throw new ChasquiError('invalid_options', `\`reasoningBudgetMessage\` has ${length} characters, but ${most}.`);
  }
  return { budget: reasoningBudget < 0 ? null : reasoningBudget, message: reasoningBudgetMessage };
}

/** How the reasoning of a job is limited; `null`: not at all. */
export function reasoningLimitOf(
  { reasoning, reasoningBudget, reasoningMessage }: Pick<Job, 'reasoning' | 'reasoningBudget' | 'reasoningMessage'>,
  defaults: ReasoningLimits,
): (NativeReasoningTags & { maxTokens: number; message: string }) | null {
  const budget = reasoningBudget ?? defaults.budget;
  if (reasoning === null || budget === null) return null;
  const message = beforeTag(reasoningMessage ?? defaults.message, reasoning.ends);
  return { ...reasoning, maxTokens: budget, message };
}

/** The tag is written after a message in any case, and a second one would be in the completion. */
function beforeTag(message: string, tags: readonly string[]): string {
  const places = tags.map((tag) => message.indexOf(tag.trim() || tag)).filter((place) => place >= 0);
  return message.slice(0, Math.min(...places, message.length));
}
