/**
 * Every failure chasqui reports, in one place. The native code throws the same codes; nothing decides by message text.
 */

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
  /** What it means, for the documentation. */
  meaning: string;
  /** After how many seconds trying again may help, unless the error itself says so. */
  retryAfterSeconds?: number;
  /** The option of the server that the messages name, unless the error itself says which. */
  option?: string;
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

export const ERRORS = {
  // The request as HTTP
  bad_request: badRequest('The request is not valid HTTP, or its body is not as long as it says.'),
  request_too_large: badRequest('The body is larger, or consists of more, than the limit.', 413),
  headers_too_large: badRequest('The request line and headers are larger than the limit.', 431),
  request_timeout: badRequest('The request did not arrive in time.', 408),
  unsupported_media_type: badRequest(
    'The body was not sent as `Content-Type: application/json`, or is compressed.',
    415,
  ),
  unknown_url: notFound('There is nothing at this path.'),
  method_not_allowed: badRequest('The path is known, but not with this method.', 405),
  client_closed_request: badRequest('The client went away before the reply. Seen in logs only.', 499),

  app_token_missing: {
    status: 401,
    type: 'authentication_error',
    meaning: "The desktop app was called without the token in its address, or with another app's.",
  },
  origin_not_allowed: {
    status: 403,
    type: 'permission_error',
    meaning: 'The desktop app was called by a web page that is not its own.',
  },
  host_not_allowed: {
    status: 403,
    type: 'permission_error',
    meaning: 'The Host header is not a name that this server goes by.',
  },
  invalid_api_key: {
    status: 401,
    type: 'authentication_error',
    meaning:
      'A private deployment, or a server that asks for keys, was called without one or with one that is not valid.',
  },
  permission_denied: {
    status: 403,
    type: 'permission_error',
    meaning:
      'The API key lacks the scope for this, or is for another organisation or app; or `force` came from another machine.',
  },
  key_not_found: notFound('There is no such API key, or nobody of that id.'),

  // The request's body
  invalid_json: badRequest('The body is not JSON, or has a key that JSON objects here may not have.'),
  missing_required_parameter: badRequest('A required field is absent.'),
  invalid_type: badRequest('A field has the wrong type.'),
  invalid_value: badRequest('A field has the right type and an impossible value.'),
  unknown_parameter: badRequest('Where unknown fields are refused: a field that this mode does not know.'),
  unsupported_parameter: badRequest('A field that would change the completion and that this server cannot obey.'),
  response_not_found: notFound(
    'The request refers to a response, a conversation or an item that is not stored here, or that belongs to another key.',
  ),
  model_not_found: notFound('The request names a model that is not served here.'),
  model_not_loaded: badRequest(
    'The request names a model that is not loaded, and this server loads none because a request names it.',
  ),
  no_room_for_model: badRequest('The model does not fit into memory beside those that are pinned there.'),
  model_not_capable: badRequest(
    'The model cannot do this: an embedding model does not chat, a chat model does not rank.',
  ),
  image_not_supported: badRequest('An image was sent to a model that takes text only.'),
  too_many_images: badRequest('A request has more images than are taken.'),
  invalid_image_url: badRequest('An image is given neither by an http or https address nor by a base64 data URI.'),
  invalid_image: badRequest('The bytes of an image cannot be read as an image.'),
  image_too_large: badRequest('An image has too many bytes or pixels, or those of the request have together.'),
  image_download_failed: badRequest('An image could not be had from its address.'),
  template_failed: badRequest("The model's chat template refused the conversation."),
  context_length_exceeded: { ...badRequest('The prompt does not fit into the context.'), option: 'contextSize' },
  invalid_grammar: badRequest('A grammar or JSON schema cannot be enforced, or allows no token to go on with.'),
  prepare_timeout: {
    ...badRequest('Rendering, tokenizing or compiling what the request holds took longer than the server allows.'),
    option: 'prepareTimeoutMs',
  },
  prompt_refused: badRequest(
    'The engine, or what prepares requests for it, ended twice at work on this request, which is not tried again for an hour.',
  ),
  request_cancelled: badRequest('The person who runs the server cancelled the request.'),
  invalid_job: badRequest('The engine refused the job: a setting is out of its range.'),

  // The cloud
  script_invalid: badRequest('A deployment script cannot be used, or what it says about an app.'),
  app_not_found: notFound('There is no such app, revision, runner or secret.'),
  app_failed: badRequest(
    'The app cannot be started as it was deployed. The message says why; its owner has to deploy it again.',
    424,
  ),
  deployment_refused: badRequest('What was asked of an app cannot be done in the state that it is in.', 422),

  // The server
  queue_full: {
    status: 429,
    type: 'rate_limit_error',
    meaning: 'More requests are waiting than the server takes. `Retry-After` says when to try again.',
  },
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    meaning: 'The API key has used up one of its limits. `Retry-After` says when to try again.',
  },
  server_busy: {
    ...serverError(
      'The server holds as much of request bodies, or of images downloaded for them, as it has room for.',
      503,
    ),
    retryAfterSeconds: 5,
  },
  too_many_open_files: {
    ...serverError('The server, or its machine, has as many files and connections open as it may.', 503),
    retryAfterSeconds: 5,
  },
  engine_closed: { ...serverError('The server is shutting down.', 503), retryAfterSeconds: 5 },
  engine_restarting: {
    ...serverError('The process of the engine ended, and another is being started.', 503),
    retryAfterSeconds: 5,
  },
  model_loading: {
    ...serverError('The model that the request needs is being loaded.', 503),
    retryAfterSeconds: 5,
  },
  startup_timeout: {
    ...serverError('No runner of the app was ready in time. The next request may find one.', 503),
    retryAfterSeconds: 30,
  },
  runner_failed: {
    ...serverError('The runner that had the request ended, or did not reply as it should.', 503),
    retryAfterSeconds: 5,
  },
  time_limit_exceeded: badRequest('The request took longer than the app allows.'),
  engine_failed: serverError(
    'The model could not be loaded, or the process of its engine ended again and again and is not started any more.',
    503,
  ),
  engine_stalled: {
    ...serverError('The engine has not finished a step for half a minute. Said by the health endpoints only.', 503),
    retryAfterSeconds: 30,
  },
  out_of_memory: serverError('Memory ran out while the completion was being computed.'),
  decode_failed: serverError('The model could not be evaluated.'),
  key_store_failed: serverError('The database of API keys could not be read or written.'),
  cloud_store_failed: serverError('The database of the cloud could not be read or written.'),
  internal_error: serverError('An error of the server itself.'),

  // The desktop app
  port_in_use: badRequest('The port is used by another program.', 409),
  not_found: notFound('The app has no chat or request with this id.'),
  store_failed: serverError(
    'The database of stored responses, or that of the desktop app, could not be read or written.',
  ),

  // Loading a model; no request is answered with these
  model_file_missing: notFound('There is no file at the path of the model.'),
  model_fetch_failed: serverError('The file of the model could not be fetched from its URL.'),
  model_file_invalid: badRequest('The file is not a complete GGUF model.'),
  model_load_failed: serverError('The file is a GGUF model that could not be loaded.'),
  addon_missing: serverError('The native part of chasqui could not be loaded.'),
  backend_unavailable: serverError('The backend that was asked for cannot be used on this machine.'),
  cluster_failed: serverError('A Kubernetes cluster refused what it was asked for, or could not be reached.'),
  invalid_options: badRequest('An option given when loading the model is out of its range.'),

  // The model hub, downloads, and models on this computer
  invalid_model_name: badRequest('What was given is not the name of a model on the hub.'),
  hub_model_not_found: notFound('The hub has no such model or file, or shows it to others only.'),
  quantisation_not_found: notFound('The model is not there in the quantisation, or as the file, that was asked for.'),
  hub_model_gated: {
    status: 403,
    type: 'permission_error',
    meaning: 'The model is given only to accounts that have asked for access on its page.',
  },
  hub_access_denied: {
    status: 403,
    type: 'permission_error',
    meaning: 'The model is private or disabled, and the token does not open it.',
  },
  hub_token_refused: {
    status: 403,
    type: 'permission_error',
    meaning: 'The hub does not know the token, or it has expired.',
  },
  hub_rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    meaning: 'The hub takes no more requests from this address for a while.',
  },
  hub_unreachable: {
    ...serverError('The hub could not be reached, or did not reply in time.', 503),
    retryAfterSeconds: 10,
  },
  hub_failed: serverError('The hub replied with an error of its own, or with something that makes no sense.', 502),
  architecture_unknown: badRequest('The model is of a kind that this llama.cpp cannot load.'),
  no_space: badRequest('The disk has too little free space for the download.', 409),
  wrong_digest: badRequest('The downloaded bytes are not those that the hub announced.', 409),
  download_failed: serverError('The files of a download could not be written.'),
  download_not_found: notFound('There is no download with this id.'),
  download_in_use: badRequest('Another process of chasqui has the list of downloads open.', 409),
  local_model_not_found: notFound('There is no such model on this computer.'),
  not_deletable: badRequest(
    'The model is not for chasqui to delete: it came with it, was named when it started, or belongs to another program.',
    409,
  ),
  fit_unknown: badRequest('It cannot be worked out whether the model fits.', 409),
} as const satisfies Record<string, CatalogueRow>;

