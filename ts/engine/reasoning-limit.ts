/** How many tokens of reasoning a job may have. */
import { ChasquiError } from '../errors.js';
import type { NativeReasoningTags } from '../native/addon.js';
import { MODEL_OPTIONS } from '../options/model-option-table.js';
import { type Job, MAX_REASONING_MESSAGE } from './job.js';
import type { LoadOptions } from './load-options.js';

/** The limits that `loadModel` sets for jobs without their own. */
export interface ReasoningLimits {
  /** `null`: unlimited. */
  budget: number | null;
  message: string;
}

/** @throws {ChasquiError} `invalid_options` */
export function reasoningLimits(options: LoadOptions): ReasoningLimits {
  const { reasoningBudget = MODEL_OPTIONS.reasoningBudget.default, reasoningBudgetMessage = '' } = options;
  const { length } = reasoningBudgetMessage;
  if (length > MAX_REASONING_MESSAGE) {
    const limit = `${length} characters; the limit is ${MAX_REASONING_MESSAGE}`;
    throw new ChasquiError('invalid_options', `\`reasoningBudgetMessage\` has ${limit}.`);
  }
  return { budget: reasoningBudget < 0 ? null : reasoningBudget, message: reasoningBudgetMessage };
}

/** The limit on the reasoning of a job; `null`: unlimited. */
export function reasoningLimitOf(
  { reasoning, reasoningBudget, reasoningMessage }: Pick<Job, 'reasoning' | 'reasoningBudget' | 'reasoningMessage'>,
  defaults: ReasoningLimits,
): (NativeReasoningTags & { maxTokens: number; message: string }) | null {
  const budget = reasoningBudget ?? defaults.budget;
  if (reasoning === null || budget === null) return null;
  const message = beforeTag(reasoningMessage ?? defaults.message, reasoning.ends);
  return { ...reasoning, maxTokens: budget, message };
}

/** Cuts a message off at a closing tag: one is written after it in any case, and a second one would be text. */
function beforeTag(message: string, tags: readonly string[]): string {
  const places = tags.map((tag) => message.indexOf(tag.trim() || tag)).filter((place) => place >= 0);
  return message.slice(0, Math.min(...places, message.length));
}
