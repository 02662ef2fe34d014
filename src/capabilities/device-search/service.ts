/** Searches the networks of the gateway and the serial lines of its module for devices, on request. Only reads. */
import { conflict } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { type OwnNetwork, ownNetworks } from '../../platform/host/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { browse, type FoundService } from '../../platform/mdns/index.ts';
import { isOpen } from '../../platform/sockets/index.ts';
import type { DeviceLibrary, SearchQuestions } from '../library/index.ts';
import type { Modules } from '../modules/index.ts';
import { EventQueue } from './event-queue.ts';
import { readableUrl, readHttp } from './http-read.ts';
import { foundAt, identifyByHttp } from './http-search.ts';
import { ModbusSearch } from './modbus-search.ts';
import type { FoundDevice, HttpRead, SearchEvent, SearchOrder } from './model.ts';
import { hostsToSearch } from './networks.ts';

interface DeviceSearchOptions {
  clock: Clock;
  log: Log;
  library: Pick<DeviceLibrary, 'searchQuestions' | 'recognise'>;
  modules: Pick<Modules, 'scan'>;
  /** Names of the serial ports of the built-in module. */
  serialPorts: () => readonly string[];
  limits?: Limits;
  /** Default: the machine's. */
  networks?: () => readonly OwnNetwork[];
  /** Default: multicast DNS on the machine's networks. */
  browse?: typeof browse;
}

/** An address at which something listens. */
interface Open {
  host: string;
  port: number;
}

type Emit = (event: SearchEvent) => void;

/** Finds devices of the library on the gateway's networks and serial lines; one search at a time. */
export class DeviceSearch {
  readonly #options: DeviceSearchOptions;
  readonly #limits: Limits;
  #isActive = false;

  constructor(options: DeviceSearchOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS;
  }

