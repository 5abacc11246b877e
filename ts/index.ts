/** Public API of the library: `import { loadModel } from 'chasqui'`. */

export { SupervisedEngine } from './engine/child/supervised-engine.js';
export type {
  ChatImagePart,
  ChatMessage,
  ChatPart,
  ChatTextPart,
  ChatTool,
  ChatToolCall,
  CountedPrompt,
  Embeddings,
  EmbedInput,
  Engine,
  EngineStats,
  Finish,
  FinishReason,
  ImagePrompt,
  ModelInfo,
  Ranking,
  RenderedPrompt,
  RenderOptions,
  ReplyDelta,
  ReplyFormat,
  TextInput,
  Timings,
  Token,
  TokenLogprob,
  TokenLogprobs,
  TokenStream,
} from './engine/engine.js';
export type { GenerateRequest, GenerateTool, MessagesRequest, PromptRequest } from './engine/generate.js';
export {
  type AudioInput,
  type GenerateOptions,
  type Grammar,
  grammarOf,
  type ImageInput,
  type Job,
} from './engine/job.js';
export type {
  GenerateAudioPart,
  GenerateImagePart,
  GenerateImageUrlPart,
  GenerateMessage,
  GeneratePart,
  OpenAiToolCall,
} from './engine/load-chat-images.js';
export type { LoadHooks, LoadOptions } from './engine/load-options.js';
export { Model } from './engine/model.js';
export type { Reply, ReplyFinish, ReplyStream, ReplyToken, ToolCallDelta } from './engine/reply-stream.js';
export { ChasquiError, type ErrorCode } from './errors.js';
export type { ModelFacts } from './hub/inspect-model.js';
export { ChatSession, type SendOptions, type SessionOptions, type SessionTool } from './library/chat-session.js';
export { createFetch } from './library/create-fetch.js';
export { createServer, type ModelServer, type ServerOptions } from './library/create-server.js';
export { loadModel, type ProcessOptions } from './library/load-model.js';
export {
  fits,
  inspect,
  type MemoryFit,
  type ResolvedModel,
  type ResolveOptions,
  resolveModel,
} from './library/resolve-model.js';
export type { SamplingSettings } from './options/sampling-table.js';
