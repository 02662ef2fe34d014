/** A street of simulated devices on the loopback, and what its devices do all the time. */
import assert from 'node:assert/strict';
import { parseTemplate, type Template } from '#library';
import type { DeviceImage, RegisterImage } from '../../scripts/simulate/device-image.ts';
import { type ImageDevice, startImageDevice } from '../../scripts/simulate/image-device.ts';
import { imagesOf, templateText } from '../library/library-files.ts';
import type { TestGateway } from './test-gateway.ts';
import { until } from './until.ts';

interface Power {
  is_complete: boolean;
  roles: { role: string; power_w: number | null }[];
}

interface Bucket {
  sources_wh: Record<string, number>;
  uses_wh: Record<string, number>;
}

type Role = 'grid' | 'pv' | 'battery' | 'generator' | 'ev_charger' | 'heat_pump';

export interface House {
  /** What the device does, W, with the signs of docs/energy.md; a device without roles consumes, or measures something else. */
  does?: Partial<Record<Role, number>>;
  parameters?: Record<string, string>;
  /** Beyond its image. */
  registers?: RegisterImage;
}

const meterOf = (role: string): Pick<House, 'parameters'> => ({ parameters: { role } });

/** Template → what the device does. The powers of images stand with them; here are the ones that count, and nothing twice. */
export const STREET: Readonly<Record<string, House>> = {
  'sunspec/inverter': { does: { pv: 3_456 } },
  'sunspec/inverter-float': { does: { pv: 3_456.5 } },
  'sunspec/meter': { does: { pv: 1_530 }, ...meterOf('pv') },
  'sunspec/meter-1p': { does: { battery: 1_530 }, ...meterOf('battery') },
  'fronius/gen24-modbus': { does: { pv: 4_554, battery: -1_140 } },
  'solaredge/inverter': { does: { pv: 3_120 } },
  'kostal/plenticore': { does: { pv: 4_100.5, battery: -1_800 } },
  'eastron/sdm630': { does: { pv: 1_234.5 }, ...meterOf('pv') },
  'eastron/sdm120': {
    does: { heat_pump: 2_100 },
    ...meterOf('heat_pump'),
    registers: { input: { 12: ['f32', 2_100] } },
  },
  'eastron/sdm230': {},
  'carlo-gavazzi/em24-ethernet': { does: { battery: 1_234.5 }, ...meterOf('battery') },
  'carlo-gavazzi/em340': meterOf('other'),
  'abb/b23': meterOf('other'),
  'huawei/sun2000': { does: { pv: 3_100 } },
  'huawei/sun2000-hybrid': { does: { pv: 4_200, battery: -1_050 } },
  'sungrow/sg': { does: { pv: 7_210 } },
  'sungrow/sh': { does: { pv: 610, battery: 1_262 } },
  'deye/hybrid-1p': { does: { pv: 3_150, battery: -1_890 } },
  'goodwe/et': { does: { pv: 3_950, battery: -965 } },
  'solax/hybrid-g4': { does: { pv: 3_800, battery: -1_930 } },
  'sma/inverter': { does: { pv: 4_210 } },
  'sma/sunny-boy-storage': { does: { battery: -1_800 } },
  'e3dc/s10': { does: { pv: 5_100, battery: -2_300, ev_charger: 0 } },
  'sonnen/eco': { does: { battery: -1_980 }, parameters: { solar: 'inverter' } },
  'deep-sea/gencomm': { does: { generator: 6_300 } },
  'keba/p30': { does: { ev_charger: 10_812.345 } },
  'heidelberg/energy-control': { does: { ev_charger: 6_762 } },
  'go-e/charger': { does: { ev_charger: 10_920 } },
  'tesla/wall-connector': { does: { ev_charger: 10_924.5 } },
  'shelly/3em': meterOf('other'),
  'shelly/plus-switch': {},
  'tasmota/plug': {},
  'homewizard/kwh': { does: { pv: 1_058.296 } },
  'homewizard/socket': {},
  'opendtu/opendtu': { does: { pv: 1_234.5 } },
};

