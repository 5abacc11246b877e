/** Validates request bodies with AJV against the schemas of their routes. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifyInstance } from 'fastify';
import { FAST_SCHEMAS } from '../options/fast-schemas.js';
import { toValidationError } from './validation-error.js';

const ajv = new Ajv({
  ...FAST_SCHEMAS,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  allErrors: false,
  // A variant of a discriminated union requires properties that only the variant itself defines.
  strictRequired: false,
  allowUnionTypes: true,
  discriminator: true,
  verbose: true,
});

/**
 * Spares each start the loading of Fastify's own compilers. Reply schemas are documentation only: a compiled serializer
 * would drop fields that they do not name.
 */
export const compilersFactory = {
  buildValidator: () => () => {
    throw new Error('validateBodies() must set the validator before the routes');
  },
  buildSerializer: () => () => (reply: unknown) => JSON.stringify(reply),
};

/** By their JSON: endpoints share body schemas, and so do the servers of a process. */
const schemas = new Map<string, CompiledSchema>();

/** Tells for each server of the process whether it has nothing to do. The desktop app has two. */
const servers = new Set<() => boolean>();

/**
 * Sets AJV to strict: by default Fastify makes it coerce types, drop unknown fields and fill in defaults. Compiling the
 * schemas is the slowest part of a start. The schema of chat completions, the most common first request, is compiled
 * while other processes load a model. The others are compiled one by one long after the start while all servers of the
 * process are idle, because a compilation delays the tokens of their streams, or by the first request that needs them.
 */
export function validateBodies(app: FastifyInstance, isIdle: () => boolean): void {
  const used = new Set<CompiledSchema>();
  let likely: CompiledSchema | undefined;
  app.setValidatorCompiler(({ schema, url }) => {
    const key = JSON.stringify(schema);
    const compiled = schemas.get(key) ?? new CompiledSchema(schema as object);
    schemas.set(key, compiled);
    used.add(compiled);
    if (url?.endsWith(LIKELY_URL)) likely = compiled;
    return (body: unknown) => {
      const validate = compiled.validator();
      if (validate(body)) return { value: body };
      return { error: toValidationError((validate.errors as ErrorObject[])[0] as ErrorObject) };
    };
  });
  let later: NodeJS.Timeout | undefined;
  app.addHook('onListen', async () => {
    setImmediate(() => likely?.validator()).unref();
    servers.add(isIdle);
    later = setTimeout(() => {
      later = compileWhileIdle([...used]);
    }, COMPILED_AFTER_MS).unref();
  });
  app.addHook('onClose', async () => {
    servers.delete(isIdle);
    clearTimeout(later);
  });
}

const LIKELY_URL = '/chat/completions';

/** By then most models are loaded, which takes all CPU time. Short-lived servers compile what they use. */
const COMPILED_AFTER_MS = 30_000;
/** Longer than a compilation, so the server never waits for two in a row. */
const COMPILED_EVERY_MS = 500;

class CompiledSchema {
  #validate: ValidateFunction | null = null;

  constructor(private readonly schema: object) {}

  validator(): ValidateFunction {
    this.#validate ??= ajv.compile(this.schema);
    return this.#validate;
  }
}

function compileWhileIdle(schemas: CompiledSchema[]): NodeJS.Timeout {
  const timer = setInterval(() => {
    if ([...servers].every((isIdle) => isIdle())) schemas.shift()?.validator();
    if (schemas.length === 0) clearInterval(timer);
  }, COMPILED_EVERY_MS).unref();
  return timer;
}
