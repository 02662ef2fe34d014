/** What exists in the gateway under check, so that requests meet it; grows by what answers tell. */
import type { Random } from '../../support/random.ts';
import { membersOf } from './description.ts';
import { uuid } from './values.ts';

export interface Stock {
  siteId: string;
  /** Claim code of a gateway that is not claimed yet. */
  claimCode: string;
  /** Connected, with the sample blueprint; never deleted, never given new credentials. */
  device: { id: string; slug: string };
  /** A communication module, which can run scripts. */
  moduleId: string;
  blueprintId: string;
  /** A blueprint with a script. */
  luaBlueprintId: string;
  blueprintZip: Buffer;
  profilesZip: Buffer;
  /** A profile that does not come with the gateway. */
  ownProfileZip: Buffer;
  /** A device template that does not come with the gateway. */
  ownTemplate: Buffer;
  /** Id of a raised alert. */
  alertId: string;
  /** Where somebody listens who takes whatever is sent. */
  receiverUrl: string;
  /** Names of its telemetry. */
  attributes: readonly string[];
  configuration: { group: string; parameters: readonly string[] };
}

export interface Pool {
  /** A value for a parameter or member of this name; undefined: any will do. */
  known(operation: string, name: string): unknown;
  /** Notes ids in a good answer. */
  learn(operation: string, answer: unknown): void;
  /** A good upload for the operation. */
  uploadFor(operation: string): Buffer;
  /** A good body that no example says, because it names something of this machine; undefined: none. */
  bodyFor(operation: string): Record<string, unknown> | undefined;
  /** Token of a session whose user has the password that requests tell; undefined until the gateway is claimed. */
  session(): string | undefined;
  readonly stock: Stock;
}

/** These would end what the other requests need. */
const DESTRUCTIVE = new Set(['delete_device', 'generate_config', 'assign_blueprint']);
const KEPT = 50;
const NAMED = ['enapter', 'battery-inverter', 'latest'] as const;
/** Password of all users made here, so that some can log in. */
const PASSWORD = 'generated requests';
const COMMANDS = ['start', 'stop', 'read_settings', 'set_charge_limit', 'no_such_command'];

/** Where an answer tells the id of something new, by operation; items of lists by their position. */
const TOLD: Record<string, { kind: string; path: readonly string[] }> = {
  provision_standalone_device: { kind: 'device', path: ['device_id'] },
  provision_virtual_ucm: { kind: 'device', path: ['device_id'] },
  provision_hardware_ucm: { kind: 'device', path: ['device_id'] },
  provision_lua_device: { kind: 'device', path: ['device_id'] },
  create_command_execution: { kind: 'execution', path: ['execution_id'] },
  upload_blueprint: { kind: 'blueprint', path: ['id'] },
  upload_device_profiles: { kind: 'profile', path: ['files', '0', 'profile_id'] },
  upload_library_device: { kind: 'template', path: ['device', 'id'] },
  create_user: { kind: 'user', path: ['user', 'id'] },
  create_token: { kind: 'token', path: ['access_token', 'id'] },
  create_rule: { kind: 'rule', path: ['rule', 'id'] },
  create_target: { kind: 'target', path: ['target', 'id'] },
  create_notification_channel: { kind: 'channel', path: ['notification_channel', 'id'] },
  add_serial_port: { kind: 'serialPort', path: ['serial_port', 'name'] },
  add_io_port: { kind: 'ioPort', path: ['io_port', 'name'] },
};

