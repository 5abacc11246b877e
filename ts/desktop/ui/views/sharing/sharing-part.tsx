/** The switch that shares the server in the local network, its API key and its addresses. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Action, CopyButton, IconAction } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { Line, Switch } from '../../parts/setting.js';
import { server } from '../../state/app.js';
import { addressWithKey } from '../../state/key-in-address.js';
import { t } from '../../state/language.js';
import { attempt } from '../../state/notices.js';
import { setTo } from '../../state/set-to.js';
import { refreshSharing, renewKey, sharing, switchSharing } from '../../state/sharing.js';
import { QrCode } from './qr-code.js';

export function SharingPart() {
  /** Just created: it is not shown again. */
  const key = useSignal<string | null>(null);
  useEffect(() => void attempt(refreshSharing), []);
  const current = sharing.value;
  if (current === undefined) return null;
  const set = (change: () => Promise<string | null>) =>
    attempt(async () => {
      key.value = await change();
    });
  return (
    <>
      <Switch
        label={t('share')}
        help={t('shareHelp')}
        on={current.on}
        set={(on) => void set(() => switchSharing(on))}
      />
      {current.on && (
        <div class="sharing">
          <Addresses addresses={current.addresses} apiKey={key.value} />
          {current.error !== null && (
            <p class="problem" role="alert">
              {current.error}
            </p>
          )}
          {key.value !== null && <NewKey value={key.value} />}
          <Renew id={current.keyId ?? ''} renew={() => set(renewKey)} />
        </div>
      )}
    </>
  );
}

interface AddressesProps {
  addresses: readonly string[];
  /** Null unless just created. */
  apiKey: string | null;
}

function Addresses({ addresses, apiKey }: AddressesProps) {
  const shown = useSignal<string | null>(null);
  if (addresses.length === 0) {
    return <p role="status">{t(server.value.state === 'running' ? 'shareNoNetwork' : 'shareNeedsServer')}</p>;
  }
  return (
    <ul class="sharing-addresses" aria-label={t('shareAddresses')}>
      {addresses.map((address) => (
        <li key={address} class="address">
          <code>{address}</code>
          <CopyButton label={t('copyAddress')} text={() => address} />
          <IconAction
            label={t('qrCodeOf', { address })}
            icon="qr"
            run={() => {
              shown.value = address;
            }}
          />
        </li>
      ))}
      {shown.value !== null && (
        <Dialog title={t('qrCode')} close={setTo(shown, null)}>
          <QrCode address={shown.value} text={apiKey === null ? shown.value : addressWithKey(shown.value, apiKey)} />
          <p class="qr-address">
            <code>{shown.value}</code>
          </p>
          <p>{t(apiKey === null ? 'qrAsksForKey' : 'qrHasKey')}</p>
        </Dialog>
      )}
    </ul>
  );
}

function NewKey({ value }: { value: string }) {
  return (
    <div role="status">
      <p>{t('shareKeyOnce')}</p>
      <div class="address">
        <code class="secret">{value}</code>
        <CopyButton label={t('copyKey')} text={() => value} />
      </div>
    </div>
  );
}

function Renew({ id, renew }: { id: string; renew: () => Promise<unknown> }) {
  const asking = useSignal(false);
  const close = setTo(asking, false);
  return (
    <Line label={t('shareKey')} help={t('shareKeyHelp', { id })}>
      {() => (
        <>
          <Action label={t('renewKey')} run={setTo(asking, true)} />
          {asking.value && (
            <Dialog title={t('renewKeyQuestion')} close={close}>
              <p>{t('renewKeyWarning')}</p>
              <div class="dialog-foot">
                <Action label={t('cancel')} run={close} />
                <Action
                  label={t('renewKey')}
                  kind="danger"
                  run={async () => {
                    await renew();
                    close();
                  }}
                />
              </div>
            </Dialog>
          )}
        </>
      )}
    </Line>
  );
}
