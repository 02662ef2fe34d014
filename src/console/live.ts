/**
 * All devices with their values, kept up to date by one WebSocket. Messages change plain maps at once; the page is drawn
 * a few times a second, so that a thousand devices do not drown a phone.
 */
import { type Signal, signal } from '@preact/signals';
import type { DurationMs, EpochMs } from '../lib/time.ts';
import { callFor, isNotFound, noteLineBack, noteLineLost } from './api.ts';
import { isAway, isConnected } from './connection.ts';
import { noteGatewayTime } from './gateway-time.ts';
import { type KnownValue, setValue } from './known-value.ts';
import { remoteChangeCount, remoteCommandCount, noteRemoteChange } from './remote-changes.ts';
import { lookForNewConsole } from './console-version.ts';
import { askManifests, forgetManifests, manifestOf } from './manifests.ts';
import { translatedManifest } from './translated-manifest.ts';
import { noteConnection, readDevice, readList } from './read-devices.ts';
import { confirm } from './session.ts';
import { Polling } from './polling.ts';
import { ChangingStream } from './stream.ts';
import type { Device, LatestValue, LogEntry, Manifest, MonitorMessage } from './shapes.ts';

export interface LiveDevice {
  device: Device;
  manifest: Manifest | undefined;
  values: Map<string, KnownValue>;
  /** It was deleted; what is known of it may still be shown. */
  isGone: boolean;
  /** Changes when anything above has changed. */
  version: Signal<number>;
}

type LogListener = (entry: LogEntry) => void;

/** The gateway itself measures every 10 s, so a message always comes within this time. */
const SILENCE_MAX_MS = 35_000;
const DRAW_INTERVAL_MS = 250;
const RELOAD_DELAY_MS = 500;
/** The next page mostly watches some devices again. */
const LEAVE_DELAY_MS = 500;
/** G: a stream opens within this time. */
const UNOPENED_MS = 3_000;
/** Names in one request, so that its address stays short. */
const NAMES_PER_QUESTION = 120;
/** G: consecutive messages are closer than this in their times, unless the clock was set between them. */
const CLOCK_STEP_MS = 60_000;
/** Beyond so many devices at once the whole list is read. */
const SINGLE_MAX = 8;
const ANY_AGE = '1y';
/** The stream of what happens to all devices, and of changes of anything. */
const EVERYTHING = '/v3/devices?changes=true';

/** Order of the list; undefined until it was loaded once. */
export const deviceIds = signal<readonly string[] | undefined>(undefined);
/** Changes when a device comes, goes, connects, disconnects or has other alerts; not with every value. */
export const statusVersion = signal(0);
/** Why the devices could not be read anew; undefined when all is well. */
export const loadError = signal<unknown>(undefined);

const known = new Map<string, LiveDevice>();
const changed = new Set<LiveDevice>();
const logListeners = new Map<string, Set<LogListener>>();
/** Attributes that are shown, by device: they are read again after a lost connection. */
const watched = new Map<string, Set<string>>();
/** Devices to read again; `all` for the list. */
const outdated = new Set<string>();
/** Devices in sight: of a thousand the others are not worth the work until they come into it. Undefined: all. */
let inSight: readonly string[] | undefined;
let leaving: ReturnType<typeof setTimeout> | undefined;
let stream: ChangingStream<MonitorMessage> | undefined;
let isStatusChanged = false;
/** By how much the gateway's clock was ahead of this one in its last message. */
let heardAheadMs: DurationMs | undefined;
let reloading: ReturnType<typeof setTimeout> | undefined;

export function liveDevice(idOrSlug: string): LiveDevice | undefined {
  return known.get(idOrSlug) ?? [...known.values()].find(({ device }) => device.slug === idOrSlug);
}

/** All of them, in the order of the list; none until it was loaded. */
export function liveDevices(): LiveDevice[] {
  return (deviceIds.value ?? []).flatMap((id) => known.get(id) ?? []);
}

