/**
 * Every template of the library, compiled as an installer would have it and run by a real module against the images of
 * its devices. Expected values stand in the images; where there was a second source they come from there.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { parseTemplate } from '#library';
import type { DeviceImage } from '../../scripts/simulate/device-image.ts';
import { type ImageDevice, startImageDevice } from '../../scripts/simulate/image-device.ts';
import { CommunicationModule } from '../../src/field-module/module.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { compiled } from '../capabilities/blueprints/support.ts';
import {
  type StandInDevice,
  type StandInGateway,
  startStandInGateway,
} from '../field-module/stand-in-gateway.ts';
import { until } from '../support/until.ts';
import { recordingLog } from '../support/workspace.ts';
import { compileFromLibrary, imageIds, imagesOf, templateIds, templateText } from './library-files.ts';

/** Rhythms of up to an hour would make the test as long: all groups are read at once. */
const QUICK_MS = 150;

interface Trial {
  id: string;
  image: DeviceImage;
  channelId: string;
  device: ImageDevice;
  assigned: StandInDevice;
}

const trials: { id: string; image: DeviceImage }[] = imageIds.flatMap((id) =>
  imagesOf(id).map((image) => ({ id, image })),
);

/** @param everyMs rhythm of all groups in place of their own */
async function prepare(
  { id, image }: { id: string; image: DeviceImage },
  index: number,
  everyMs = QUICK_MS,
): Promise<Trial> {
  const { files, parameters } = compileFromLibrary(id, image.parameters);
  const { template } = parseTemplate(templateText(id));
  const order = template?.modbus?.word_order ?? '';
  const isLowFirst = (parameters[order.slice(1)] ?? order) === 'low_first';
  const device = await startImageDevice(image, isLowFirst);
  const quick: Record<string, string> = {
    ...files,
    'lua/main.lua': (files['lua/main.lua'] ?? '')
      .replaceAll(/every_ms = \d+/g, `every_ms = ${everyMs}`)
      .replaceAll(/pause_ms = \d+/g, 'pause_ms = 1')
      // Services on the internet and devices behind TLS are played by the same plain server.
      .replace(/url = '[^']+'/, `url = 'http://127.0.0.1:${device.port}'`)
      .replace("scheme = 'https'", "scheme = 'http'")
      .replace(/own_port = \d+/, 'own_port = nil'),
  };
  const { manifest, script } = compiled(quick['manifest.yml'] ?? '', quick);
  const typesOf = (attributes: Record<string, { type: string }>): Record<string, string> =>
    Object.fromEntries(Object.entries(attributes).map(([attribute, { type }]) => [attribute, type]));
  const defaults = Object.entries(manifest.configuration.connection?.parameters ?? {}).flatMap(
    ([name, parameter]) =>
      'default' in parameter && parameter.default !== undefined ? [[name, parameter.default] as const] : [],
  );
  return {
    id,
    image,
    channelId: `device-${index}`,
    device,
    assigned: {
      channelId: `device-${index}`,
      script: script ?? assert.fail('the blueprint has no script'),
      facts: {
        api: 'v3',
        telemetry: typesOf(manifest.telemetry),
        properties: typesOf(manifest.properties),
        configuration: {
          connection: 'address' in (manifest.configuration.connection?.parameters ?? {}) ? ['address'] : [],
        },
      },
      groups: { connection: { ...Object.fromEntries(defaults), address: device.address, ...image.settings } },
    },
  };
}