export function createPool(stock: Stock, random: Random): Pool {
  const learned = new Map<string, string[]>();
  const anyOf = (kind: string, always: readonly string[] = []): string => {
    const all = [...always, ...(learned.get(kind) ?? [])];
    return all.length === 0 || random.chance(0.1) ? uuid(random) : random.pick(all);
  };

  const { configuration } = stock;
  /** The slug is the present one. */
  const device = { ...stock.device };
  const inSeries = (operation: string, values: readonly unknown[]): unknown =>
    operation === 'get_energy'
      ? values.at(-1)
      : ['query_timeseries', 'dry_run_rule'].includes(operation)
        ? random.pick(values)
        : undefined;
  /** By the name of a parameter or member. */
  const makers: Record<string, (operation: string) => unknown> = {
    ...idMakers({ ...stock, device }, random, anyOf),
    // The newest one: most of those before are deleted.
    target_id: () => learned.get('target')?.at(-1),
    notification_channel_id: () => learned.get('channel')?.at(-1),
    channel_id: () => learned.get('channel')?.at(-1),
    namespace: () => NAMED[0],
    blueprint_name: () => NAMED[1],
    tag: () => NAMED[2],
    slug: () => (random.chance(0.8) ? `made-${random.integer(1, 1_000_000)}` : undefined),
    hardware_id: () => `V${random.integer(10_000_000, 99_999_999)}`,
    claim_code: () => stock.claimCode,
    password: () => PASSWORD,
    current_password: () => PASSWORD,
    devices: () => ({
      [random.pick([device.id, device.slug, 'no-such-device'])]: `${random.pick(stock.attributes)},no_such`,
    }),
    group_name: () => random.pick([configuration.group, configuration.group, 'no_such_group']),
    param_names: () => configuration.parameters,
    set: () => ({}),
    reset: () => [random.pick(configuration.parameters)],
    arguments: () => ({}),
    attribute: () =>
      random.pick([random.pick(stock.attributes), [random.pick(stock.attributes), 'no_such'], {}]),
    device: () => random.pick([device.id, [device.slug, device.id], {}]),
    aggregation: () => (random.chance(0.5) ? 'auto' : undefined),
    from: (operation) =>
      inSeries(operation, [1_772_352_000, '2026-03-01T08:00:00Z', '2026-03-01 09:00:00+01:00']),
    to: (operation) => inSeries(operation, [1_772_355_600, '2026-03-01T09:00:00Z']),
    // Which attributes may be named depends on the device.
    items: (operation) => (operation.startsWith('update_energy_') ? [] : undefined),
    port_name: (operation) => anyOf(operation.includes('io_port') ? 'ioPort' : 'serialPort'),
    // Which there are depends on the template, and each has a default.
    parameters: (operation) => (operation === 'make_library_blueprint' ? {} : undefined),
    // What the path of a port may be depends on its kind.
    kind: (operation) => (operation === 'add_io_port' ? 'CAN' : undefined),
    path: (operation) => (operation === 'add_io_port' ? 'can0' : undefined),
    name: (operation) => {
      if (operation === 'login') return learned.get('userName')?.at(-1);
      return operation.includes('command') ? random.pick(COMMANDS) : undefined;
    },
  };
  const known = (operation: string, name: string): unknown => makers[name]?.(operation);

  let session: string | undefined;
  const keep = (kind: string, value: string): void =>
    void learned.set(kind, [...(learned.get(kind) ?? []), value].slice(-KEPT));

  return {
    known,
    stock,
    session: () => session,
    uploadFor: (operation) => {
      if (operation === 'upload_device_profiles')
        return random.pick([stock.profilesZip, stock.ownProfileZip]);
      return operation === 'upload_library_device' ? stock.ownTemplate : stock.blueprintZip;
    },
    bodyFor: (operation) => ownBodies(stock)[operation],
    learn: (operation, answer) => {
      // Its user is not in the pool, so nobody deletes it.
      if (operation === 'claim') session = String(membersOf(answer)['token']);
      const updated = operation === 'update_device' ? membersOf(membersOf(answer)['device']) : {};
      if (updated['id'] === device.id) device.slug = String(updated['slug']);
      const told = TOLD[operation];
      if (!told) return;
      let id: unknown = answer;
      for (const name of told.path) id = membersOf(id)[name];
      if (typeof id !== 'string' || id === stock.device.id) return;
      keep(told.kind, id);
      if (told.kind === 'user') keep('userName', String(membersOf(membersOf(answer)['user'])['name']));
    },
  };
}

function ownBodies({ receiverUrl }: Stock): Record<string, Record<string, unknown>> {
  return {
    create_target: {
      name: 'fleet',
      kind: 'INFLUXDB',
      influxdb: { url: `${receiverUrl}/write`, secret: 'a token' },
    },
    create_notification_channel: { name: 'Phones', kind: 'WEBHOOK', webhook: { url: receiverUrl } },
    // A text that is no address is refused.
    read_http_json: { url: 'http://127.0.0.1:9/status' },
  };
}

function idMakers(
  stock: Stock,
  random: Random,
  anyOf: (kind: string, always?: readonly string[]) => string,
): Record<string, (operation: string) => unknown> {
  const { device } = stock;
  return {
    site_id: (operation) => (operation === 'delete_site' ? uuid(random) : stock.siteId),
    // Most of what can be done with a device only the connected one can.
    device_id: (operation) =>
      DESTRUCTIVE.has(operation) || random.chance(0.3)
        ? anyOf('device')
        : random.pick([device.id, device.slug]),
    runtime_id: () => random.pick([stock.moduleId, device.id]),
    blueprint_id: (operation) =>
      operation === 'provision_lua_device' ? stock.luaBlueprintId : anyOf('blueprint', [stock.blueprintId]),
    execution_id: () => anyOf('execution'),
    user_id: () => anyOf('user'),
    token_id: () => anyOf('token'),
    template_id: () => anyOf('template'),
    profile_id: () => anyOf('profile'),
    alert_id: () => anyOf('alert', [stock.alertId]),
    rule_id: () => anyOf('rule'),
    rule_ids: () => [anyOf('rule')],
  };
}
