/** Generated from load-option-table.ts: npx tsx test/house/tables.ts */
import type { LOAD_OPTIONS } from './load-option-table.js';
import type { ValueOf } from './option-row.js';

type Value<Name extends keyof typeof LOAD_OPTIONS> = ValueOf<(typeof LOAD_OPTIONS)[Name]>;

/** Other names and values are refused with `invalid_options`. */
export interface DescribedLoadOptions {
  /**
   * Model name in requests, and further names; comma-separated or repeatable. Must be a list of names. Default: the
   * file name without .gguf.
   */
  alias?: Value<'alias'>;
  /** Tags of the model in lists of models; comma-separated or repeatable. Must be a list of names. Default: none. */
  tags?: Value<'tags'>;
  /**
   * GGUF file of the projector for images and audio; none disables both. Must be a path or null. Default:
   * mmproj-<model>.gguf, <model>-mmproj.gguf or <model>.mmproj.gguf beside the model, or the only mmproj*.gguf of a
   * folder with one model.
   */
  mmproj?: Value<'mmproj'>;
  /**
   * GGUF file of a LoRA adapter, which requests select as model:name; repeatable. Must be a list of paths. Default:
   * none.
   */
  lora?: Value<'lora'>;
  /**
   * Jinja chat template, or one of llama.cpp's names such as chatml, llama3, gemma or mistral-v7. Must be a text that
   * is not empty. Default: the model's own.
   */
  chatTemplate?: Value<'chatTemplate'>;
  /** File with a Jinja chat template. Must be a path. Default: the model's own. */
  chatTemplateFile?: Value<'chatTemplateFile'>;
  /**
   * JSON object with default values of template variables; requests override it. Must be a text that is not empty.
   * Default: none.
   */
  chatTemplateKwargs?: Value<'chatTemplateKwargs'>;
  /**
   * Parse control tokens in the text of messages, tools and documents, which are plain text otherwise. Default: false.
   */
  specialTokensInMessages?: Value<'specialTokensInMessages'>;
  /**
   * Turn reasoning on or off, if the template supports it; requests override it. Must be auto, on or off. Default:
   * auto.
   */
  reasoning?: Value<'reasoning'>;
  /**
   * Limit for each block of reasoning, if the template marks reasoning with tags; 0 disables reasoning, -1 is
   * unlimited; requests override it. Must be a whole number of tokens from -1 up. Default: -1.
   */
  reasoningBudget?: Value<'reasoningBudget'>;
  /**
   * Text inserted when `reasoningBudget` ends the reasoning; requests override it. Must be a text that is not empty.
   * Default: none.
   */
  reasoningBudgetMessage?: Value<'reasoningBudgetMessage'>;
  /**
   * Pooling method for embeddings; use rank for rerankers that do not declare it; none returns one vector for each
   * token, at /embedding only. Must be none, mean, cls, last or rank. Default: declared by the model, or mean.
   */
  pooling?: Value<'pooling'>;
  /** Map the model file into memory; without it, loading is slower. Default: on, if the devices support it. */
  mmap?: Value<'mmap'>;
  /** Lock the model in memory, so that it is never swapped out. Default: false. */
  mlock?: Value<'mlock'>;
  /** Repack weights into the CPU's fastest layout. Default: on. */
  repack?: Value<'repack'>;
  /**
   * Thread placement on NUMA machines; the first model of a process decides. Must be distribute, isolate or numactl.
   * Default: off.
   */
  numa?: Value<'numa'>;
  /**
   * Override a metadata value of the model file; repeatable. Must be a list of at most 64, each key=int:1,
   * key=float:0.5, key=bool:true or key=str:text. Default: none.
   */
  overrideKv?: Value<'overrideKv'>;
  /**
   * Context size of one conversation, completion included; rounded up to a multiple of 256. Must be a whole number of
   * tokens from 16 up. Default: the trained context, limited to half of the free memory.
   */
  contextSize?: Value<'contextSize'>;
  /**
   * Without `contextSize`, use the largest context that fits; off uses `fitCtx`. Must be on or off. Default: on for a
   * single model, off for several, which share the memory.
   */
  fit?: Value<'fit'>;
  /**
   * Minimum context that `fit` chooses, unless the trained context is smaller. Must be a whole number of tokens from
   * 256 up. Default: 4096.
   */
  fitCtx?: Value<'fitCtx'>;
  /**
   * Number of slots: completions computed at the same time, each with a context of `contextSize`. Must be a whole
   * number from 1 to 256. Default: 4.
   */
  parallel?: Value<'parallel'>;
  /**
   * Compute backend; auto chooses the best one that passes its self-test, see chasqui doctor. Must be auto, cuda,
   * metal, vulkan or cpu. Default: auto.
   */
  backend?: Value<'backend'>;
  /**
   * CPU threads for decoding. Must be a whole number from 1 to 512. Default: one per physical core, fewer for very
   * small models.
   */
  threads?: Value<'threads'>;
  /**
   * CPU threads for prefill. Must be a whole number from 1 to 512. Default: the same as `threads`, or one per physical
   * core.
   */
  threadsBatch?: Value<'threadsBatch'>;
  /** Maximum tokens per step. Must be a whole number of tokens from 1 to 1048576. Default: 2048. */
  batchSize?: Value<'batchSize'>;
  /** Physical batch size, at most `batchSize`. Must be a whole number of tokens from 1 to 1048576. Default: 512. */
  ubatchSize?: Value<'ubatchSize'>;
  /**
   * Maximum number of waiting requests; a server replies 429 to further ones. Must be a whole number from 0 up.
   * Default: 256.
   */
  maxQueue?: Value<'maxQueue'>;
  /**
   * Target duration of a step while completions are running; prompts are split to meet it. Must be a whole number of
   * milliseconds from 1 up. Default: 100.
   */
  targetStepMs?: Value<'targetStepMs'>;
  /**
   * Time limit for preparing the template, tokens and grammar of one request. Must be a whole number of milliseconds
   * from 1 to 1000000000. Default: 10000.
   */
  prepareTimeoutMs?: Value<'prepareTimeoutMs'>;
  /**
   * Memory limit of the preparation process, which is restarted beyond it. Must be a whole number of MiB from 64 up.
   * Default: 1024.
   */
  prepareMemoryMiB?: Value<'prepareMemoryMiB'>;
  /**
   * Memory for the KV cells of all completions and cached prefixes; completions beyond it wait or are preempted by
   * earlier ones. Must be a number of MiB from 1 up. Default: `parallel` × `contextSize`; without `contextSize`, at
   * most half of the free memory.
   */
  kvBudgetMiB?: Value<'kvBudgetMiB'>;
  /**
   * Main memory for the cached state of evicted conversations; 0 keeps none. Must be a number of MiB from 0 up.
   * Default: 1024.
   */
  cacheRamMiB?: Value<'cacheRamMiB'>;
  /**
   * Disk space, shared by all models, for the state of evicted conversations and of those cached at shutdown; requires
   * `cacheRamMiB`; 0 keeps none. Must be a number of MiB from 0 up. Default: 0.
   */
  cacheDiskMiB?: Value<'cacheDiskMiB'>;
  /**
   * Folder for `cacheDiskMiB`; its files reveal conversations to their readers. Must be a path. Default: cache in the
   * data folder of a server, or in ~/.chasqui.
   */
  cacheFolder?: Value<'cacheFolder'>;
  /**
   * Main memory for the embeddings of encoded images and audio. Must be a whole number of MiB from 0 up. Default: 256.
   */
  imageCacheMiB?: Value<'imageCacheMiB'>;
  /** Allowed hosts of images and audio. Must be public, loopback or any. Default: public. */
  imageHosts?: Value<'imageHosts'>;
  /** Compute each completion alone and without caches: equal requests get bit-identical results; slow. Default: off. */
  deterministic?: Value<'deterministic'>;
  /** Write llama.cpp's log to standard error; chat replies show prompts. Default: false. */
  verbose?: Value<'verbose'>;
  /**
   * GPUs to use, comma-separated, see chasqui doctor; none uses the CPU alone. Must be a list of names. Default: all of
   * the backend.
   */
  device?: Value<'device'>;
  /**
   * -ngl: number of layers on GPUs, output layer included; auto offloads as many as fit into their free memory. Must be
   * a whole number from 0 up, auto or all. Default: auto.
   */
  gpuLayers?: Value<'gpuLayers'>;
  /**
   * How to split the model across GPUs: by layer, by row (CUDA), or none, which uses `mainGpu` alone. Must be none,
   * layer or row. Default: layer.
   */
  splitMode?: Value<'splitMode'>;
  /** GPU for `splitMode` none: its index in `device`. Must be a whole number from 0 up. Default: 0. */
  mainGpu?: Value<'mainGpu'>;
  /**
   * Proportion of the model on each GPU, such as 3,1. Must be a list of numbers, of at least 0 and not all 0. Default:
   * by free memory.
   */
  tensorSplit?: Value<'tensorSplit'>;
  /** Memory to leave free on each GPU with `gpuLayers` auto. Must be a whole number of MiB from 0 up. Default: 1024. */
  fitTargetMiB?: Value<'fitTargetMiB'>;
  /** Keep all expert weights in main memory. Default: false. */
  cpuMoe?: Value<'cpuMoe'>;
  /**
   * Keep the expert weights of the first n layers in main memory. Must be a whole number from 0 to 1000. Default: 0.
   */
  cpuMoeLayers?: Value<'cpuMoeLayers'>;
  /**
   * Place weights on a device by a regular expression for their names, such as exps=CPU; repeatable. Must be a list of
   * at most 256, each pattern=device, separated by commas. Default: with their layers.
   */
  overrideTensor?: Value<'overrideTensor'>;
  /** Keep KV cells on the GPU of their layer; without it, in main memory. Default: on. */
  kvOffload?: Value<'kvOffload'>;
  /** Compute large batches on the GPU for layers in main memory. Default: on. */
  opOffload?: Value<'opOffload'>;
  /** Run the projector on a GPU; without it, on the CPU. Default: on. */
  mmprojOffload?: Value<'mmprojOffload'>;
  /**
   * GPU for the projector, see chasqui doctor; none runs it on the CPU. Must be a text that is not empty. Default: the
   * first of `device`.
   */
  mmprojDevice?: Value<'mmprojDevice'>;
  /**
   * Data type of cached keys; q8_0 needs about half the memory of f16. Must be f32, f16, bf16, q8_0, q5_1, q5_0, q4_1,
   * q4_0 or iq4_nl. Default: f16.
   */
  cacheTypeK?: Value<'cacheTypeK'>;
  /**
   * Data type of cached values; types other than f32, f16 and bf16 require flash attention. Must be f32, f16, bf16,
   * q8_0, q5_1, q5_0, q4_1, q4_0 or iq4_nl. Default: f16.
   */
  cacheTypeV?: Value<'cacheTypeV'>;
  /**
   * Data type of cached keys of `draftModel` or `specType`. Must be f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or
   * iq4_nl. Default: f16.
   */
  draftCacheTypeK?: Value<'draftCacheTypeK'>;
  /**
   * Data type of cached values of `draftModel` or `specType`. Must be f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0 or
   * iq4_nl. Default: f16.
   */
  draftCacheTypeV?: Value<'draftCacheTypeV'>;
  /** Flash attention; auto uses it on devices that support it. Must be auto, on or off. Default: auto. */
  flashAttention?: Value<'flashAttention'>;
  /** RoPE scaling method beyond the trained context. Must be none, linear or yarn. Default: declared by the model. */
  ropeScaling?: Value<'ropeScaling'>;
  /**
   * RoPE context scaling factor relative to the trained context. Must be a number from 0.000001 to 1000000. Default:
   * declared by the model.
   */
  ropeScale?: Value<'ropeScale'>;
  /**
   * RoPE base frequency; 0 uses the value of the model. Must be a number from 0 to 1000000000. Default: declared by the
   * model.
   */
  ropeFreqBase?: Value<'ropeFreqBase'>;
  /**
   * RoPE frequency scaling factor, 1 / `ropeScale`; 0 uses the value of the model. Must be a number from 0 to
   * 1000000000. Default: declared by the model.
   */
  ropeFreqScale?: Value<'ropeFreqScale'>;
  /**
   * YaRN: trained context of the original model; 0 uses the value of the model. Must be a whole number of tokens from 0
   * up. Default: declared by the model.
   */
  yarnOrigCtx?: Value<'yarnOrigCtx'>;
  /**
   * YaRN: extrapolation factor; 0 is full interpolation. Must be a number from -1 to 1000000000. Default: declared by
   * the model.
   */
  yarnExtFactor?: Value<'yarnExtFactor'>;
  /** YaRN: attention scaling factor. Must be a number from -1 to 1000000000. Default: declared by the model. */
  yarnAttnFactor?: Value<'yarnAttnFactor'>;
  /** YaRN: high correction dimension, alpha. Must be a number from -1 to 1000000000. Default: declared by the model. */
  yarnBetaSlow?: Value<'yarnBetaSlow'>;
  /** YaRN: low correction dimension, beta. Must be a number from -1 to 1000000000. Default: declared by the model. */
  yarnBetaFast?: Value<'yarnBetaFast'>;
  /**
   * Maximum draft length while at most two completions are running; drafts come from the text or the grammar, up to 64
   * tokens and fewer if they do not pay off, or from `draftModel` or `specType`; seeded requests use text drafts only
   * if these cannot change rounding; 0 disables drafts. Must be a whole number of tokens from 0 to 65535. Default: 32
   * without a GPU (greedy requests: only if drafts cannot change rounding), 8 with `draftModel`, 3 with `specType`.
   */
  draftMax?: Value<'draftMax'>;
  /** GGUF file of a small draft model with the same vocabulary. Must be a path. Default: none. */
  draftModel?: Value<'draftModel'>;
  /** GPUs for `draftModel`, comma-separated; none uses the CPU alone. Must be a list of names. Default: `device`. */
  draftDevice?: Value<'draftDevice'>;
  /**
   * Number of layers of `draftModel` on GPUs; auto means all. Must be a whole number from 0 up, auto or all. Default:
   * all.
   */
  draftGpuLayers?: Value<'draftGpuLayers'>;
  /**
   * Discard shorter drafts of `draftModel` or `specType`; without either, draft at least this many tokens wherever the
   * text repeats itself. Must be a whole number of tokens from 0 to 65535. Default: 0.
   */
  draftMin?: Value<'draftMin'>;
  /**
   * End a draft of `draftModel` or `specType` at a token less probable than this. Must be a number from 0 to 1.
   * Default: 0.
   */
  draftPMin?: Value<'draftPMin'>;
  /**
   * draft-mtp drafts with the model's own multi-token prediction layer, in files of Qwen3.5 and 3.6, GLM-4.5 and Hy3
   * that contain one. Must be none or draft-mtp. Default: none.
   */
  specType?: Value<'specType'>;
  /** Sampling temperature; 0 is greedy. Must be a number from 0 to 1000000. Default: set by the mode. */
  temperature?: Value<'temperature'>;
  /** Keep the k most probable tokens; 0 keeps all. Must be a whole number from 0 up. Default: set by the mode. */
  topK?: Value<'topK'>;
  /**
   * Keep the most probable tokens up to this cumulative probability; 1 keeps all. Must be a number from 0 to 1.
   * Default: set by the mode.
   */
  topP?: Value<'topP'>;
  /**
   * Drop tokens less probable than this fraction of the most probable one; 0 keeps all. Must be a number from 0 to 1.
   * Default: set by the mode.
   */
  minP?: Value<'minP'>;
  /**
   * Divide the logits of tokens among the last `repeatLastN`; 1 disables it. Must be a number from 0.000001 to 1000000.
   * Default: set by the mode.
   */
  repeatPenalty?: Value<'repeatPenalty'>;
  /**
   * Window of the three penalties; 0 disables them, -1 is the whole context. Must be a whole number of tokens from -1
   * up. Default: 64.
   */
  repeatLastN?: Value<'repeatLastN'>;
  /**
   * Subtract this from the logits of tokens among the last `repeatLastN`. Must be a number from -1000000 to 1000000.
   * Default: 0.
   */
  presencePenalty?: Value<'presencePenalty'>;
  /**
   * Subtract this once for each occurrence of the token among the last `repeatLastN`. Must be a number from -1000000 to
   * 1000000. Default: 0.
   */
  frequencyPenalty?: Value<'frequencyPenalty'>;
  /**
   * Locally typical sampling: cumulative probability to keep; 1 disables it. Must be a number from 0 to 1. Default: 1.
   */
  typicalP?: Value<'typicalP'>;
  /**
   * Drop logits more than this many standard deviations below the largest; 0 or less disables it. Must be a number from
   * -1 to 1000000. Default: -1.
   */
  topNSigma?: Value<'topNSigma'>;
  /**
   * XTC: probability of dropping all tokens above `xtcThreshold` except the least probable; 0 disables it. Must be a
   * number from 0 to 1. Default: 0.
   */
  xtcProbability?: Value<'xtcProbability'>;
  /** XTC: token probability threshold; above 0.5 disables it. Must be a number from 0 to 1. Default: 0.1. */
  xtcThreshold?: Value<'xtcThreshold'>;
  /**
   * Dynamic temperature: range around the temperature, by entropy; 0 disables it. Must be a number from 0 to 1000000.
   * Default: 0.
   */
  dynatempRange?: Value<'dynatempRange'>;
  /** Dynamic temperature: exponent of the normalized entropy. Must be a number from 0 to 1000000. Default: 1. */
  dynatempExponent?: Value<'dynatempExponent'>;
  /**
   * Mirostat version, which replaces all samplers except the temperature; 0 disables it. Must be a whole number from 0
   * to 2. Default: 0.
   */
  mirostat?: Value<'mirostat'>;
  /** Mirostat: target surprise in bits. Must be a number from 0 to 1000000. Default: 5. */
  mirostatTau?: Value<'mirostatTau'>;
  /** Mirostat: learning rate. Must be a number from 0 to 1000000. Default: 0.1. */
  mirostatEta?: Value<'mirostatEta'>;
  /** Adaptive-p: token probability to aim at; negative disables it. Must be a number from -1 to 1. Default: -1. */
  adaptiveTarget?: Value<'adaptiveTarget'>;
  /** Adaptive-p: decay of the mean of past probabilities. Must be a number from 0 to 0.99. Default: 0.9. */
  adaptiveDecay?: Value<'adaptiveDecay'>;
  /**
   * DRY: penalty on tokens that extend a repetition; 0 disables it. Must be a number from -1000000 to 1000000. Default:
   * 0.
   */
  dryMultiplier?: Value<'dryMultiplier'>;
  /** DRY: growth of the penalty per repeated token. Must be a number from 1 to 1000000. Default: 1.75. */
  dryBase?: Value<'dryBase'>;
  /** DRY: longest repetition without a penalty. Must be a whole number of tokens from 0 up. Default: 2. */
  dryAllowedLength?: Value<'dryAllowedLength'>;
  /**
   * DRY: window searched for repetitions; 0 disables it, -1 is the whole context. Must be a whole number of tokens from
   * -1 up. Default: 64.
   */
  dryPenaltyLastN?: Value<'dryPenaltyLastN'>;
  /**
   * Seed of requests without one; -1 or 4294967295 draws a random seed per request. Must be a whole number from -1 to
   * 4294967295. Default: -1.
   */
  seed?: Value<'seed'>;
  /**
   * DRY: text that ends a repetition; repeatable. Must be a list of at most 16, each a text of 1 to 40 characters.
   * Default: line break, colon, quotation mark, asterisk.
   */
  drySequenceBreakers?: Value<'drySequenceBreakers'>;
  /**
   * Samplers to apply, in this order. Must be a list of some of penalties, dry, top_n_sigma, top_k, typ_p, top_p,
   * min_p, xtc, temperature, adaptive_p. Default: all but adaptive_p, in llama.cpp's order.
   */
  samplers?: Value<'samplers'>;
}