describe('a template of the library', () => {
  const clock = createSystemClock();
  let gateway: StandInGateway;
  let module: CommunicationModule;
  const running = new Map<number, Trial>();

  before(async () => {
    gateway = await startStandInGateway();
    module = new CommunicationModule({
      configuration: { connection: gateway.connection, ports: {}, ioPorts: {} },
      clock,
      log: recordingLog(clock).log,
      run: randomUUID(),
    });
  });
  after(async () => {
    await module.stop();
    for (const { device } of running.values()) await device.close();
    await gateway.stop();
    clock.close();
  });

  /** Everything that the device ever sent, the newest of each name. */
  const sent = (channelId: string): Record<string, unknown> =>
    Object.assign(
      {},
      ...gateway.bodies(channelId, 'v1/telemetry'),
      ...gateway.bodies(channelId, 'v1/register'),
      ...gateway.bodies(channelId, 'v1/properties'),
    ) as Record<string, unknown>;

  const start = async (index: number, everyMs = QUICK_MS): Promise<Trial> => {
    const trial = await prepare(trials[index] ?? assert.fail(), index, everyMs);
    running.set(index, trial);
    gateway.assign([...running.values()].map(({ assigned }) => assigned));
    return trial;
  };

  for (const [index, { id, image }] of trials.entries())
    test(`the template ${id} gives the expected values of "${image.name}"`, async () => {
      const trial = await start(index);
      const wanted = Object.entries(image.expect ?? {}).filter(([, value]) => value !== null);
      // What has not come by then is named below.
      await until(() => wanted.every(([name]) => sent(trial.channelId)[name] !== undefined)).catch(
        () => undefined,
      );
      const values = sent(trial.channelId);
      const seen = Object.fromEntries(
        Object.keys(image.expect ?? {}).map((name) => [name, rounded(values[name])]),
      );
      const expected = Object.fromEntries(
        Object.entries(image.expect ?? {}).map(([name, value]) => [name, rounded(value)]),
      );
      assert.deepEqual(seen, expected);
      for (const command of image.commands ?? []) await run(trial, command);
      running.delete(index);
      gateway.assign([...running.values()].map(({ assigned }) => assigned));
      await trial.device.close();
    });

  test('a template of the library is read soon after a start and after each change of its settings, though its rhythm is an hour', async () => {
    const index = trials.findIndex(({ id }) => id === 'forecast-solar/forecast');
    const { assigned, channelId, device } = await start(index, 3_600_000);
    await until(() => sent(channelId)['forecast_power'] !== undefined);
    const before = device.requests.length;
    gateway.configure(channelId, assigned.groups ?? {}, ['connection']);
    await until(() => device.requests.length > before);
    running.delete(index);
    gateway.assign([...running.values()].map((trial) => trial.assigned));
    await device.close();
  });

  async function run(
    { channelId, device }: Trial,
    command: NonNullable<DeviceImage['commands']>[number],
  ): Promise<void> {
    const id = randomUUID();
    gateway.command(channelId, id, command.run, command.with);
    const answer = (): Record<string, unknown> | undefined =>
      gateway.bodies(channelId, 'v1/command/responses').find((response) => response.id === id);
    await until(() => answer() !== undefined);
    assert.equal(answer()?.state, 'completed', JSON.stringify(answer()));
    for (const [address, word] of Object.entries(command.writes ?? {}))
      assert.equal(device.word(Number(address)), word, `register ${address} after ${command.run}`);
    for (const request of command.requests ?? [])
      assert.ok(
        device.requests.includes(request),
        `${request} is not among ${device.requests.slice(-5).join(' | ')}`,
      );
  }
});

/** Floats of 32 bits have seven digits. */
function rounded(value: unknown): unknown {
  if (value === undefined) return null;
  return typeof value === 'number' ? Number(value.toPrecision(6)) : value;
}

test('every template has an image, and every image a template', () => {
  assert.deepEqual(imageIds, templateIds);
});

for (const id of templateIds)
  test(`the template ${id} compiles to a blueprint without a problem, whatever its parameters`, () => {
    const parameters = parseTemplate(templateText(id)).template?.parameters ?? {};
    const choices = Object.entries(parameters).flatMap(([name, { choices: all }]) =>
      Object.keys(all).map((choice) => ({ [name]: choice })),
    );
    for (const chosen of [{}, ...choices]) {
      const { files } = compileFromLibrary(id, chosen);
      compiled(files['manifest.yml'] ?? '', { ...files });
    }
  });
