/** The web page of `chasqui serve`: a chat, the settings of the model, and how to use the API. */
import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Announcer, announce } from '../parts/announcer.js';
import { Action, CopyButton } from '../parts/button.js';
import { Icon } from '../parts/icon.js';
import { Markdown } from '../parts/markdown.js';
import { Notices } from '../parts/notices.js';
import { Boundary, ScrollRegion } from '../parts/page.js';
import { bytes, count } from '../state/format.js';
import { startLanguage } from '../state/language.js';
import {
  apiBase,
  busy,
  clear,
  cloudApp,
  complete,
  createKey,
  hasKey,
  keyScheme,
  model,
  models,
  needsKey,
  openServer,
  problem,
  samplingDefaults,
  send,
  setKey,
  showDefaults,
  start,
  stop,
  type Turn,
  turns,
} from './web-chat.js';

function WebPage() {
  return (
    <>
      <header class="web-head">
        <h1>{cloudApp ? <a href={cloudApp.back}>{cloudApp.name}</a> : 'chasqui'}</h1>
        <ModelChoice />
        <Action label="New chat" icon="plus" disabled={turns.value.length === 0} run={clear} />
      </header>
      <main>
        <Boundary name="chat">{needsKey.value ? <KeyForm /> : <Chat />}</Boundary>
      </main>
      <Notices />
      <Announcer />
    </>
  );
}

function ModelChoice() {
  const all = models.value ?? [];
  if (all.length < 2) return <span class="web-model">{model.value}</span>;
  return (
    <select
      class="web-model"
      aria-label="Model"
      value={model.value}
      disabled={busy.value}
      onChange={(event) => {
        model.value = event.currentTarget.value;
        void showDefaults();
      }}
    >
      {all.map(({ id }) => (
        <option key={id}>{id}</option>
      ))}
    </select>
  );
}

function KeyForm() {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      class="web-key"
      onSubmit={(event) => {
        event.preventDefault();
        void setKey(field.current?.value.trim() ?? '');
      }}
    >
      <div class="field">
        <label for="key">API key of this {cloudApp ? 'app' : 'server'}</label>
        <input id="key" ref={field} type="password" autocomplete="off" required />
      </div>
      <p class="help">The page keeps the key until the tab is closed.</p>
      {hasKey() && problem.value && <Trouble />}
      <button type="submit" class="primary">
        Continue
      </button>
      {cloudApp && <Action label="Create a key for one hour" run={createKey} />}
    </form>
  );
}

function Chat() {
  const place = useRef<HTMLElement>(null);
  const all = turns.value;
  useEffect(() => {
    const element = place.current;
    // Follows the end unless the user has scrolled up.
    if (element && element.scrollHeight - element.scrollTop - element.clientHeight < 200)
      element.scrollTop = element.scrollHeight;
  }, [all]);
  return (
    <div class="web-chat">
      <ScrollRegion label="Conversation" class="messages" place={place}>
        <div class="messages-content">
          {all.length === 0 && <Start />}
          {all.map((turn, index) => (
            <TurnView key={turn.id} turn={turn} live={busy.value && index === all.length - 1} />
          ))}
          {problem.value && <Trouble />}
        </div>
      </ScrollRegion>
      <Composer />
    </div>
  );
}

function Trouble() {
  return (
    <div class="trouble" role="alert">
      <p>
        <Icon name="warning" /> {problem.value}
      </p>
      {!needsKey.value && (
        <div class="row">
          <Action label="Try again" icon="retry" run={() => (turns.value.length > 0 ? complete() : openServer())} />
        </div>
      )}
    </div>
  );
}

function TurnView({ turn: { role, content, reasoning, stats }, live }: { turn: Turn; live: boolean }) {
  if (role === 'user') {
    return (
      <article class="message user" aria-label="You">
        <p class="own-text" dir="auto">
          {content}
        </p>
      </article>
    );
  }
  return (
    <article class="message assistant" aria-label="Model">
      {reasoning && (
        <details class="reasoning" open={live && content === ''}>
          <summary>Reasoning</summary>
          <Markdown text={reasoning} complete={!live} />
        </details>
      )}
      <Markdown text={content} complete={!live} />
      {live && content === '' && !reasoning && <p class="waiting">Waiting for the first token …</p>}
      {!live && (content !== '' || stats) && (
        <footer class="message-foot">
          {content !== '' && <CopyButton label="Copy the message" text={() => content} />}
          {stats && <span class="help">{stats}</span>}
        </footer>
      )}
    </article>
  );
}

