/** Calls of tools in a message: their arguments and results, and the question before each call. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ChatMessage } from '../../../api-types.js';
import { Action } from '../../parts/button.js';
import { CodeBlock } from '../../parts/code-block.js';
import { Dialog } from '../../parts/dialog.js';
import type { ChatSession } from '../../state/chat-session.js';
import { t } from '../../state/language.js';
import { attempt } from '../../state/notices.js';
import { setTo } from '../../state/set-to.js';
import {
  areToolsKnown,
  declineCall,
  openCall,
  type Permission,
  permissionOf,
  permit,
  runCall,
  type ToolCall,
  toolOf,
} from '../../state/tools.js';

interface ToolCallsProps {
  session: ChatSession;
  message: ChatMessage;
}

export function ToolCalls({ session, message }: ToolCallsProps) {
  const isLast = session.branch.value.at(-1)?.id === message.id;
  const open = isLast && !session.busy.value ? openCall(message) : undefined;
  return (
    <>
      {message.toolCalls?.map((call) => (
        <Call key={call.id} call={call} />
      ))}
      {open && (toolOf(open.name) || areToolsKnown.value) && (
        <Question key={open.id} session={session} message={message} call={open} />
      )}
    </>
  );
}

function titleOf({ name }: ToolCall): string {
  return toolOf(name)?.title ?? name;
}

const states = { done: 'toolDone', failed: 'failed', declined: 'toolDeclined' } as const;

function Call({ call }: { call: ToolCall }) {
  const { state, result } = call;
  return (
    <details class="tool-call">
      <summary>
        {titleOf(call)} · {t(state ? states[state] : 'toolWaiting')}
      </summary>
      <Arguments call={call} />
      {result !== undefined && (
        <>
          <p class="help">{t('result')}</p>
          <CodeBlock code={result || t('noOutput')} language="" closed />
        </>
      )}
    </details>
  );
}

/** Code as code, other arguments as JSON. */
function Arguments({ call: { arguments: text } }: { call: ToolCall }) {
  const { code, language } = readable(text);
  return <CodeBlock code={code} language={language} closed />;
}

function readable(text: string): { code: string; language: string } {
  try {
    const values = JSON.parse(text) as Record<string, unknown>;
    if (typeof values.code === 'string') return { code: values.code, language: 'javascript' };
    return { code: JSON.stringify(values, null, 2), language: 'json' };
  } catch {
    return { code: text, language: '' };
  }
}

function Question({ session, message, call }: ToolCallsProps & { call: ToolCall }) {
  const asking = useSignal(true);
  const isRunning = useSignal(false);
  const { key = call.name, server } = toolOf(call.name) ?? {};
  const permission = permissionOf(session, key);
  const isAllowed = permission === 'chat' || permission === 'always';
  const run = async (once = false) => {
    isRunning.value = true;
    await attempt(() => runCall(session, message, call, once));
    isRunning.value = false;
  };
  useEffect(() => {
    if (isAllowed) void run();
  }, [call.id]);
  if (isAllowed || isRunning.value) return <p class="waiting">{t('toolRunning')}</p>;
  const allow = async (chosen?: Permission) => {
    asking.value = false;
    isRunning.value = true;
    if (chosen) await permit(session, [key], chosen);
    await run(!chosen);
  };
  const decline = () => declineCall(session, message, call);
  if (!asking.value) {
    return <Action label={t('reviewCall')} icon="play" run={setTo(asking, true)} />;
  }
  return (
    <Dialog title={t('toolQuestion', { tool: titleOf(call) })} close={setTo(asking, false)}>
      <p dir="auto">{server === undefined ? t('toolQuestionHelp') : t('mcpQuestionHelp', { server })}</p>
      <Arguments call={call} />
      <div class="dialog-foot">
        <Action label={t('decline')} run={decline} />
        <Action label={t('allowAlways')} run={() => allow('always')} />
        <Action label={t('allowInChat')} run={() => allow('chat')} />
        <Action label={t('allowOnce')} kind="primary" run={() => allow()} />
      </div>
    </Dialog>
  );
}
