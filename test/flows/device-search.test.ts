/** Somebody searches a street of simulated devices: the whole gateway with its own module, everything on the loopback. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ImageDevice, startImageDevice } from '../../scripts/simulate/image-device.ts';
import type { DeviceImage, RegisterImage } from '../../scripts/simulate/device-image.ts';
import { imagesOf } from '../library/library-files.ts';
import { NO_SERIAL_LINE, playModbus } from '../support/simulated-modbus.ts';
import { refusal, startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

const SEARCH = '/v3/library/search';
type Line = Record<string, unknown> & { type: string };

const image = (registers: RegisterImage): DeviceImage => ({ name: 'device', registers, expect: {} });

/** SunSpec at its usual place: the common model, and one more of ten registers. */
const sunspec = (maker: string, model: string, serial: string, further: number): DeviceImage =>
  image({
    holding: {
      40000: '5375 6E53 0001 0042',
      40004: ['string16', maker],
      40020: ['string16', model],
      40036: ['string8', ''],
      40044: ['string8', '1.0'],
      40052: ['string16', serial],
      40068: '0001 0000',
      40070: further,
      40071: 10,
      40072: '0000 0000 0000 0000 0000 0000 0000 0000 0000 0000',
      40082: 'FFFF 0000',
    },
  });

const imageOf = (id: string, more: RegisterImage = {}): DeviceImage => {
  const [first] = imagesOf(id);
  if (!first) assert.fail(id);
  const { registers = {} } = first;
  const tables = new Set([...Object.keys(registers), ...Object.keys(more)]) as Set<keyof RegisterImage>;
  return {
    ...first,
    registers: Object.fromEntries(
      [...tables].map((table) => [table, { ...registers[table], ...more[table] }]),
    ),
  };
};

const MODBUS: Record<string, DeviceImage> = {
  'eastron-sdm630': imageOf('eastron/sdm630', { holding: { 0xfc02: 0x0070 } }),
  'carlo-gavazzi-em340': imageOf('carlo-gavazzi/em340', { input: { 11: 340 } }),
  'huawei-sun2000': imageOf('huawei/sun2000', {
    holding: { 30000: ['string15', 'SUN2000-10KTL'], 30015: ['string10', 'HV1234'] },
  }),
  'sunspec-inverter': sunspec('Fronius', 'Symo 10', '29301', 103),
  'sunspec-meter': sunspec('Fronius', 'Smart Meter', '4711', 203),
};
const HTTP: Record<string, [id: string, answers: Record<string, unknown>]> = {
  'shelly-3em': ['shelly/3em', { '/shelly': { type: 'SHEM-3', mac: 'A4CF12' } }],
  'go-e-charger': [
    'go-e/charger',
    { '/api/status?filter=sse,typ,fwv': { sse: '021348', typ: 'go-eCharger' } },
  ],
};

