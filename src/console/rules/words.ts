/** Completions of the script editor: the library of rules, and the site's devices, attributes and commands. */
import { type LiveDevice, liveDevices } from '../live.ts';
import { say } from '../words/later.ts';

export interface Word {
  label: string;
  /** Its arguments, or what it belongs to. */
  detail?: string;
  type: 'function' | 'constant' | 'property';
}

const func = (label: string, detail: string): Word => ({ label, detail, type: 'function' });

const properties = (labels: string): Word[] =>
  labels.split(' ').map((label) => ({ label, type: 'property' }));

/** Members by the name before the dot; those without one under the empty name. */
const LIBRARY: Readonly<Record<string, readonly Word[]>> = {
  '': [
    ...properties('enapter scheduler storage output system time sun http json os string table'),
    func('notify', '(title, text, "warning")'),
    func('print', '(text)'),
    func('inspect', '(value)'),
    func('pairs', '(table)'),
    func('ipairs', '(list)'),
    func('tonumber', '(text)'),
    func('tostring', '(value)'),
    func('pcall', '(fn, …)'),
    func('assert', '(value, message)'),
    func('error', '(message)'),
    { label: 'RULE_ID', type: 'constant' },
    { label: 'TIMEZONE', detail: say.rules.aheadOfUtc, type: 'constant' },
  ],
  enapter: [
    func('device', '(slug)'),
    func('devices', '()'),
    func('log', '(text, severity)'),
    func('main', say.rules.runOnce),
  ],
  scheduler: [
    func('add', '(period_ms, fn)'),
    func('add_cron', '(cron, fn)'),
    func('add_sun', '(event, offset, fn)'),
    func('remove', '(id)'),
  ],
  output: [
    func('request', '(device, command, arguments, { safe = … })'),
    func('release', '(device, command)'),
  ],
  storage: [
    func('read', '(key)'),
    func('write', '(key, value)'),
    func('remove', '(key)'),
    { label: 'shared', detail: say.rules.ofAllRules, type: 'property' },
    ...properties('namespaced'),
  ],
  system: [func('delay', '(ms)')],
  time: [func('is_now_between', '("22:00", "06:00")')],
  sun: [func('times', '()'), func('position', '()')],
  http: [func('get', '(url)'), func('post', '(url, type, body)'), func('request', '(request)')],
  json: [func('encode', '(value)'), func('decode', '(text)')],
  os: [func('time', '()'), func('date', '(format)')],
  telemetry: [
    func('now', '(attribute, "1m")'),
    func('avg', '(attribute, "5m")'),
    func('min', '(attribute, "1h")'),
    func('max', '(attribute, "1h")'),
    func('on_update', '(attribute, fn)'),
  ],
};

/** Members of any other name: most likely a device. */
const DEVICE: readonly Word[] = [
  ...properties('telemetry'),
  func('execute_command', '(name, arguments)'),
  func('property', '(name)'),
  func('online', '()'),
  func('on_online_changed', '(fn)'),
  func('implements', '()'),
  ...properties('id slug name type'),
];

/** Completions for a line up to the cursor. */
export function wordsAt(line: string): readonly Word[] {
  const call = /(?<![a-z_])([a-z_]+)\s*\(\s*(?:\{\s*)?['"][\w-]*$/.exec(line)?.[1];
  if (call !== undefined) return siteWords(call);
  if (/['"][^'"]*$/.test(line) && (line.match(/['"]/g)?.length ?? 0) % 2 === 1) return siteWords('device');
  const [, owner] = /(?<!\w)(\w+)\s*[.:]\s*\w*$/.exec(line) ?? [];
  return owner === undefined ? (LIBRARY[''] ?? []) : (LIBRARY[owner] ?? DEVICE);
}

/** Texts that may be the first argument of a function. */
function siteWords(of: string): Word[] {
  const devices = liveDevices();
  if (of === 'device')
    return devices.map(({ device }) => ({ label: device.slug, detail: device.name, type: 'constant' }));
  const namesOf = (live: LiveDevice): [name: string, what: string][] => {
    const { telemetry = {}, properties = {}, commands = {} } = live.manifest ?? {};
    if (of.startsWith('execute'))
      return Object.entries(commands).map(([name, { display_name: t }]) => [name, t]);
    const declared = of === 'property' ? properties : telemetry;
    return Object.entries(declared).map(([name, { unit }]) => [name, unit ?? '']);
  };
  const found = new Map<string, string[]>();
  for (const live of devices)
    for (const [name, what] of namesOf(live))
      found.set(name, [...(found.get(name) ?? []), `${live.device.slug} ${what}`.trim()]);
  return [...found].map(([label, owners]) => ({
    label,
    detail: owners.slice(0, 2).join(', '),
    type: 'property',
  }));
}
