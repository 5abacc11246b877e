import OpenAI from 'openai';
import type { HostedMode } from './modes.js';

/** The official client as a person would set it up for a server of that mode; it tries nothing twice. */
export function openAiClient(hosted: HostedMode): OpenAI {
  const { baseUrl, authorization } = hosted;
  const baseURL = `${baseUrl}/v1`;
  return new OpenAI({ baseURL, apiKey: 'not-needed', defaultHeaders: authorization, maxRetries: 0 });
}