describe('a search for devices', () => {
  const ends: (() => unknown)[] = [];
  const owner = { after: (end: () => unknown) => void ends.push(end) };
  let gateway: TestGateway;
  const modbus = new Map<string, ImageDevice>();
  const http = new Map<string, ImageDevice>();

  before(async () => {
    const { environment } = await playModbus(owner);
    gateway = await startTestGateway(owner, { environment });
    // The meter behind a converter has its unit; the others answer under every one.
    for (const [id, one] of Object.entries(MODBUS))
      modbus.set(id, await startImageDevice({ ...one, ignores_units: id !== 'eastron-sdm630' }, false));
    for (const [id, [image, answers]] of Object.entries(HTTP)) {
      const [first] = imagesOf(image);
      if (!first) assert.fail(image);
      http.set(id, await startImageDevice({ ...first, answers: { ...first.answers, ...answers } }, false));
    }
    for (const device of [...modbus.values(), ...http.values()]) owner.after(() => device.close());
  });
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const portsOf = (devices: ReadonlyMap<string, ImageDevice>): number[] =>
    [...devices.values()].map(({ port }) => port);

  async function search(body: object): Promise<Line[]> {
    const answer = await gateway.request('INSTALLER', 'POST', SEARCH, body);
    assert.equal(answer.status, 200);
    return (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  }

  test('a search for devices is refused without the role of an installer, and for networks and ports that are none', async () => {
    assert.equal(refusal(await gateway.call('OWNER', 'POST', SEARCH, {})), '403 insufficient_role');
    for (const body of [
      { networks: ['203.0.113.0/24'] },
      { networks: '127.0.0.1' },
      { modbus_ports: [0] },
      { http_ports: [80, 65_536] },
      { networks: Array.from({ length: 17 }, () => '127.0.0.1') },
    ])
      assert.equal(refusal(await gateway.call('INSTALLER', 'POST', SEARCH, body)), '400 invalid_body');
  });

  test('a search for devices finds nothing where nothing listens, and says so', async () => {
    const lines = await search({
      networks: ['127.0.0.1'],
      modbus_ports: [1],
      http_ports: [2],
      serial_ports: false,
    });
    assert.deepEqual(lines, [
      { type: 'progress', stage: 'NETWORK', done: 1, total: 1 },
      { type: 'end', outcome: 'COMPLETE' },
    ]);
  });

  test('a search for devices names all devices of a street, with serial numbers, and writes to none', async () => {
    const lines = await search({
      networks: ['127.0.0.1/32'],
      modbus_ports: portsOf(modbus),
      http_ports: portsOf(http),
      serial_ports: false,
    });
    const found = lines.filter(({ type }) => type === 'found');
    const at = ({ port }: ImageDevice): Line | undefined =>
      found.find(({ address }) => String(address).endsWith(`127.0.0.1:${port}`));
    for (const [id, device] of [...modbus, ...http]) {
      const templates = (at(device)?.['templates'] ?? []) as { id: string }[];
      assert.ok(
        templates.some((template) => template.id === id),
        `${id} is ${JSON.stringify(at(device))}`,
      );
    }
    assert.equal(found.length, modbus.size + http.size);
    assert.deepEqual(lines.at(-1), { type: 'end', outcome: 'COMPLETE' });
    const inverter = modbus.get('sunspec-inverter') ?? assert.fail();
    assert.deepEqual(at(inverter), {
      type: 'found',
      transport: 'MODBUS_TCP',
      address: `tcp://127.0.0.1:${inverter.port}`,
      unit_id: 1,
      maker: 'Fronius',
      model: 'Symo 10',
      serial_number: '29301',
      templates: [{ id: 'sunspec-inverter', name: 'SunSpec Inverter' }],
      connection: { address: `tcp://127.0.0.1:${inverter.port}`, unit_id: 1 },
    });
    assert.equal(at(modbus.get('huawei-sun2000') ?? assert.fail())?.['serial_number'], 'HV1234');
    const charger = http.get('go-e-charger') ?? assert.fail();
    assert.equal(at(charger)?.['address'], `127.0.0.1:${charger.port}`);
    assert.ok(charger.requests.every((request) => request.startsWith('GET ')));
  });

  test(
    'a search for devices finds units on a serial line that the library does not know',
    { skip: NO_SERIAL_LINE },
    async () => {
      const lines = await search({ networks: ['127.0.0.1'], modbus_ports: [1], http_ports: [2] });
      const found = lines.filter(({ type }) => type === 'found');
      assert.deepEqual(
        found.map(({ address, unit_id: unit, transport, maker, templates }) => [
          address,
          unit,
          transport,
          maker,
          templates,
        ]),
        [
          ['port://rs485', 1, 'MODBUS_RTU', 'Simulated', []],
          ['port://rs485', 2, 'MODBUS_RTU', 'Simulated', []],
        ],
      );
    },
  );

  test('a search for devices runs alone, ends when the caller leaves, and leaves room for the next one', async () => {
    const leaving = new AbortController();
    const body = { networks: ['127.0.0.1'], modbus_ports: portsOf(modbus), serial_ports: false };
    const running = await fetch(new URL(SEARCH, gateway.origin), {
      method: 'POST',
      headers: { 'X-Service-Auth-Token': gateway.token('INSTALLER') },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    assert.equal(refusal(await gateway.call('INSTALLER', 'POST', SEARCH, body)), '409 scan_active');
    leaving.abort();
    await assert.rejects(running.text());
    await until(async () => {
      const { status } = await gateway.call('INSTALLER', 'POST', SEARCH, {
        networks: ['127.0.0.1'],
        modbus_ports: [1],
        http_ports: [2],
        serial_ports: false,
      });
      return status === 200;
    });
  });
});