/** Keyboards on screens have no Shift+Enter, so Enter starts a new line there. */
const isTouch = matchMedia('(hover: none) and (pointer: coarse)').matches;

function Composer() {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  const submit = async () => {
    const text = field.current?.value ?? '';
    if (busy.value || !field.current || text.trim() === '') return;
    field.current.value = '';
    await send(text);
    announce(turns.value.at(-1)?.content ?? '');
  };
  return (
    <form
      class="composer"
      aria-label="New message"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <textarea
        ref={field}
        dir="auto"
        rows={2}
        aria-label="Message"
        placeholder={isTouch ? 'Type a message.' : 'Type a message. Enter sends, Shift+Enter starts a new line.'}
        onKeyDown={(event) => {
          if (isTouch || event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
          event.preventDefault();
          void submit();
        }}
      />
      <div class="composer-foot">
        <span class="help">The chat ends with this page.</span>
        {busy.value ? (
          <button type="button" class="danger" onClick={stop}>
            <Icon name="stop" filled /> Stop
          </button>
        ) : (
          <button type="submit" class="primary" disabled={!model.value}>
            <Icon name="send" /> Send
          </button>
        )}
      </div>
    </form>
  );
}

/** Shown before the first message. */
function Start() {
  const base = `${apiBase}v1`;
  const needsKeys = cloudApp !== null || hasKey();
  const body = JSON.stringify({ model: model.value, messages: [{ role: 'user', content: 'Hello!' }] });
  const examples: Record<string, string> = {
    curl: `curl ${base}/chat/completions${needsKeys ? ` -H 'Authorization: ${keyScheme} <API_KEY>'` : ''} -H 'Content-Type: application/json' \\\n  -d '${body.replaceAll("'", "'\\''")}'`,
    ...(!cloudApp && {
      Python: `from openai import OpenAI\n\nclient = OpenAI(base_url="${base}", api_key="${hasKey() ? '<API_KEY>' : 'unused'}")\nmessages = [{"role": "user", "content": "Hello!"}]\ncompletion = client.chat.completions.create(model=${JSON.stringify(model.value)}, messages=messages)\nprint(completion.choices[0].message.content)`,
    }),
  };
  return (
    <div class="web-start">
      <Facts />
      {Object.entries(examples).map(([name, code]) => (
        <details key={name}>
          <summary>{name}</summary>
          <div class="copied-code">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard. */}
            <pre tabIndex={0}>{code}</pre>
            <CopyButton named label="Copy code" text={() => code} />
          </div>
        </details>
      ))}
      {!needsKeys && (
        <p>
          <a href="docs">All endpoints</a> · <a href="openapi.json">OpenAPI</a>
        </p>
      )}
    </div>
  );
}

/** Settings of the model. They can be changed only where the server is started. */
function Facts() {
  const chosen = models.value?.find(({ id }) => id === model.value);
  if (!chosen) return null;
  const { status, context_length: context, size, quantization, capabilities = [] } = chosen;
  const facts: [string, string | undefined][] = [
    ['State', status?.value],
    ['Context', context && `${count(context)} tokens`],
    ['Size', size && bytes(size)],
    ['Quantization', quantization],
    ['Capabilities', capabilities.join(', ')],
    ...samplingDefaults.value.map(([name, value]): [string, string] => [name, String(value)]),
  ].map(([name, value]) => [String(name), value ? String(value) : undefined]);
  return (
    <dl class="web-facts" aria-label="Settings of the model">
      {facts.map(([name, value]) => value && <Fact key={name} name={name} value={value} />)}
    </dl>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

// The texts of this page are English; those of shared parts have to match.
await startLanguage('en');
void start();
// The address of a QR code may be opened in a tab that shows the page.
addEventListener('hashchange', () => void start());
const place = document.getElementById('web-page') as HTMLElement;
place.replaceChildren();
render(<WebPage />, place);
