/** `mqtt` of both generations: brokers of the site (docs/interface/lua-devices.md#mqtt). */
import { unescape } from 'node:querystring';
import { leadingZeros, hostOf } from '../../lib/address.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import { topicMatches } from '../../lib/topic-matches.ts';
import {
  bytesArgument,
  type HostFunction,
  type HostResult,
  type Library,
  LuaError,
  type LuaValue,
  numberArgument,
  tableArgument,
  textArgument,
  waiting,
} from '#scripting/lua';
import { type BrokerChoice, GATEWAY_BROKER, type MqttOperation } from '../thread-messages.ts';
import { failedResult, resultOf, type ScriptHost } from './script-host.ts';

const CLIENTS = String.raw`
local open, subscribe, unsubscribe = kit.wait('mqtt_open'), kit.wait('mqtt_subscribe'), kit.wait('mqtt_unsubscribe')
local publish, latest = kit.wait('mqtt_publish'), kit.wait('mqtt_latest')
local is_connected, close = kit.wait('mqtt_is_connected'), kit.wait('mqtt_close')

local mqtt, methods = {}, {}
local new_object, number_of = kit.objects('the client')
-- Functions of the script by client and filter.
local callbacks = {}

local function outcome(value, message) return value, message end

function mqtt.new(uri, options)
  kit.check(uri, 'string', 1, 'new')
  if options ~= nil then kit.check(options, 'table', 2, 'new') end
  local number, message = open(uri, options)
  if not number then return nil, message end
  callbacks[number] = {}
  return new_object(methods, number)
end

function methods.subscribe(client, filter, callback)
  local number = number_of(client)
  kit.check(filter, 'string', 1, 'subscribe')
  kit.check(callback, 'function', 2, 'subscribe')
  if callbacks[number] then callbacks[number][filter] = callback end
  return outcome(subscribe(number, filter))
end

function methods.unsubscribe(client, filter)
  local number = number_of(client)
  kit.check(filter, 'string', 1, 'unsubscribe')
  if callbacks[number] then callbacks[number][filter] = nil end
  return outcome(unsubscribe(number, filter))
end

function methods.publish(client, topic, payload, options)
  if options ~= nil then kit.check(options, 'table', 3, 'publish') end
  return outcome(publish(number_of(client), topic, payload, options and options.qos, options and options.retain))
end

function methods.latest(client, topic) return outcome(latest(number_of(client), topic)) end
function methods.is_connected(client) return is_connected(number_of(client)) == true end

function methods.close(client)
  callbacks[number_of(client)] = nil
  return outcome(close(number_of(client)))
end

function kit.entries.mqtt_message(number, filter, topic, payload, is_retained)
  local callback = callbacks[number] and callbacks[number][filter]
  if callback then callback(topic, payload, is_retained) end
end
return mqtt
`;

export const MQTT_LIBRARY: Library = {
  name: 'mqtt',
  parts: { mqtt: CLIENTS },
  source: `kit.later(kit.library('mqtt', {}), 'mqtt', 'new')`,
};

/** How often a script is warned of messages that it did not take. */
const WARNING_S = 60;

