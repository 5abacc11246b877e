/** The tray icon of Linux desktops: a `StatusNotifierItem` on the session bus. */
import type { ServerState } from '../api-types.js';
import type { EventBus } from '../event-bus.js';
import { exportMenu, MENU_PATH, type MenuEntry } from './menu.js';
import { type Interface, SessionBus } from './session-bus.js';
import { trayTexts } from './texts.js';

export interface TraySettings {
  environment: NodeJS.ProcessEnv;
  events: EventBus;
  /** Chosen in the settings; null: that of the environment. */
  language(): string | null;
  server(): ServerState;
  /** Folder with `icon.svg`. */
  icons: string;
  open(): unknown;
  startServer(): unknown;
  stopServer(): unknown;
  quit(): unknown;
  /** Called with the error of an action. */
  onError(error: Error): void;
}

export interface Tray {
  close(): void;
}

const WATCHER = 'org.kde.StatusNotifierWatcher';
const ITEM_PATH = '/StatusNotifierItem';

const ITEM: Interface = {
  name: 'org.kde.StatusNotifierItem',
  methods: { Activate: ['ii', ''], SecondaryActivate: ['ii', ''], ContextMenu: ['ii', ''], Scroll: ['is', ''] },
  properties: {
    Category: 's',
    Id: 's',
    Title: 's',
    Status: 's',
    WindowId: 'u',
    IconName: 's',
    IconThemePath: 's',
    IconPixmap: 'a(iiay)',
    OverlayIconName: 's',
    AttentionIconName: 's',
    ToolTip: '(sa(iiay)ss)',
    ItemIsMenu: 'b',
    Menu: 'o',
  },
};

/** Returns null without a session bus. Without a program that shows icons, the icon appears when one starts. */
export async function openTray(settings: TraySettings): Promise<Tray | null> {
  const address = settings.environment.DBUS_SESSION_BUS_ADDRESS;
  if (process.platform !== 'linux' || !address) return null;
  let stopWatching = () => {};
  const bus = await SessionBus.connect(address, () => stopWatching()).catch(() => null);
  if (bus === null) return null;
  const act = (action: () => unknown) => {
    Promise.resolve().then(action).catch(settings.onError);
  };
  const announce = exportMenu(bus, () => entriesOf(settings), act);
  exportItem(bus, settings.icons, () => act(settings.open));
  stopWatching = settings.events.subscribe(({ name }) => {
    if (name === 'server' || name === 'settings') announce();
  });
  const name = `org.kde.StatusNotifierItem-${process.pid}-1`;
  const register = () => bus.call({ ...REGISTER, body: [name] }).catch(() => undefined);
  try {
    await bus.own(name);
    await bus.onOwned(WATCHER, register);
    void register();
  } catch {
    bus.close();
    return null;
  }
  return { close: () => bus.close() };
}

const REGISTER = {
  destination: WATCHER,
  path: '/StatusNotifierWatcher',
  interface: WATCHER,
  member: 'RegisterStatusNotifierItem',
  signature: 's',
};

function exportItem(bus: SessionBus, icons: string, open: () => void): void {
  bus.export(ITEM_PATH, ITEM, {
    Category: 'ApplicationStatus',
    Id: 'chasqui',
    Title: 'chasqui',
    Status: 'Active',
    WindowId: 0,
    IconName: 'icon',
    IconThemePath: icons,
    IconPixmap: [],
    OverlayIconName: '',
    AttentionIconName: '',
    ToolTip: ['', [], 'chasqui', ''],
    ItemIsMenu: false,
    Menu: MENU_PATH,
    Activate: open,
    SecondaryActivate: open,
    ContextMenu: () => undefined,
    Scroll: () => undefined,
  });
}

function entriesOf({ server, language, environment, open, startServer, stopServer, quit }: TraySettings): MenuEntry[] {
  const { state } = server();
  const texts = trayTexts(language() ?? environment.LC_ALL ?? environment.LC_MESSAGES ?? environment.LANG);
  const isStopped = state === 'stopped';
  return [
    { label: texts.open, isEnabled: true, run: open },
    {
      label: isStopped ? texts.start : texts.stop,
      isEnabled: state !== 'stopping',
      run: isStopped ? startServer : stopServer,
    },
    { label: texts.quit, isEnabled: true, run: quit },
  ];
}