/** Connects and keeps connected until the end is called. */
export function startLive(): () => void {
  // A stream that was open once is let through; without one later the gateway is away.
  let mayBeStopped = true;
  const polling = new Polling(readAnew);
  const opened = new ChangingStream<MonitorMessage>(EVERYTHING, {
    onOpen: () => {
      mayBeStopped = false;
      polling.end();
      noteLineBack();
      // It was sent on the connection that was lost.
      loading = undefined;
      if (isAway.value) {
        void lookForNewConsole();
        // Another tab may have logged in somebody else meanwhile, or the role may be a lower one.
        void confirm();
        remoteChangeCount.value += 1;
      }
      isConnected.value = true;
      isAway.value = false;
      clearTimeout(unopened);
      forgetManifests();
      // Reads the changes that happened during the gap.
      void reload();
    },
    onClose: () => {
      if (polling.isRunning) return;
      noteLineLost();
      isConnected.value = false;
      isAway.value = true;
      // The gateway closes the stream when the login ends, and nothing else would tell.
      void confirm();
      if (mayBeStopped) void polling.start();
    },
    onMessage: take,
    silenceMaxMs: SILENCE_MAX_MS,
  });
  stream = opened;
  const drawing = setInterval(draw, DRAW_INTERVAL_MS);
  // Something on the way may block streams; pages show what can be read.
  const unopened = setTimeout(() => void reload(), UNOPENED_MS);
  return () => {
    polling.end();
    opened.end();
    stream = undefined;
    inSight = undefined;
    clearTimeout(leaving);
    clearInterval(drawing);
    clearTimeout(unopened);
    clearTimeout(reloading);
    reloading = undefined;
    outdated.clear();
    heardAheadMs = undefined;
    known.clear();
    forgetManifests();
    watched.clear();
    deviceIds.value = undefined;
    isConnected.value = false;
    isAway.value = false;
  };
}

/** Somebody logged in again: connects at once. */
export function reconnect(): void {
  stream?.awake();
}

function draw(): void {
  for (const live of changed) live.version.value++;
  changed.clear();
  if (isStatusChanged) statusVersion.value++;
  isStatusChanged = false;
}

let loading: Promise<void> | undefined;

/** Reads the list of devices; rejects like any call. Calls during a read share it. */
export function loadDevices(): Promise<void> {
  loading ??= readDevices().finally(() => {
    loading = undefined;
  });
  return loading;
}

async function readDevices(): Promise<void> {
  // One that is made meanwhile may be missing in the answer.
  const before = new Map(known);
  const found = await readList();
  askManifests(found);
  await Promise.all(found.map(note));
  const ids = new Set(found.map(({ id }) => id));
  for (const [id, live] of before)
    if (!ids.has(id)) {
      live.isGone = true;
      changed.add(live);
      known.delete(id);
      watched.delete(id);
    }
  deviceIds.value = found.map(({ id }) => id);
  draw();
}

/** Reads one device again, with its properties. */
export async function loadDevice(idOrSlug: string): Promise<LiveDevice> {
  const device = await readDevice(idOrSlug);
  const before = known.get(device.id)?.device;
  const live = await note(device);
  // Another name may change the order of lists, and a new one is in none yet.
  const isListed =
    before?.name === device.name && before.slug === device.slug && before.position === device.position;
  if (deviceIds.value !== undefined && !(isListed && deviceIds.value.includes(device.id))) reloadSoon('all');
  return live;
}

async function note(device: Device): Promise<LiveDevice> {
  const before = known.get(device.id);
  const live = before ?? {
    device,
    manifest: undefined,
    values: new Map(),
    isGone: false,
    version: signal(0),
  };
  const isOther = before?.device.blueprint_id !== device.blueprint_id;
  live.device = { ...(isOther ? {} : before?.device), ...device };
  known.set(device.id, live);
  const manifest = translatedManifest(await manifestOf(device), device);
  // It may have got another blueprint since.
  if (live.device.blueprint_id === device.blueprint_id) live.manifest = manifest;
  changed.add(live);
  isStatusChanged = true;
  return live;
}

