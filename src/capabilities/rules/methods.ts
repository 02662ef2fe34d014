import { GatewayError, messageOf } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type {
  ReadRequest,
  RuleAnswer,
  RuleDevice,
  RuleMethods,
  RuleRequest,
} from '../../protocol/rule-sandbox.ts';
import { roleIncludes, roleOfAccessLevel, RULE_ROLE } from '../../lib/role.ts';
import type { EpochMs } from '../../lib/time.ts';
import { Rates } from '../../lib/token-bucket.ts';
import { tooManyNotifications } from '../../protocol/notification.ts';
import { storageKeyLength } from '../../protocol/storage-key.ts';
import { writableArguments } from '../../lib/json.ts';
import { ALERTS_KEY, type JsonValue } from '../../protocol/telemetry.ts';
import { type Commands, scriptFault } from '../commands/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { Notifications } from '../notifications/index.ts';
import type { Outputs } from '../outputs/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { Rule } from './model.ts';
import type { RuleStore } from './store.ts';

/** The rule that asks; its slug is the origin of commands. */
export type CallingRule = Pick<Rule, 'id' | 'slug'>;

export interface MethodsOptions {
  database: Database;
  store: RuleStore['values'];
  clock: Clock;
  limits: Limits['rules'];
  devices: Devices;
  telemetry: Telemetry;
  commands: Commands;
  outputs: Outputs;
  notifications: Pick<Notifications, 'notifyOf'>;
}

/** Answers what a rule asks. */
export type CallMethod = (rule: CallingRule, request: RuleRequest) => Promise<RuleAnswer>;

interface AskedOptions extends MethodsOptions {
  /** Rates of messages to people, by rule. */
  rates: Rates;
}

/** Thrown for an answer that is a text; `answering` catches it. */
class RpcError extends Error {}

/**
 * Answers requests of rule scripts (protocol/rule-sandbox.ts, docs/interface/lua-rules.md#devices). Every
 * fault is an answer: a text for the script.
 */
export function createRuleMethods(options: MethodsOptions): CallMethod {
  const { notificationsPerHour: burst } = options.limits;
  const rates = new Rates({ burst, perSecond: burst / 3_600 });
  return (rule, request) => answering(() => answer({ ...options, rates }, rule, request));
}

/** The result of the work, or the reason of its failure as a text for the script. */
export async function answering(work: () => Promise<JsonValue>): Promise<RuleAnswer> {
  try {
    return { ok: true, result: await work() };
  } catch (error) {
    return refusalOf(error);
  }
}

/** @throws the error itself unless it is meant for scripts */
function refusalOf(error: unknown): RuleAnswer {
  if (error instanceof RpcError) return { ok: false, error: error.message };
  if (error instanceof GatewayError)
    return { ok: false, error: error.code === 'device_offline' ? 'device is offline' : error.message };
  throw error;
}

async function answer(options: AskedOptions, rule: CallingRule, request: RuleRequest): Promise<JsonValue> {
  const { devices, store } = options;
  const { method, parameters } = request;
  switch (method) {
    case 'list_devices':
      return devices.all().map(toRule);
    case 'properties':
      return devices.properties(deviceOf(options, parameters), RULE_ROLE) as Record<string, JsonValue>;
    case 'aggregate':
      return aggregateOf(options, parameters);
    case 'execute':
      return execute(options, rule, parameters);
    case 'output_request':
      return options.outputs.request(rule, deviceOf(options, parameters), parameters);
    case 'output_release':
      options.outputs.release(rule, deviceOf(options, parameters), parameters.name, parameters.output);
      return null;
    case 'notify':
      return notify(options, rule, parameters);
    case 'storage_read':
      return store.read(scopeOf(rule, parameters.store), parameters.key) ?? null;
    case 'storage_write':
      return stored(options, () => writeValue(options, scopeOf(rule, parameters.store), parameters));
    case 'storage_remove':
      return stored(options, () => store.remove(scopeOf(rule, parameters.store), parameters.key));
    case 'several':
      return parameters.requests.map((each) => readAnswer(options, each));
    case 'watch':
    case 'unwatch':
      throw new Error('watches are kept by the runner');
    default:
      return read(options, request);
  }
}

function readAnswer(options: MethodsOptions, request: ReadRequest): RuleAnswer {
  try {
    return { ok: true, result: read(options, request) };
  } catch (error) {
    return refusalOf(error);
  }
}

/** Answers from memory. @throws RpcError */
function read(options: MethodsOptions, { method, parameters }: ReadRequest): JsonValue {
  const { devices } = options;
  switch (method) {
    case 'find_device': {
      const device = devices.find(parameters.idOrSlug);
      if (!device) throw new RpcError(`device "${parameters.idOrSlug}" not found`);
      return toRule(device);
    }
    case 'device_online':
      return devices.connectivity(deviceOf(options, parameters).id) === 'ONLINE';
    case 'device_profiles':
      return devices.manifest(deviceOf(options, parameters)).implements;
    case 'property':
      return propertyOf(options, parameters);
    case 'latest':
      return latestOf(options, parameters);
  }
}

function toRule({ id, slug, name, type }: Device): Record<string, JsonValue> {
  return { id, slug, name, type } satisfies RuleDevice;
}

/** @throws RpcError */
export function deviceOf({ devices }: MethodsOptions, { deviceId }: { deviceId: string }): Device {
  const device = devices.get(deviceId);
  if (!device) throw new RpcError('device not found');
  return device;
}

/** The declared name for a name or alias. */
export function declaredName(
  declared: Readonly<Record<string, { aliases: readonly string[] }>>,
  nameOrAlias: string,
): string | undefined {
  if (Object.hasOwn(declared, nameOrAlias)) return nameOrAlias;
  return Object.keys(declared).find((name) => declared[name]?.aliases.includes(nameOrAlias));
}

