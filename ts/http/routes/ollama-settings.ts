/** What Ollama's routes have in common: their errors, their options, and which model a request means. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toOllamaError } from '../../ollama/error-body.js';
import { toModelId } from '../../ollama/model-names.js';
import type { JsonSchema } from '../../schemas/json-schema.js';
import { OLLAMA_OPTIONS } from '../../schemas/ollama-request.js';
import { bodyRoute } from '../body-route.js';
import type { AppContext } from '../context.js';
import { errorHandler } from '../error-handler.js';
import type { Operation } from '../openapi/operation.js';
import { readInnerFields } from '../read-fields.js';

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