/** A search takes no more than 16 ports; in a street all devices have the same one. */
export const PORTS_MAX = 15;

/** They announce themselves by nothing that a search on the loopback asks for. */
export const BY_HAND: Readonly<Record<string, House>> = {
  'dsmr/p1': { does: { grid: -1_959 } },
  'victron/gx': { does: { pv: 5_750, battery: -2_110 } },
};

/** Of a name that a template asks for, a register or a path of its own kind says it. */
function withEvidence(id: string, template: Template, { registers: more = {} }: House): DeviceImage {
  const images = imagesOf(id);
  const image = images.find(({ name }) => name.startsWith('Belgium')) ?? images[0] ?? assert.fail(id);
  const [unit = '1', own = {}] = Object.entries(image.units ?? { 1: image.registers ?? {} })[0] ?? [];
  const registers = new Map<string, object>(Object.entries(own));
  const put = (table: string, words: object): void =>
    void registers.set(table, { ...registers.get(table), ...words });
  for (const [table, words] of Object.entries(more)) put(table, words);
  let answers = image.answers;
  const [first] = template.recognise ?? [];
  if (first && 'register' in first) {
    const { input, holding, as, equals, between, begins_with: text } = first.register;
    const value = text ?? equals?.[0] ?? Math.round(((between?.[0] ?? 0) + (between?.[1] ?? 0)) / 2);
    put(input === undefined ? 'holding' : 'input', { [input ?? holding ?? 0]: [as, value] });
  }
  if (first && 'sunspec' in first && first.sunspec.maker !== '*') {
    const chain = { 40_000: '5375 6E53 0001 0042', 40_068: '0001 0000 FFFF 0000' };
    const hasChain = Object.hasOwn(registers.get('holding') ?? {}, 40_000);
    put('holding', { ...(hasChain ? {} : chain), 40_004: ['string16', first.sunspec.maker] });
  }
  if (first && 'http' in first) {
    const { path, field = '', equals, contains } = first.http;
    const said = equals?.[0] ?? contains ?? 1;
    const nested = field.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), said);
    answers = { [path]: nested, ...answers };
  }
  return {
    ...image,
    ...(template.modbus && {
      units: { ...image.units, [unit]: Object.fromEntries(registers) as RegisterImage },
    }),
    ...(answers && { answers }),
    ignores_units: true,
  };
}

export const templateOf = (id: string): Template =>
  parseTemplate(templateText(id)).template ?? assert.fail(id);

/** The slug of a device is that of its template. */
export const slugOf = (id: string): string => id.replace('/', '-');

/** Template → device. @param owner closes them at its end */
export async function startStreet(
  owner: { after: (end: () => unknown) => void },
  houses: Readonly<Record<string, House>>,
): Promise<ReadonlyMap<string, ImageDevice>> {
  const devices = new Map<string, ImageDevice>();
  for (const [id, house] of Object.entries(houses)) {
    const template = templateOf(id);
    const image = withEvidence(id, template, house);
    const order = template.modbus?.word_order ?? '';
    const preset = template.parameters?.[order.slice(1)]?.default;
    const isLowFirst = (image.parameters?.[order.slice(1)] ?? preset ?? order) === 'low_first';
    const device = await startImageDevice(image, isLowFirst);
    owner.after(() => device.close());
    devices.set(id, device);
  }
  return devices;
}

/** Ports of devices with Modbus, and with HTTP. */
export function portsOf(
  devices: ReadonlyMap<string, ImageDevice>,
  ids: readonly string[],
): { modbus: number[]; http: number[] } {
  const ports = (isModbus: boolean): number[] =>
    ids
      .filter((id) => (templateOf(id).modbus !== undefined) === isModbus)
      .map((id) => devices.get(id)?.port ?? assert.fail(id));
  return { modbus: ports(true), http: ports(false) };
}

