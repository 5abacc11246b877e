/** Shared by Ollama's routes: errors, options, and the model of a request. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Finish } from '../../engine/engine.js';
import type { ErrorBody } from '../../http/error-body.js';
import { errorHandler } from '../../http/error-handler.js';
import type { Operation } from '../../http/openapi/operation.js';
import { bodyRoute, readInnerFields } from '../../http/read-fields.js';
import type { JsonSchema } from '../../http/schema/json-schema.js';
import type { AppContext } from '../context.js';
import { OLLAMA_OPTIONS, type OllamaEnding, ollamaErrorSchema } from './schema.js';

/** `errorHandler` of a route: the message alone, as Ollama's clients read it. */
export function ollamaErrors({ options }: Pick<AppContext, 'options'>) {
  return { errorHandler: errorHandler(options, toOllamaError) };
}

/** Part of the `Operation` of each route. */
export const OLLAMA = { tag: 'Ollama', errorBody: ollamaErrorSchema } as const;

/** Settings of a route with a model and `options` in its body. */
export function ollamaRoute(
  context: AppContext,
  schema: JsonSchema & { properties: object },
  operation: Operation,
  optionNames: readonly string[] = OLLAMA_OPTIONS,
) {
  const { profile, options } = context;
  const { preValidation, ...route } = bodyRoute(context, schema, operation);
  const readOptions = readInnerFields(profile, options.strict, 'options', optionNames);
  return {
    ...route,
    ...ollamaErrors(context),
    preValidation: [
      preValidation,
      (request: FastifyRequest, reply: FastifyReply): Promise<void> => readOptions(request, reply),
    ],
  };
}

/** The envelope has no place for the field, so the message names it. */
export function toOllamaError({ error: { message, param } }: ErrorBody): { error: string } {
  const isNamed = param === null || message.includes(`\`${param}\``);
  return { error: isNamed ? message : `\`${param}\`: ${message}` };
}

/** The line of a failure, which ends a stream. */
export function ollamaFailure(body: ErrorBody): string[] {
  return [JSON.stringify(toOllamaError(body))];
}

/** When a request arrived and when its model was there, in milliseconds since 1970. */
export interface RequestTimes {
  arrivedAt: number;
  loadedAt: number;
}

const NS_PER_MS = 1e6;

export function toNanoseconds(ms: number): number {
  return Math.round(Math.max(ms, 0) * NS_PER_MS);
}

export function toEnding({ arrivedAt, loadedAt }: RequestTimes, finish: Finish): OllamaEnding {
  const { promptMs, predictedMs } = finish.timings;
  return {
    done_reason: finish.reason,
    total_duration: toNanoseconds(Date.now() - arrivedAt),
    load_duration: toNanoseconds(loadedAt - arrivedAt),
    prompt_eval_count: finish.promptTokens,
    prompt_eval_duration: toNanoseconds(promptMs),
    eval_count: finish.completionTokens,
    eval_duration: toNanoseconds(predictedMs),
  };
}
