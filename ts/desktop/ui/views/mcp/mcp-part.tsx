/** The MCP servers in the settings: state, switch, and editor of each. */
import { useSignal } from '@preact/signals';
import type { McpServerState } from '../../../api-types.js';
import { Action, IconAction } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { Part } from '../../parts/setting.js';
import { t } from '../../state/language.js';
import { definitionOf, mcp, removeServer, switchServer } from '../../state/mcp.js';
import { attempt } from '../../state/notices.js';
import { type EditedServer, McpEditor } from './mcp-editor.js';

export function McpPart() {
  const edited = useSignal<EditedServer | null>(null);
  const { file = '', error = null, servers = [] } = mcp.value ?? {};
  return (
    <Part title={t('mcpServers')}>
      <p class="help">{t('mcpServersHelp', { file })}</p>
      {error !== null && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      <ul class="mcp-servers">
        {servers.map((server) => (
          <Server
            key={server.label}
            server={server}
            edit={async () => {
              edited.value = { replaces: server.label, text: await definitionOf(server.label) };
            }}
          />
        ))}
      </ul>
      <div class="row">
        <Action
          label={t('mcpAdd')}
          icon="plus"
          disabled={mcp.value === undefined || error !== null}
          run={() => {
            edited.value = { replaces: null, text: '' };
          }}
        />
      </div>
      {edited.value && (
        <McpEditor
          server={edited.value}
          close={() => {
            edited.value = null;
          }}
        />
      )}
    </Part>
  );
}

function stateOf({ state, error, tools }: McpServerState): string {
  if (state === 'off') return t('off');
  if (state === 'starting') return t('mcpStarting');
  if (state === 'failed') return t('mcpFailed', { reason: error ?? '' });
  return t('mcpRunning', { count: tools.length });
}

function Server({ server, edit }: { server: McpServerState; edit: () => unknown }) {
  const asking = useSignal(false);
  const { label, state, restarts } = server;
  const close = () => {
    asking.value = false;
  };
  return (
    <li>
      <input
        type="checkbox"
        aria-label={t('mcpUse', { name: label })}
        checked={state !== 'off'}
        onChange={(event) => void attempt(() => switchServer(label, event.currentTarget.checked))}
      />
      <div>
        <strong dir="auto">{label}</strong>
        <p class={state === 'failed' ? 'problem' : 'help'} role="status" dir="auto">
          {stateOf(server)}
          {restarts > 0 && ` · ${t('mcpRestarts', { count: restarts })}`}
        </p>
      </div>
      <span class="row">
        {state === 'failed' && (
          <IconAction label={t('mcpRetry', { name: label })} icon="retry" run={() => switchServer(label, true)} />
        )}
        <IconAction label={t('mcpEdit', { name: label })} icon="edit" run={edit} />
        <IconAction
          label={t('removeNamed', { name: label })}
          icon="trash"
          run={() => {
            asking.value = true;
          }}
        />
      </span>
      {asking.value && (
        <Dialog title={t('mcpRemoveQuestion', { name: label })} close={close}>
          <p>{t('mcpRemoveHelp')}</p>
          <div class="dialog-foot">
            <Action label={t('cancel')} run={close} />
            <Action label={t('remove')} kind="danger" run={() => removeServer(label)} />
          </div>
        </Dialog>
      )}
    </li>
  );
}
