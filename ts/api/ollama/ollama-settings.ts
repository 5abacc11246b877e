/** What Ollama's routes have in common: their errors, their options, and which model a request means. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorHandler } from '../../http/error-handler.js';
import type { Operation } from '../../http/openapi/operation.js';
import { bodyRoute, readInnerFields } from '../../http/read-fields.js';
import type { JsonSchema } from '../../http/schema/json-schema.js';
import type { AppContext } from '../context.js';
import { toOllamaError } from './ollama-errors.js';
import { toModelId } from './ollama-names.js';
import { OLLAMA_OPTIONS } from './ollama-request-schema.js';

/** `errorHandler` of a route: the message alone, as Ollama's clients read it. */
export function ollamaErrors({ options }: Pick<AppContext, 'options'>) {
  return { errorHandler: errorHandler(options, toOllamaError) };
}

/** LM Studio's begin with a version. */
const OLLAMA_PATH = /^\/+api\/(?!v\d)/;

/**
 * `errorHandler` of the app: as Ollama's clients read it where they looked for a path, or a method, that is not there, or a
 * path that cannot be read.
 */
export function errorsByPath({ options }: Pick<AppContext, 'options'>) {
  const plain = errorHandler(options);
  const ollamas = errorHandler(options, toOllamaError);
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    (OLLAMA_PATH.test(request.url) ? ollamas : plain)(thrown, request, reply);
}

/** Of a route whose body has a model, and options that are obeyed as far as they are about sampling. */
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

/** A model that is not served under a name with a tag may be so without it. */
export function ollamaNaming({ pool }: Pick<AppContext, 'pool'>) {
  return ({ model }: { model?: string }): string | undefined => model && toModelId(model, pool.list());
}