/** Settings and variants of a template as an installer would choose them for its device. */
export const parametersOf = (id: string, { parameters }: House): Record<string, unknown> => ({
  ...imagesOf(id)[0]?.parameters,
  ...parameters,
});

/** The power of the site, and its energy of a whole hour, are what the devices do, within half a percent. */
export async function assertEnergy({ ok }: TestGateway, all: Readonly<Record<string, House>>): Promise<void> {
  const books = new Map<Role, number>();
  for (const { does = {} } of Object.values(all))
    for (const [role, watts] of Object.entries(does) as [Role, number][])
      books.set(role, (books.get(role) ?? 0) + watts);
  const watts = (role: Role): number => books.get(role) ?? 0;
  const consumers = watts('ev_charger') + watts('heat_pump');
  const load = watts('pv') + watts('battery') + watts('generator') + watts('grid') - consumers;

  const expected = (role: string): number => (role === 'load' ? load : watts(role as Role));
  const differing = async (): Promise<unknown[]> => {
    const { power } = await ok('OWNER', 'GET', '/v3/site/energy/now');
    const { is_complete: isComplete, roles } = power as Power;
    const wrong = roles.filter(({ role, power_w: power }) => !isNear(power, expected(role)));
    const missing = [...books.keys()].filter((role) => !roles.some((one) => one.role === role));
    return isComplete ? [...wrong, ...missing] : ['incomplete', ...wrong, ...missing];
  };
  // What still differs then is named below.
  await until(async () => (await differing()).length === 0).catch(() => undefined);
  assert.deepEqual(await differing(), [], JSON.stringify({ ...Object.fromEntries(books), load }));

  // The same for a whole hour, so that nothing depends on when which device was read.
  const fromS = Math.floor(Date.now() / 3_600_000) * 3_600 - 7_200;
  for (const id of Object.keys(all)) {
    const { telemetry } = await ok(
      'OWNER',
      'GET',
      `/v3/devices/${slugOf(id)}/telemetry?relevance_interval=1h`,
    );
    const numbers = Object.entries(telemetry as Record<string, { value: unknown }>).filter(
      ([, { value }]) => typeof value === 'number',
    );
    if (numbers.length === 0) continue;
    const head = numbers.map(([name]) => `telemetry=${name} device=${slugOf(id)}`);
    const values = numbers.map(([, { value }]) => value);
    const rows = Array.from({ length: 63 }, (_, minute) => [fromS + (minute - 1) * 60, ...values].join(','));
    const csv = [['ts', ...head].join(','), ...rows, ''].join('\n');
    await ok('OWNER', 'POST', '/v3/telemetry/import', csv, { 'Content-Type': 'text/csv' });
  }
  const { energy } = await ok(
    'OWNER',
    'GET',
    `/v3/site/energy?from=${fromS}&to=${fromS + 3_600}&granularity=hour`,
  );
  const { sources_wh: sources, uses_wh: uses } = (energy as { total: Bucket }).total;
  const sum = (role: Role, sign: 1 | -1): number =>
    Object.values(all).reduce((all, { does = {} }) => all + Math.max(0, sign * (does[role] ?? 0)), 0);
  for (const [name, value, wanted] of [
    ['pv', sources['pv'], sum('pv', 1)],
    ['generator', sources['generator'], sum('generator', 1)],
    ['discharged', sources['battery'], sum('battery', 1)],
    ['charged', uses['battery'], sum('battery', -1)],
    ['exported', uses['grid'], sum('grid', -1)],
    ['ev_charger', uses['ev_charger'], watts('ev_charger')],
    ['heat_pump', uses['heat_pump'], watts('heat_pump')],
    ['load', uses['load'], load],
  ] as const)
    assert.ok(isNear(value ?? null, wanted), `${name}: ${value}, not ${wanted}`);
}

/** Within half a percent. */
const isNear = (value: number | null, wanted: number): boolean =>
  value !== null && Math.abs(value - wanted) <= 0.005 * Math.abs(wanted) + 0.5;