function propertyOf(options: MethodsOptions, parameters: RuleMethods['property']): JsonValue {
  const device = deviceOf(options, parameters);
  const name = declaredName(options.devices.manifest(device).properties, parameters.name);
  if (name === undefined) throw new RpcError(`unknown property "${parameters.name}"`);
  return (options.devices.properties(device, RULE_ROLE)[name] ?? null) as JsonValue;
}

type Manifest = ReturnType<Devices['manifest']>;

/** Declared name of an attribute that rules may read, by name or alias; every device has `alerts`. */
export function readableAttribute(manifest: Manifest, nameOrAlias: string): string | undefined {
  const name = declaredName(manifest.telemetry, nameOrAlias);
  if (name === undefined) return nameOrAlias === ALERTS_KEY ? ALERTS_KEY : undefined;
  const needed = roleOfAccessLevel(manifest.telemetry[name]?.access_level ?? '');
  return needed === undefined || roleIncludes(RULE_ROLE, needed) ? name : undefined;
}

/** Declared name of the attribute. @throws RpcError */
export function attributeOf({ devices }: MethodsOptions, device: Device, nameOrAlias: string): string {
  const name = readableAttribute(devices.manifest(device), nameOrAlias);
  if (name === undefined) throw new RpcError(`unknown telemetry attribute "${nameOrAlias}"`);
  return name;
}

function latestOf(options: MethodsOptions, parameters: RuleMethods['latest']): JsonValue {
  const { devices, telemetry } = options;
  const device = deviceOf(options, parameters);
  const name = attributeOf(options, device, parameters.name);
  if (devices.connectivity(device.id) === 'OFFLINE') throw new RpcError('device is offline');
  const latest = telemetry.latest(device, name);
  if (!latest || latest.ageMs > parameters.relevanceMs)
    throw new RpcError(`no recent value of "${parameters.name}"`);
  return { value: latest.value, timestampMs: latest.timestampS * 1_000 };
}

/** Aggregates over the window that ends at `endMs`, by default now. @throws RpcError */
export async function aggregateOf(
  options: MethodsOptions,
  parameters: RuleMethods['aggregate'],
  endMs?: EpochMs,
): Promise<number> {
  const device = deviceOf(options, parameters);
  const name = attributeOf(options, device, parameters.name);
  const type = options.devices.manifest(device).telemetry[name]?.type;
  if (type !== 'float' && type !== 'integer') throw new RpcError(`"${parameters.name}" is not numeric`);
  const windowMs = Math.min(parameters.windowMs, options.limits.averageMaxMs);
  const value = await options.telemetry.aggregate(device, name, parameters.kind, windowMs, endMs);
  if (value === undefined) throw new RpcError(`no value of "${parameters.name}" in the interval`);
  return value;
}

async function execute(
  options: MethodsOptions,
  rule: CallingRule,
  parameters: RuleMethods['execute'],
): Promise<JsonValue> {
  const device = deviceOf(options, parameters);
  const { name, ephemeral, timeoutMs } = parameters;
  const command = { name, arguments: writableArguments(parameters.arguments), ephemeral };
  const origin = { kind: 'rule', id: rule.id, name: rule.slug } as const;
  const ended = await options.commands.executeWithin(timeoutMs, device, command, { role: RULE_ROLE, origin });
  const fault = scriptFault(ended);
  if (fault !== undefined) throw new RpcError(fault);
  return (ended?.response?.payload ?? {}) as Record<string, JsonValue>;
}

/** Answers once it is on the disk; the channels send it later. */
function notify(
  { clock, database, limits, notifications, rates }: AskedOptions,
  { id, slug }: CallingRule,
  message: RuleMethods['notify'],
): Promise<null> {
  return stored({ database }, () => {
    if (rates.take(id, clock.monotonicMs()) > 0)
      throw new RpcError(tooManyNotifications(limits.notificationsPerHour));
    if (!notifications.notifyOf({ rule: { id, slug }, ...message }))
      throw new RpcError(`no notification channel takes messages of severity ${message.severity}`);
  });
}

/** Answers a change of the storage once it is on the disk. */
async function stored({ database }: Pick<MethodsOptions, 'database'>, change: () => void): Promise<null> {
  try {
    change();
    await database.durable();
    return null;
  } catch (error) {
    if (error instanceof RpcError) throw error;
    throw new RpcError(`the gateway cannot store anything now: ${messageOf(error)}`);
  }
}

function writeValue(
  { store, database, limits }: MethodsOptions,
  scope: string,
  { key, value }: RuleMethods['storage_write'],
): void {
  if (storageKeyLength(key) > limits.storageKeyBytes)
    throw new RpcError(`a key has at most ${limits.storageKeyBytes} bytes`);
  if (Buffer.byteLength(value) > limits.storageValueBytes)
    throw new RpcError(`a value has at most ${limits.storageValueBytes} bytes`);
  // A script may write the same again and again; the card need not know.
  if (store.read(scope, key) === value) return;
  database.transaction(() => {
    const sizeBytes = Buffer.byteLength(key) + Buffer.byteLength(value);
    if (store.bytesBeside(scope, key) + sizeBytes > limits.storageBytes)
      throw new RpcError(`the store holds at most ${limits.storageBytes} bytes`);
    store.write(scope, key, value);
  });
}

/** Ids of rules are UUIDs, so no rule has the name of a common scope. */
function scopeOf(rule: CallingRule, store: 'rule' | 'shared' | 'public'): string {
  return store === 'rule' ? rule.id : store;
}
