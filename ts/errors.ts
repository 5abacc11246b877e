/** The catalogue of all errors. Native code throws the same codes. Code compares `code`, never message texts. */

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'server_error';

export interface CatalogueRow {
  status: number;
  type: ErrorType;
  /** Description for the documentation. */
  meaning: string;
  /** Default of `ChasquiError.retryAfterSeconds`. */
  retryAfterSeconds?: number;
  /** Default of `ChasquiError.option`. */
  option?: string;
  /** Other options that the message may name. */
  otherOptions?: readonly string[];
}

function badRequest(meaning: string, status = 400): CatalogueRow {
  return { status, type: 'invalid_request_error', meaning };
}

function notFound(meaning: string, status = 404): CatalogueRow {
  return { status, type: 'not_found_error', meaning };
}

function serverError(meaning: string, status = 500): CatalogueRow {
  return { status, type: 'server_error', meaning };
}

function unauthenticated(meaning: string): CatalogueRow {
  return { status: 401, type: 'authentication_error', meaning };
}

function forbidden(meaning: string): CatalogueRow {
  return { status: 403, type: 'permission_error', meaning };
}

function tooMany(meaning: string): CatalogueRow {
  return { status: 429, type: 'rate_limit_error', meaning };
}

function unavailable(meaning: string, retryAfterSeconds = 5): CatalogueRow {
  return { ...serverError(meaning, 503), retryAfterSeconds };
}