/**
 * Reads the latest values of attributes, however old, and keeps them up to date: beside those that are watched already,
 * or `these` alone.
 */
export async function watchValues(
  wanted: ReadonlyMap<string, readonly string[]>,
  others: 'beside' | 'these' = 'beside',
): Promise<void> {
  if (others === 'these') {
    if (inSight && isWatched(wanted)) return;
    inSight = [...wanted.keys()];
    watched.clear();
  }
  let question = new URLSearchParams();
  let names = 0;
  const questions = [question];
  for (const [id, attributes] of wanted) {
    if (attributes.length === 0) continue;
    watched.set(id, new Set([...(watched.get(id) ?? []), ...attributes]));
    for (let from = 0; from < attributes.length; from += NAMES_PER_QUESTION) {
      const part = attributes.slice(from, from + NAMES_PER_QUESTION);
      if (names + part.length > NAMES_PER_QUESTION || question.has(`devices[${id}]`)) {
        question = new URLSearchParams();
        questions.push(question);
        names = 0;
      }
      question.set(`devices[${id}]`, part.join(','));
      names += part.length;
    }
  }
  await hear();
  await Promise.all(questions.filter((one) => String(one) !== '').map(readLatest));
  draw();
}

/** Rows that scroll into sight are often watched already. */
function isWatched(wanted: ReadonlyMap<string, readonly string[]>): boolean {
  return [...wanted].every(([id, names]) => names.every((name) => watched.get(id)?.has(name) === true));
}

/** Listens to the telemetry of the devices in sight and of the gateway, so that a message always comes. */
async function hear(): Promise<void> {
  clearTimeout(leaving);
  const gateways = [...known.values()].flatMap(({ device }) => (device.type === 'GATEWAY' ? device.id : []));
  const ids = new Set([...(inSight ?? []), ...gateways]);
  const isAll = inSight === undefined || gateways.length === 0;
  await stream?.exchange(isAll ? EVERYTHING : `${EVERYTHING}&telemetry.of=${[...ids].join()}`);
}

/** The page that showed only some devices was left. */
export function watchAll(): void {
  inSight = undefined;
  clearTimeout(leaving);
  leaving = setTimeout(() => void hear(), LEAVE_DELAY_MS);
}

async function readLatest(question: URLSearchParams): Promise<void> {
  question.set('relevance_interval', ANY_AGE);
  const address = `/v3/telemetry/latest?${question}`;
  const found = await callFor<Record<string, Record<string, LatestValue>>>('telemetry', 'GET', address);
  for (const [id, values] of Object.entries(found)) {
    const live = known.get(id);
    if (!live) continue;
    for (const [name, latest] of Object.entries(values))
      if ('value' in latest)
        setValue(
          live.values,
          name,
          latest.value,
          latest.timestamp,
          undefined,
          live.device.connectivity?.usual_pause_s,
        );
    changed.add(live);
  }
}

function take(message: MonitorMessage): void {
  if ('change' in message) return takeChange(message);
  if ('connectivity' in message) noteConnection(message.device_id, message.connectivity);
  const live = known.get(message.device_id);
  if (!live) {
    // Before the list was read, nothing is missing in it.
    if (deviceIds.value !== undefined) reloadSoon('all');
    return;
  }
  const receivedAtMs = Date.parse(message.received_at);
  noteGatewayTime(message.received_at);
  followClock(receivedAtMs);
  if ('telemetry' in message) {
    const isShown = inSight === undefined || watched.has(live.device.id);
    for (const [name, value] of Object.entries(message.telemetry)) {
      const isAlerts = mayBeAlerts(live, name, value);
      if (!isShown && !isAlerts) continue;
      // Values of a device out of sight arrive only when they have changed.
      if (isAlerts && (!isShown || differs(alertsBefore(live, name), value))) reloadSoon(live.device.id);
      if (value !== null) setValue(live.values, name, value, message.timestamp, receivedAtMs / 1_000);
    }
    if (!isShown) return;
  } else if ('properties' in message)
    live.device = { ...live.device, properties: { ...live.device.properties, ...message.properties } };
  else if ('connectivity' in message) {
    live.device = {
      ...live.device,
      connectivity: { ...live.device.connectivity, ...message.connectivity },
    };
    isStatusChanged = true;
  } else
    for (const listener of logListeners.get(message.device_id) ?? [])
      listener({ ...message.log, received_at: message.received_at });
  changed.add(live);
}

