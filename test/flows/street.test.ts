/**
 * A street of simulated devices: a search finds and names them, each is added from its template, and the energy of the
 * site equals what they do, without a setting of sources.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ImageDevice } from '../../scripts/simulate/image-device.ts';
import { playModbus } from '../support/simulated-modbus.ts';
import {
  assertEnergy,
  BY_HAND,
  parametersOf,
  PORTS_MAX,
  portsOf,
  slugOf,
  startStreet,
  STREET,
} from '../support/street.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const ALL = { ...STREET, ...BY_HAND };

describe('a street of devices', () => {
  const ends: (() => unknown)[] = [];
  const owner = { after: (end: () => unknown) => void ends.push(end) };
  let devices: ReadonlyMap<string, ImageDevice>;
  let gateway: TestGateway;

  before(async () => {
    const { environment } = await playModbus(owner);
    gateway = await startTestGateway(owner, { environment });
    devices = await startStreet(owner, ALL);
  });
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const deviceOf = (id: string): ImageDevice => devices.get(id) ?? assert.fail(id);
  const found = new Map<string, Record<string, unknown>>();

  test('a street of devices is found and named by searches', async () => {
    const lines: Record<string, unknown>[] = [];
    const { modbus, http } = portsOf(devices, Object.keys(STREET));
    for (let at = 0; at < Math.max(modbus.length, http.length); at += PORTS_MAX) {
      const answer = await gateway.request('INSTALLER', 'POST', '/v3/library/search', {
        networks: ['127.0.0.1'],
        modbus_ports: [1, ...modbus.slice(at, at + PORTS_MAX)],
        http_ports: [1, ...http.slice(at, at + PORTS_MAX)],
        serial_ports: false,
      });
      for (const line of (await answer.text()).trim().split('\n'))
        lines.push(JSON.parse(line) as Record<string, unknown>);
    }
    const missed = Object.keys(STREET).filter((id) => {
      const { port } = deviceOf(id);
      const line = lines.find(
        ({ type, address }) => type === 'found' && String(address).endsWith(`127.0.0.1:${port}`),
      );
      const templates = (line?.['templates'] ?? []) as { id: string }[];
      if (!line || !templates.some((template) => template.id === slugOf(id))) return true;
      found.set(id, line['connection'] as Record<string, unknown>);
      return false;
    });
    assert.deepEqual(missed, [], JSON.stringify(lines.filter(({ type }) => type === 'found')));
  });

  test('a street of devices is added from its templates, and the energy of the site equals what it does', async () => {
    const { ok } = gateway;
    const { devices: modules } = await ok('OWNER', 'GET', '/v3/devices?type.in=GATEWAY');
    const [module] = modules as { id: string }[];
    for (const [id, house] of Object.entries(ALL)) {
      const parameters = parametersOf(id, house);
      const library = `/v3/library/devices/${slugOf(id)}/blueprint`;
      const { blueprint } = await ok('OWNER', 'POST', library, { parameters });
      await ok('OWNER', 'POST', '/v3/provisioning/lua_device', {
        name: slugOf(id),
        blueprint_id: (blueprint as { id: string }).id,
        runtime_id: module?.id,
      });
      const set = found.get(id) ?? { address: deviceOf(id).address };
      await ok('OWNER', 'PATCH', `/v3/devices/${slugOf(id)}/configuration/connection`, { set });
    }
    await assertEnergy(gateway, ALL);
  });
});
