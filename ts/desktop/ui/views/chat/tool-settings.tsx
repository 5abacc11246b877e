/** The tools of a chat, and the permission of each. */
import { useId } from 'preact/hooks';
import { Select } from '../../parts/select.js';
import { first, sessions } from '../../state/chat-pages.js';
import { t } from '../../state/language.js';
import { mcp } from '../../state/mcp.js';
import { attempt } from '../../state/notices.js';
import { JAVASCRIPT, type Permission, permissionOf, permit } from '../../state/tools.js';

const permissions = { off: 'off', ask: 'askBefore', chat: 'allowInChat', always: 'allowAlways' } as const;

export function ToolSettings() {
  const servers = (mcp.value?.servers ?? []).filter(({ state }) => state !== 'off');
  return (
    <>
      <h3>{t('toolsTitle')}</h3>
      <Tools keys={[JAVASCRIPT]} label={t('runJavaScript')} />
      {servers.map(({ label, state, tools }) => (
        <details key={label} class="tool-call">
          <summary dir="auto">
            {label} · {state === 'failed' ? t('failed') : t('chosenOf', { chosen: chosenOf(tools), all: tools.length })}
          </summary>
          {tools.length > 0 && <Tools keys={tools.map(({ key }) => key)} label={t('allTools', { server: label })} />}
          {tools.map(({ key, tool, description }) => (
            <Tools key={key} keys={[key]} label={tool} help={description} />
          ))}
        </details>
      ))}
      {servers.length === 0 && (
        <p class="help">
          <a href="#/settings">{t('mcpAddHint')}</a>
        </p>
      )}
    </>
  );
}

function chosenOf(tools: readonly { key: string }[]): number {
  return tools.filter(({ key }) => permissionOf(first, key) !== 'off').length;
}

interface ToolsProps {
  /** Tools that get the same permission. */
  keys: readonly string[];
  label: string;
  help?: string;
}

function Tools({ keys, label, help }: ToolsProps) {
  const id = useId();
  const current = new Set(keys.map((key) => permissionOf(first, key)));
  const [permission] = current;
  const choose = (chosen: Permission) => Promise.all(sessions.value.map((session) => permit(session, keys, chosen)));
  return (
    <div class="field">
      <label for={id} dir="auto">
        {label}
      </label>
      <Select
        id={id}
        helpId={help ? `${id}-help` : undefined}
        value={current.size === 1 ? permission : ''}
        options={[
          ...(current.size > 1 ? [['', t('various')] as const] : []),
          ...Object.entries(permissions).map(([each, words]) => [each, t(words)] as const),
        ]}
        choose={(value) => void attempt(() => choose(value as Permission))}
      />
      {help && (
        <p class="help" id={`${id}-help`} dir="auto">
          {help}
        </p>
      )}
    </div>
  );
}
