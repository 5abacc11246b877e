/** Coding agents that support local models, with the settings that each needs. */

export interface AgentServer {
  /** Without `/v1`. */
  url: string;
  model: string;
  /** `null`: the server requires none. */
  key: string | null;
}

export interface AgentRecipe {
  command: string;
  args: readonly string[];
  /** Added to the inherited environment. */
  variables: Readonly<Record<string, string>>;
}

export interface CodingAgent {
  name: string;
  install: string;
  recipe(server: AgentServer): AgentRecipe;
}

/** Placeholder: agents refuse to start without a key, even if the server requires none. */
const NO_KEY = 'chasqui';

/** Agents read the key from this variable. */
const KEY_VARIABLE = 'CHASQUI_API_KEY';

/** Claude Code requests three model sizes by name; all map to the same model. */
const claude: CodingAgent = {
  name: 'claude',
  install: 'npm install -g @anthropic-ai/claude-code',
  recipe: ({ url, model, key }) => ({
    command: 'claude',
    args: ['--model', model],
    variables: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: key ?? NO_KEY,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    },
  }),
};

/** Settings are TOML, which quotes strings as JSON does. */
const codex: CodingAgent = {
  name: 'codex',
  install: 'npm install -g @openai/codex',
  recipe: ({ url, model, key }) => {
    const settings = {
      model_provider: 'chasqui',
      'model_providers.chasqui.name': 'chasqui',
      'model_providers.chasqui.base_url': `${url}/v1`,
      'model_providers.chasqui.wire_api': 'responses',
      'model_providers.chasqui.env_key': KEY_VARIABLE,
    };
    const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]);
    return { command: 'codex', args: [...given, '-m', model], variables: { [KEY_VARIABLE]: key ?? NO_KEY } };
  },
};

/** opencode merges the configuration in a variable with the configuration of the user. */
const opencode: CodingAgent = {
  name: 'opencode',
  install: 'npm install -g opencode-ai',
  recipe: ({ url, model, key }) => {
    const options = { baseURL: `${url}/v1`, apiKey: `{env:${KEY_VARIABLE}}` };
    const provider = {
      chasqui: { npm: '@ai-sdk/openai-compatible', name: 'chasqui', options, models: { [model]: { name: model } } },
    };
    const config = { $schema: 'https://opencode.ai/config.json', model: `chasqui/${model}`, provider };
    return {
      command: 'opencode',
      args: [],
      variables: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config), [KEY_VARIABLE]: key ?? NO_KEY },
    };
  },
};

export const CODING_AGENTS: readonly CodingAgent[] = [claude, codex, opencode];