  /**
   * Begins a search, which runs until it is complete, its time is over or the signal is aborted. Its last event is the end.
   * @throws GatewayError scan_active (409), invalid_body (400) for networks that are not the gateway's
   */
  start(order: SearchOrder, signal: AbortSignal): EventQueue<SearchEvent> {
    const { clock, log, networks = ownNetworks } = this.#options;
    const covered = hostsToSearch(networks(), order.networks, this.#limits.deviceSearch);
    if (this.#isActive) throw conflict('scan_active', 'Another search goes on; try again when it is over.');
    this.#isActive = true;
    const events = new EventQueue<SearchEvent>();
    const late = new AbortController();
    const timer = clock.setTimer(this.#limits.deviceSearch.searchMs, () => late.abort());
    const ending = AbortSignal.any([signal, late.signal]);
    log.info('device search started', { hosts: covered.hosts.length });
    this.#search(order, covered, (event) => events.push(event), ending)
      .catch((error: unknown) => {
        if (!ending.aborted) throw error;
      })
      .then(
        () => {
          events.push({ type: 'end', outcome: late.signal.aborted ? 'TIME_LIMIT' : 'COMPLETE' });
          events.end();
        },
        (error: unknown) => events.end(error),
      )
      .finally(() => {
        timer.cancel();
        this.#isActive = false;
        log.info('device search ended');
      });
    return events;
  }

  /** Reads an address in the gateway's networks once. @throws GatewayError invalid_body (400) for any other address */
  read(url: string, signal: AbortSignal): Promise<HttpRead> {
    const { clock, networks = ownNetworks } = this.#options;
    return readHttp(readableUrl(url, networks()), { clock, limits: this.#limits.deviceSearch }, signal);
  }

  async #search(
    order: SearchOrder,
    { hosts, from }: ReturnType<typeof hostsToSearch>,
    emit: Emit,
    signal: AbortSignal,
  ): Promise<void> {
    const { library } = this.#options;
    const questions = await library.searchQuestions();
    const http = order.httpPorts
      ? order.httpPorts.map((port) => ({ port, paths: questions.http.flatMap(({ paths }) => paths) }))
      : questions.http;
    const ports = [...new Set([...order.modbusPorts, ...http.map(({ port }) => port)])];
    const announcing = this.#announced(questions, from, signal);
    const open = await this.#sweep(hosts, ports, emit, signal);
    const found = foundOnce(emit);
    const counted = counter(emit);
    const modbus = this.#modbus(questions, emit, found, signal);
    await Promise.all([
      counted(
        open.filter(({ port }) => order.modbusPorts.includes(port)),
        this.#limits.deviceSearch.modbusAtOnce,
        ({ host, port }) => modbus.atAddress(`tcp://${host}:${port}`, signal),
      ),
      counted(
        order.serialPorts ? this.#options.serialPorts() : [],
        this.#limits.deviceSearch.linesAtOnce,
        (name) => modbus.onLine(`port://${name}`, signal),
      ),
      counted(
        open.flatMap((at) =>
          http.filter(({ port }) => port === at.port).map((asked) => ({ ...at, ...asked })),
        ),
        this.#limits.deviceSearch.httpAtOnce,
        async (at) => {
          const parts = { ...this.#options, limits: this.#limits.deviceSearch };
          const device = await identifyByHttp(parts, at, signal);
          if (device) found(device);
        },
      ),
    ]);
    // A device that was not found by its interface is at least known by its announcement.
    for (const service of await announcing) {
      const { type, name, address: host, port } = service;
      const device = foundAt({ host, port }, await library.recognise({ services: [{ type, name }] }));
      if (device) found(device, host);
    }
  }

  #announced(
    { services: types }: SearchQuestions,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly FoundService[]> {
    const { clock, browse: search = browse } = this.#options;
    const { browseMs, services: servicesMax } = this.#limits.deviceSearch;
    const browsed = search({ clock, types, browseMs, servicesMax, addresses, signal });
    // It is awaited after the sweep, which may end first.
    browsed.catch(() => undefined);
    return browsed;
  }

  /** Addresses that take a connection. */
  async #sweep(
    hosts: readonly string[],
    ports: readonly number[],
    emit: Emit,
    signal: AbortSignal,
  ): Promise<Open[]> {
    const { connectMs, connectsAtOnce, progressSteps } = this.#limits.deviceSearch;
    const open: Open[] = [];
    const total = hosts.length;
    let done = 0;
    await inParallel(hosts, Math.ceil(connectsAtOnce / Math.max(1, ports.length)), async (host) => {
      const answers = await Promise.all(ports.map((port) => isOpen({ host, port }, connectMs, signal)));
      signal.throwIfAborted();
      for (const [index, port] of ports.entries()) if (answers[index] === true) open.push({ host, port });
      done += 1;
      if (done === total || done % Math.ceil(total / progressSteps) === 0)
        emit({ type: 'progress', stage: 'NETWORK', done, total });
    });
    return open;
  }

  #modbus(
    questions: SearchQuestions,
    emit: Emit,
    onFound: (device: FoundDevice) => void,
    signal: AbortSignal,
  ): ModbusSearch {
    const { modules, library } = this.#options;
    return new ModbusSearch({
      modules,
      library,
      questions,
      limits: this.#limits,
      onFound,
      onProblem: (address, message) => {
        if (!signal.aborted) emit({ type: 'problem', address, message });
      },
    });
  }
}

/** Passes on each device once: who has an interface and announces itself is one device. */
function foundOnce(emit: Emit): (device: FoundDevice, announcedBy?: string) => void {
  const hosts = new Set<string>();
  return (device, announcedBy) => {
    if (announcedBy !== undefined && hosts.has(announcedBy)) return;
    const [, host = device.address] = /^(?:\w+:\/\/)?([^:/]+)/.exec(device.address) ?? [];
    if (device.templates.length > 0) hosts.add(host);
    emit({ type: 'found', device });
  };
}

/** Works through several lists at the same time and says how much of all of them is done. */
function counter(emit: Emit) {
  let [done, total] = [0, 0];
  return async <Item>(
    items: readonly Item[],
    width: number,
    work: (item: Item) => Promise<void>,
  ): Promise<void> => {
    total += items.length;
    await inParallel(items, width, async (item) => {
      await work(item);
      done += 1;
      emit({ type: 'progress', stage: 'DEVICES', done, total });
    });
  };
}

/** Runs `work` over all items, at most `width` at a time; the first failure ends it. */
async function inParallel<Item>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
}