export const ERRORS = {
  // HTTP
  bad_request: badRequest('The request is not valid HTTP, or its body does not have the declared length.'),
  request_too_large: badRequest('The body exceeds the limit of bytes or of JSON elements.', 413),
  headers_too_large: badRequest('The request line and headers exceed the limit.', 431),
  request_timeout: badRequest('The request did not arrive in time.', 408),
  unsupported_media_type: badRequest('The content type is not `application/json`, or the body is compressed.', 415),
  unknown_url: notFound('No endpoint has this path.'),
  method_not_allowed: badRequest('The endpoint does not support this method.', 405),
  client_closed_request: badRequest('The client disconnected before the reply. Appears in logs only.', 499),

  app_token_missing: unauthenticated('The request to the desktop app has no token, or the token of another instance.'),
  origin_not_allowed: forbidden('A web page of another origin called the desktop app.'),
  host_not_allowed: forbidden('The Host header does not name this server.'),
  invalid_api_key: unauthenticated('The API key is missing or invalid.'),
  permission_denied: forbidden(
    'The API key lacks the scope, or belongs to another organisation or app; or `force` was used from another machine.',
  ),
  key_not_found: notFound('No API key or user has this id.'),

  // Request body
  invalid_json: badRequest('The body is not JSON, or contains a forbidden key such as `__proto__`.'),
  missing_required_parameter: badRequest('A required field is missing.'),
  invalid_type: badRequest('A field has the wrong type.'),
  invalid_value: badRequest('A field has a value that is out of range or impossible.'),
  unknown_parameter: badRequest('This mode does not know the field. Only if unknown fields are refused.'),
  unsupported_parameter: badRequest(
    'The server does not support this field, and ignoring it would change the completion.',
  ),
  previous_response_not_found: badRequest(
    'The response that the request continues is not stored here, or belongs to another key.',
  ),
  response_not_found: notFound(
    'The response, conversation, item or queued request is not stored here, or belongs to another key.',
  ),
  thread_not_found: notFound('The thread of messages is not stored here, or belongs to another key.'),
  tool_not_found: notFound('No configured MCP server has this tool.'),
  model_not_found: notFound('The server does not serve this model.'),
  model_not_loaded: badRequest(
    'The model is not loaded, and the request does not load it. Load it with `chasqui load`.',
  ),
  no_room_for_model: badRequest('The model does not fit into memory beside the pinned models.'),
  model_not_capable: badRequest(
    'The model does not support this: embedding models do not chat, chat models do not rank.',
  ),
  image_not_supported: badRequest('The request contains an image, but the model accepts text only.'),
  audio_not_supported: badRequest('The request contains audio, but the model accepts none.'),
  too_many_images: badRequest('The request contains too many images.'),
  invalid_image_url: badRequest('An image URL is neither an http or https address nor a base64 data URI.'),
  invalid_image: badRequest('The image cannot be decoded.'),
  image_too_large: badRequest('An image, or all images of the request together, have too many bytes or pixels.'),
  image_download_failed: badRequest('The image could not be downloaded.'),
  invalid_audio_url: badRequest('The data of audio is neither base64, a data URI nor an http or https address.'),
  invalid_audio: badRequest('The audio cannot be decoded.'),
  audio_too_large: badRequest('The audio has too many bytes, or all audio of the request lasts too long.'),
  audio_download_failed: badRequest('The audio could not be downloaded.'),
  template_failed: badRequest("The model's chat template rejected the conversation."),
  context_length_exceeded: {
    ...badRequest('The prompt does not fit into the context.'),
    option: 'contextSize',
    otherOptions: ['kvBudgetMiB'],
  },
  invalid_grammar: badRequest('The grammar or JSON schema cannot be enforced, or allows no token.'),
  prepare_timeout: {
    ...badRequest('Rendering, tokenizing or compiling the request exceeded the time limit.'),
    option: 'prepareTimeoutMs',
  },
  prompt_refused: badRequest('This request crashed the engine or its preparation twice. It is refused for one hour.'),
  request_cancelled: badRequest('The operator of the server, or the client of a queued request, cancelled it.'),
  invalid_job: badRequest('The engine rejected the job because a setting is out of range.'),
  stream_consumed: badRequest(
    'The tokens of a stream were read before, by another reader, or not to the end. Library calls only.',
  ),

  // Cloud
  script_invalid: badRequest('The deployment script, or an app in it, is invalid.'),
  app_not_found: notFound('No app, revision, runner or secret has this name.'),
  app_failed: badRequest('The app cannot start as deployed. The message states the reason; deploy it again.', 424),
  deployment_refused: badRequest('The current state of the app does not allow this action.', 422),

  // Server
  queue_full: tooMany('Too many requests are waiting. `Retry-After` states when to retry.'),
  rate_limit_exceeded: tooMany('The API key has exceeded one of its limits. `Retry-After` states when to retry.'),
  insufficient_quota: tooMany('A budget of the organisation or of the API key is used up. Do not retry this month.'),
  server_busy: unavailable('The memory for request bodies or downloaded images is exhausted.'),
  too_many_open_files: unavailable('The limit of open files and connections of the process or the machine is reached.'),
  engine_closed: unavailable('The server is shutting down.'),
  engine_restarting: unavailable('The engine process ended and is being restarted.'),
  model_loading: unavailable('The model is being loaded.'),
  startup_timeout: unavailable('No runner of the app became ready in time. Retry the request.', 30),
  runner_failed: unavailable('The runner ended during the request, or sent an invalid reply.'),
  time_limit_exceeded: badRequest('The request took longer than the app allows.'),
  engine_failed: serverError(
    'The model could not be loaded, or its engine process ended repeatedly and is not restarted within 30 s.',
    503,
  ),
  engine_stalled: unavailable(
    'The engine has not finished a step for 30 seconds. Only health endpoints report this.',
    30,
  ),
  out_of_memory: serverError('Memory is insufficient to load the model or to compute the completion.'),
  invalid_logits: badRequest('The model computed values that are not numbers for this input.', 422),
  decode_failed: serverError('The evaluation of the model failed.'),
  key_store_failed: serverError('The database of API keys cannot be read or written.'),
  cloud_store_failed: serverError('The database of the cloud cannot be read or written.'),
  internal_error: serverError('An internal error of the server.'),

  // Desktop app
  port_in_use: badRequest('Another program uses the port.', 409),
  chat_busy: badRequest('A completion of the chat is running in the desktop app.', 409),
  not_found: notFound('The desktop app has no chat or request with this id.'),
  store_failed: serverError('The database of stored responses, or of the desktop app, cannot be read or written.'),

  // Loading of models. Never part of an HTTP reply.
  model_file_missing: notFound('The model file does not exist.'),
  model_fetch_failed: serverError('The model file could not be downloaded from its URL.'),
  model_file_invalid: badRequest('The file is not a complete GGUF model.'),
  model_load_failed: serverError('The GGUF model could not be loaded.'),
  addon_missing: serverError('The native addon could not be loaded.'),
  backend_unavailable: serverError('The selected backend is not available on this machine.'),
  cluster_failed: serverError('The Kubernetes cluster rejected the request or could not be reached.'),
  invalid_options: badRequest('A load option is out of range.'),

  // Model hub, downloads and local models
  invalid_model_name: badRequest('The text is not a model name of the hub.'),
  hub_model_not_found: notFound('The hub has no such model or file, or it is private.'),
  quantisation_not_found: notFound('The model has no such quantization or file.'),
  hub_model_gated: forbidden('The model requires an account with approved access. Request access on its page.'),
  hub_access_denied: forbidden('The model is private or disabled, and the token does not grant access.'),
  hub_token_refused: forbidden('The hub token is unknown or has expired.'),
  hub_rate_limited: tooMany('The hub has rate-limited this address.'),
  hub_unreachable: unavailable('The hub could not be reached or did not reply in time.', 10),
  hub_failed: serverError('The hub replied with a server error or an invalid reply.', 502),
  architecture_unknown: badRequest('This llama.cpp does not support the architecture of the model.'),
  no_space: badRequest('The disk has too little free space for the download.', 409),
  wrong_digest: badRequest('The downloaded file does not have the announced digest.', 409),
  download_failed: serverError('The files of a download could not be written.'),
  download_not_found: notFound('No download has this id.'),
  download_in_use: badRequest('Another chasqui process uses the download list.', 409),
  model_exists: badRequest('Another model with this file name has been imported.', 409),
  local_model_not_found: notFound('No local model has this name.'),
  not_deletable: badRequest(
    'The model cannot be deleted: it is in use, is built in, was passed at startup, or belongs to another program.',
    409,
  ),
  fit_unknown: badRequest('The memory requirement of the model is unknown.', 409),
} as const satisfies Record<string, CatalogueRow>;