export type ErrorCode = keyof typeof ERRORS;

/** The one error class. `message` says what was wrong, where, and what to do. */
export class ChasquiError extends Error {
  override readonly name = 'ChasquiError';
  /** After how many seconds trying again may help; set for temporary failures only. */
  retryAfterSeconds: number | undefined;
  /** The number of the job's image that the error is about, counted from 0. */
  imageIndex: number | undefined;
  /** Of a prompt that does not fit: how many tokens it has at least, and how many there is room for. */
  promptTokens: number | undefined;
  contextLength: number | undefined;
  /**
   * The option of the server that the message names in backticks, as the code calls it (`imageHosts`). Where the server
   * was started it may have another name, such as that of a flag.
   */
  option: string | undefined;

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** The request field that the error is about, as a path: `messages[0].content`. */
    readonly param: string | null = null,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** The same error for a caller who knows its field by another name, or needs other words. */
  retold(message: string, param: string | null): ChasquiError {
    const error = new ChasquiError(this.code, message, param, { cause: this });
    const { retryAfterSeconds, promptTokens, contextLength, option } = this;
    return Object.assign(error, { retryAfterSeconds, promptTokens, contextLength, option });
  }

  /** Returns the same error with its option called as `names` has it; itself where `names` has no name for it. */
  withOptionNamed(names: Readonly<Record<string, string>>): ChasquiError {
    const row: CatalogueRow = ERRORS[this.code];
    const option = this.option ?? row.option;
    const name = option === undefined ? undefined : names[option];
    if (name === undefined) return this;
    return this.retold(this.message.replaceAll(`\`${option}\``, `\`${name}\``), this.param);
  }
}
