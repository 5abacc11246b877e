/** A connection to the D-Bus session bus. */
import { type EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';

/** A method or signal: `[signature of the arguments, signature of the result]`. */
export interface Interface {
  name: string;
  methods?: Readonly<Record<string, readonly [string, string]>>;
  signals?: Readonly<Record<string, readonly [string]>>;
  properties?: Readonly<Record<string, string>>;
}

export interface Call {
  destination: string;
  path: string;
  interface: string;
  member: string;
  signature?: string;
  body?: readonly unknown[];
}

interface Message {
  sender?: string;
  serial: number;
}

type Callback = (error: { name: string; message: string } | null, value: unknown) => void;

/** The part of `@homebridge/dbus-native` that its types lack. */
interface Bus {
  connection: EventEmitter & { stream: Socket };
  signals: EventEmitter;
  mangle(path: string, name: string, member: string): string;
  invoke(call: Call, done: Callback): void;
  requestName(name: string, flags: number, done: Callback): void;
  addMatch(rule: string, done: Callback): void;
  exportInterface(implementation: object, path: string, description: Interface): void;
  sendSignal(path: string, name: string, member: string, signature: string, body: readonly unknown[]): void;
  sendError(message: Message, name: string, text: string): void;
}

const DAEMON = 'org.freedesktop.DBus';
const CONNECT_MS = 5000;

export class SessionBus {
  private constructor(
    private readonly bus: Bus,
    /** Rejects when the connection is closed. */
    private readonly closed: Promise<never>,
  ) {}

  /** Rejects if there is no bus at the address. `onEnd` is called when the connection is closed. */
  static async connect(busAddress: string, onEnd: () => void): Promise<SessionBus> {
    const { default: library } = await import('@homebridge/dbus-native');
    const { sessionBus } = library as unknown as { sessionBus(options: { busAddress: string }): Bus };
    const bus = sessionBus({ busAddress });
    replyToInvalidCalls(bus);
    const { connection } = bus;
    const { stream } = connection;
    const closed = new Promise<never>((_resolve, reject) => {
      stream.once('close', () => reject(new Error('The session bus closed the connection.')));
    });
    closed.catch(onEnd);
    connection.on('error', () => stream.destroy());
    const timer = setTimeout(() => stream.destroy(), CONNECT_MS);
    try {
      await Promise.race([once(connection, 'connect'), closed]);
    } finally {
      clearTimeout(timer);
    }
    return new SessionBus(bus, closed);
  }

  call(call: Call): Promise<unknown> {
    return this.#reply((done) => this.bus.invoke(call, done));
  }

  own(name: string): Promise<unknown> {
    return this.#reply((done) => this.bus.requestName(name, 0, done));
  }

  /** `members` has the methods and the values of the properties. */
  export(path: string, description: Interface, members: object): void {
    // Other members of objects, such as `constructor`, are no methods.
    const implementation = Object.create(null, Object.getOwnPropertyDescriptors(members));
    this.bus.exportInterface(implementation, path, description);
  }

  emit(path: string, { name, signals }: Interface, member: string, body: readonly unknown[]): void {
    this.bus.sendSignal(path, name, member, signals?.[member]?.[0] ?? '', body);
  }

  /** Calls `listener` when a program takes the name. */
  async onOwned(name: string, listener: () => void): Promise<void> {
    const signal = this.bus.mangle('/org/freedesktop/DBus', DAEMON, 'NameOwnerChanged');
    this.bus.signals.on(signal, ([changed, , owner]: string[]) => {
      if (changed === name && owner !== '') listener();
    });
    const rule = `type='signal',sender='${DAEMON}',member='NameOwnerChanged',arg0='${name}'`;
    await this.#reply((done) => this.bus.addMatch(rule, done));
  }

  close(): void {
    this.bus.connection.stream.end();
  }

  #reply(call: (done: Callback) => void): Promise<unknown> {
    const replied = new Promise((resolve, reject) => {
      call((error, value) => (error === null ? resolve(value) : reject(new Error(`${error.name}: ${error.message}`))));
    });
    return Promise.race([replied, this.closed]);
  }
}

/** The library throws in its event handler for calls with wrong arguments, which would end the process. */
function replyToInvalidCalls(bus: Bus): void {
  const handlers = bus.connection.listeners('message') as ((message: Message) => void)[];
  bus.connection.removeAllListeners('message').on('message', (message: Message) => {
    try {
      for (const handle of handlers) handle(message);
    } catch (error) {
      bus.sendError(message, 'org.freedesktop.DBus.Error.InvalidArgs', (error as Error).message);
    }
  });
}