export type ErrorCode = keyof typeof ERRORS;

/** The only error class. Its message names the failure, the place and the remedy. */
export class ChasquiError extends Error {
  override readonly name = 'ChasquiError';
  /** Seconds until a retry may succeed. Set for temporary failures only. */
  retryAfterSeconds: number | undefined;
  /** Zero-based index of the job's image that caused the error. */
  imageIndex: number | undefined;
  /** Minimum length of a prompt that does not fit, and the available context, in tokens. */
  promptTokens: number | undefined;
  contextLength: number | undefined;
  /**
   * The server option that the message names in backticks, as in code (`imageHosts`). `withOptionNamed` replaces it by the
   * name that the user knows, such as a command-line flag.
   */
  option: string | undefined;

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** Path of the request field that caused the error: `messages[0].content`. */
    readonly param: string | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Returns a copy with another message and field, for dialects with other field names. */
  withMessage(message: string, param: string | null): ChasquiError {
    const error = new ChasquiError(this.code, message, param, { cause: this });
    const { retryAfterSeconds, promptTokens, contextLength, option } = this;
    return Object.assign(error, { retryAfterSeconds, promptTokens, contextLength, option });
  }

  /** Returns a copy with its options renamed by `names`, or this error if `names` contains none of them. */
  withOptionNamed(names: Readonly<Record<string, string>>): ChasquiError {
    const row: CatalogueRow = ERRORS[this.code];
    let { message } = this;
    for (const option of [this.option ?? row.option, ...(row.otherOptions ?? [])]) {
      const name = option === undefined ? undefined : names[option];
      if (name !== undefined) message = message.replaceAll(`\`${option}\``, `\`${name}\``);
    }
    return message === this.message ? this : this.withMessage(message, this.param);
  }
}

/** `param`: the field of the request. */
export function invalidValue(message: string, param: string | null = null): ChasquiError {
  return new ChasquiError('invalid_value', message, param);
}

/** `param`: the field of the request. */
export function unsupportedParameter(message: string, param: string | null = null): ChasquiError {
  return new ChasquiError('unsupported_parameter', message, param);
}

/** `param`: the option, if the caller knows options as fields. */
export function invalidOptions(message: string, param: string | null = null): ChasquiError {
  return new ChasquiError('invalid_options', message, param);
}

export type StoreError = 'store_failed' | 'key_store_failed' | 'cloud_store_failed';

/** Runs an action on a store. Its failures get `code`, and a message that begins with `what`. */
export function onStore<T>(code: StoreError, what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof ChasquiError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ChasquiError(code, `${what}: ${reason}.`, null, { cause: error });
  }
}