/** Before the manifest was read, any list may be: the answer that it comes with is from before this message. */
function mayBeAlerts({ manifest }: LiveDevice, name: string, value: unknown): boolean {
  return manifest ? manifest.telemetry[name]?.type === 'alerts' : Array.isArray(value);
}

function alertsBefore({ device, manifest, values }: LiveDevice, name: string): unknown {
  return manifest ? values.get(name)?.value : device.raised_alert_names;
}

function takeChange({ change, device_id: id }: Extract<MonitorMessage, { change: unknown }>): void {
  noteRemoteChange(change === 'COMMAND' ? remoteCommandCount : remoteChangeCount);
  if (change === 'DEVICE' && id !== undefined) reloadSoon(known.has(id) ? id : 'all');
}

/**
 * After its clock was set, the gateway gives known values other times; they are read again, and the answer tells the new
 * time. A message that comes late looks the same and costs one reading.
 */
function followClock(receivedAtMs: EpochMs): void {
  const aheadMs = receivedAtMs - Date.now();
  if (Math.abs(aheadMs - (heardAheadMs ?? aheadMs)) > CLOCK_STEP_MS) reloadSoon('all');
  heardAheadMs = aheadMs;
}

function differs(a: unknown, b: unknown): boolean {
  return JSON.stringify(a ?? []) !== JSON.stringify(b ?? []);
}

/** Reads a device again whose alerts have changed, or all when an unknown one has appeared. */
function reloadSoon(what: string): void {
  outdated.add(what);
  reloading ??= setTimeout(() => {
    const ids = [...outdated];
    outdated.clear();
    reloading = undefined;
    // A list that was requested before lacks the change.
    void Promise.allSettled([loading]).then(() => (ids.includes('all') ? reload() : reloadSome(ids)));
  }, RELOAD_DELAY_MS);
}

async function reloadSome(ids: readonly string[]): Promise<void> {
  try {
    if (ids.length > SINGLE_MAX) await loadDevices();
    // Devices deleted by this page are already removed.
    else await Promise.all(ids.filter((id) => known.has(id)).map(loadDevice));
    loadError.value = undefined;
  } catch (error) {
    // A device that was deleted meanwhile is gone from the list.
    if (isNotFound(error)) reloadSoon('all');
    else loadError.value = error;
  }
}

/** A failure is shown above every page. */
function reload(): Promise<void> {
  // Shown by then.
  return readAnew().catch(() => undefined);
}

/** Rejects like any call, after the failure is shown. */
async function readAnew(): Promise<void> {
  try {
    await loadDevices();
    await watchValues(new Map([...watched].map(([id, names]) => [id, [...names]])));
    // The properties of a shown device; the list has none.
    await Promise.all([...watched.keys()].filter((id) => known.get(id)?.device.properties).map(loadDevice));
    loadError.value = undefined;
  } catch (error) {
    loadError.value = error;
    throw error;
  }
}

/** Log entries of a device as they arrive. */
export function listenToLog(deviceId: string, listener: LogListener): () => void {
  const listeners = logListeners.get(deviceId) ?? new Set();
  logListeners.set(deviceId, listeners.add(listener));
  return () => listeners.delete(listener);
}