export function mqttFunctions(host: ScriptHost): Record<string, HostFunction> {
  /** Filters with a callback, by client. */
  const filters = new Map<number, Set<string>>();
  const run = async (operation: MqttOperation, deadlineMs?: MonotonicMs): Promise<HostResult> =>
    resultOf(await host.call({ kind: 'mqtt', operation }, deadlineMs));
  const clientOf = (value: LuaValue): number => numberArgument(value, 1, 'new');

  return {
    mqtt_open: waiting(async ([uri, options], deadlineMs) => {
      const choice = brokerChoice(textArgument(uri, 1, 'new').trim(), options);
      return typeof choice === 'string' ? failedResult(choice, 3) : run({ do: 'open', choice }, deadlineMs);
    }),
    mqtt_subscribe: waiting(async ([number, text], deadlineMs) => {
      const client = clientOf(number);
      const filter = textArgument(text, 1, 'subscribe');
      const known = filters.get(client);
      const of = known ?? new Set<string>();
      of.add(filter);
      filters.set(client, of);
      const result = await run({ do: 'subscribe', client, filter }, deadlineMs);
      if (known === undefined) void deliver(host, client, of);
      return result;
    }),
    mqtt_unsubscribe: waiting(async ([number, text]) => {
      const client = clientOf(number);
      const filter = textArgument(text, 1, 'unsubscribe');
      filters.get(client)?.delete(filter);
      return run({ do: 'unsubscribe', client, filter });
    }),
    mqtt_publish: waiting(async ([number, topic, payload, qos, isRetained], deadlineMs) => {
      if (qos !== undefined && qos !== 0n && qos !== 1n && qos !== 0 && qos !== 1)
        throw new LuaError("bad argument #3 to 'publish' (qos must be 0 or 1)");
      return run(
        {
          do: 'publish',
          client: clientOf(number),
          topic: textArgument(topic, 1, 'publish'),
          payload: Uint8Array.from(bytesArgument(payload, 2, 'publish')),
          qos: qos === undefined || Number(qos) === 1 ? 1 : 0,
          isRetained: isRetained === true,
        },
        deadlineMs,
      );
    }),
    mqtt_latest: waiting(async ([number, topic], deadlineMs) =>
      run({ do: 'latest', client: clientOf(number), topic: textArgument(topic, 1, 'latest') }, deadlineMs),
    ),
    mqtt_is_connected: waiting(async ([number]) => run({ do: 'is_connected', client: clientOf(number) })),
    mqtt_close: waiting(async ([number]) => run({ do: 'close', client: clientOf(number) })),
  };
}

/** Hands messages to the functions of the script one after another. */
async function deliver(host: ScriptHost, client: number, filters: ReadonlySet<string>): Promise<void> {
  let dropped = 0;
  let warnedAtS = Number.NEGATIVE_INFINITY;
  for (;;) {
    const result = await host.call({ kind: 'mqtt', operation: { do: 'take', client } });
    if (result.kind !== 'messages') return;
    dropped += result.dropped;
    if (dropped > 0 && host.epochS() - warnedAtS >= WARNING_S) {
      const message = `${dropped} MQTT messages were dropped: they were too large, or came faster than the script took them`;
      host.log({ message, severity: 'warning', persist: false });
      [dropped, warnedAtS] = [0, host.epochS()];
    }
    for (const { topic, payload, isRetained } of result.messages)
      for (const filter of filters)
        if (topicMatches(filter, topic))
          await host.run('mqtt_message', [
            BigInt(client),
            filter,
            topic,
            Uint8Array.from(payload),
            isRetained,
          ]);
  }
}

/** Which broker, and with which login; a text is the problem. @throws LuaError for an option of the wrong type */
function brokerChoice(uri: string, table: LuaValue): BrokerChoice | string {
  const options = table === undefined ? {} : (tableArgument(table, 2, 'new') as Record<string, unknown>);
  if (uri === GATEWAY_BROKER)
    return Object.keys(options).length === 0 ? { uri } : 'the connection to the gateway has no options';
  const url = URL.parse(uri);
  if (url === null || (url.protocol !== 'mqtt:' && url.protocol !== 'mqtts:') || url.hostname === '')
    return 'a broker is called mqtt://host:port, mqtts://host:port or gateway';
  const zeros = leadingZeros(hostOf(uri) ?? '');
  if (zeros !== undefined) return zeros;
  const text = (name: string, of = options): string | undefined => {
    const value = of[name];
    if (value === undefined || typeof value === 'string') return value;
    throw new LuaError(`bad argument #2 to 'new' (${name} must be a text)`);
  };
  const inUrl = (part: string): string | undefined => (part === '' ? undefined : unescape(part));
  return {
    uri: `${url.protocol}//${url.host}`,
    user: text('user') ?? inUrl(url.username),
    password: text('password') ?? inUrl(url.password),
    caPem: text('ca'),
    isInsecure: options['insecure_tls'] === true,
    clientId: text('client_id'),
    will: willOf(options['will'], text),
  };
}

function willOf(
  will: unknown,
  text: (name: string, of: Record<string, unknown>) => string | undefined,
): BrokerChoice['will'] {
  if (will === undefined) return undefined;
  if (typeof will !== 'object' || will === null)
    throw new LuaError("bad argument #2 to 'new' (will must be a table with topic and payload)");
  const members = will as Record<string, unknown>;
  const topic = text('topic', members);
  if (topic === undefined || topic === '' || /[+#]/.test(topic))
    throw new LuaError("bad argument #2 to 'new' (the topic of the will is no topic)");
  return { topic, payload: text('payload', members) ?? '', isRetained: members['retain'] === true };
}
