/** Templates as the program tries them: on a real gateway, against images of devices and a device on the loopback. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import type { DeviceImage } from '../../scripts/simulate/device-image.ts';
import { startImageDevice } from '../../scripts/simulate/image-device.ts';
import { RegisterMemory } from '../../scripts/try-template/register-memory.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const SCRIPT = join(PROJECT_ROOT, 'scripts', 'try-template.ts');

const METER = `template: device/1
name: Cellar Meter
maker: Acme
products: [AM 3]
category: power-meters
sources: [manual]
verified: one source
modbus: { transports: [tcp] }
values:
  total_power: { input: 12, as: i32 }
  low: { holding: 3, internal: true }
  high: { holding: 4, internal: true }
  energy_in_lifetime: { sum: [low, high] }
  serial_number: { holding: 20, as: string2, every_s: 300 }
  ac_frequency: { input: 300, scale: 0.1 }
meter: { power: total_power, imported: energy_in_lifetime }
`;

const IMAGE: DeviceImage = {
  name: 'exporting',
  settings: { unit_id: 3 },
  units: { 3: { input: { 12: 'FFFF FB2E' }, holding: { 3: '0001 0002', 20: '4131 4232' } } },
  expect: { total_power: -1234, energy_in_lifetime: 3, serial_number: 'A1B2', ac_frequency: null },
};

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

async function run(args: readonly string[]): Promise<Ended> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [SCRIPT, ...args]);
    return { code: 0, stdout, stderr };
  } catch (error) {
    return error as Ended;
  }
}

/** Cells of the row that begins with the name. */
const rowOf = (stdout: string, name: string): string[] =>
  (stdout.split('\n').find((line) => line.startsWith(`${name} `)) ?? assert.fail(`${name}: ${stdout}`)).split(
    / {2,}/,
  );

describe('npm run try-template', () => {
  test('npm run try-template refuses an invalid command line in a sentence', (t) => {
    const file = join(temporaryFolder(t), 'meter.yml');
    writeFileSync(file, METER);
    for (const [args, sentence] of [
      [[], /^name one template file/],
      [[`${file}.not`], /^.*meter\.yml\.not cannot be read: ENOENT/],
      [[file, '--against', 'tcp://127.0.0.1:1', '--image', file], /^--against or --image, not both/],
      [[file, '--record', 'x.yml'], /^--record needs --against tcp:/],
      [[file, '--image', file], /has no list of images/],
      [[file, '--set', 'unit_id'], /must be NAME=VALUE/],
      [[file, '--set', 'colour=red'], /^colour is no parameter of the template.*address, unit_id/],
      [[file, '--set', 'role=moon'], /^role must be one of grid/],
      [[file, '--run', 'set_limit'], /^--run needs --image FILE/],
      [[file, '--image', file, '--run', 'set_limit'], /^--run set_limit: the template has no commands/],
    ] as const) {
      const { status, stderr } = spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' });
      assert.match(stderr, sentence);
      assert.equal(status, 2);
    }
  });

  test('npm run try-template names every mistake of a template with its line, and counts the values of a good one', async (t) => {
    const file = join(temporaryFolder(t), 'meter.yml');
    writeFileSync(file, METER);
    assert.equal((await run([file])).stdout, 'Cellar Meter: 6 values, no mistakes.\n');
    writeFileSync(file, METER.replace('[low, high]', '[low, hihg]'));
    const compiled = await run([file]);
    assert.equal(compiled.code, 1);
    assert.match(compiled.stdout, /meter\.yml:13: .*hihg/);
    writeFileSync(file, METER.replace('input: 12', 'inputs: 12').replace('maker: Acme\n', ''));
    const shaped = await run([file]);
    assert.match(
      shaped.stdout,
      /maker: is missing\n[^\n]*meter\.yml:9: values\.total_power\.inputs: unknown key/,
    );
  });

  test('npm run try-template shows each value of an image with its words, and differences from the expected values', async (t) => {
    const folder = temporaryFolder(t);
    const [file, image] = [join(folder, 'meter.yml'), join(folder, 'image.yml')];
    writeFileSync(file, METER);
    writeFileSync(
      image,
      JSON.stringify([IMAGE, { ...IMAGE, name: 'wrong', expect: { ...IMAGE.expect, total_power: 5 } }]),
    );
    const { code, stdout } = await run([file, '--image', image]);
    assert.equal(code, 1);
    const [good = '', wrong = ''] = stdout.split('\nwrong\n');
    assert.match(good, /^exporting\n/);
    assert.deepEqual(rowOf(good, 'total_power'), ['total_power', '-1234', 'W', 'input 12', 'FFFF FB2E']);
    assert.deepEqual(rowOf(good, 'low (internal)').slice(-2), ['holding 3', '0001']);
    assert.deepEqual(rowOf(good, 'energy_in_lifetime'), [
      'energy_in_lifetime',
      '3',
      'Wh',
      'sum of low, high',
    ]);
    assert.deepEqual(rowOf(good, 'serial_number').slice(-1), ['4131 4232']);
    assert.equal(rowOf(good, 'ac_frequency')[1], '-');
    assert.deepEqual(rowOf(wrong, 'total_power').at(-1), '5');
    assert.match(wrong, /1 differ from what the image expects/);
  });

  test('npm run try-template runs commands of an image and of the command line, and names missing writes', async (t) => {
    const folder = temporaryFolder(t);
    const [file, image] = [join(folder, 'meter.yml'), join(folder, 'image.yml')];
    writeFileSync(
      file,
      `${METER}commands:
  set_limit:
    name: Set Limit
    arguments: { limit: { name: Limit, unit: A, min: 6, max: 16 } }
    do: [write: { holding: 40, value: $limit, scale: 0.1 }, write: { holding: 42, as: u32, value: 65537 }]
  open: { name: Open, do: [write: { coil: 7, value: 1 }] }
`,
    );
    const commands: NonNullable<DeviceImage['commands']> = [
      { run: 'set_limit', with: { limit: 10 }, writes: { 40: 100, 43: 1 } },
      { run: 'set_limit', with: { limit: 11 }, writes: { 40: 100 } },
      { run: 'set_limit', with: { limit: 17 } },
    ];
    const moment: DeviceImage = { ...IMAGE, commands };
    moment.units = { 3: { ...IMAGE.units?.[3], coil: { 7: 0 } } };
    writeFileSync(image, JSON.stringify([moment]));
    const { code, stdout } = await run([file, '--image', image, '--run', 'open']);
    assert.equal(code, 1);
    assert.deepEqual(rowOf(stdout, 'set_limit limit=10').slice(1), ['holding 40 = 0064']);
    assert.match(stdout, /^ +holding 42 = 0001 0001$/m);
    assert.deepEqual(rowOf(stdout, 'open').slice(1), ['coil 7 = 0001']);
    assert.match(stdout, /^set_limit limit=11: register 40 is 110, not 100$/m);
    assert.match(stdout, /^set_limit limit=17: .*16/m);
    writeFileSync(image, JSON.stringify([{ ...moment, commands: commands.slice(0, 1) }]));
    assert.equal((await run([file, '--image', image])).code, 0);
  });

  test('npm run try-template runs each example of the page on templates, with the image given there', async (t) => {
    const folder = temporaryFolder(t);
    const page = readFileSync(join(PROJECT_ROOT, 'docs/device-template.md'), 'utf8');
    const blocks = [...page.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text = '']) => text);
    assert.equal(blocks.length, 6);
    for (let index = 0; index < blocks.length; index += 2) {
      const [file, image] = [join(folder, `${index}.yml`), join(folder, `${index}-image.yml`)];
      writeFileSync(file, blocks[index] ?? '');
      writeFileSync(image, blocks[index + 1] ?? '');
      const { code, stdout } = await run([file, '--image', image]);
      assert.equal(code, 0, stdout);
    }
  });

  test('npm run try-template names a key and a register type that no image has', async (t) => {
    const folder = temporaryFolder(t);
    const [file, image] = [join(folder, 'meter.yml'), join(folder, 'image.yml')];
    writeFileSync(file, METER);
    for (const [text, sentence] of [
      [
        '- { name: x, register: {} }',
        /an image has no register, did you mean "registers"\?; it may have name,/,
      ],
      [
        '- { name: x, registers: { input: { 1: [int32, 5] } } }',
        /int32 is no type of registers, such as u16/,
      ],
    ] as const) {
      writeFileSync(image, text);
      const { status, stderr } = spawnSync(process.execPath, [SCRIPT, file, '--image', image], {
        encoding: 'utf8',
      });
      assert.match(stderr, sentence);
      assert.equal(status, 2);
    }
  });

  test('npm run try-template records the answers of a device as an image that gives the same values', async (t) => {
    const folder = temporaryFolder(t);
    const [file, record] = [join(folder, 'meter.yml'), join(folder, 'record.yml')];
    writeFileSync(file, METER);
    const device = await startImageDevice(IMAGE, false);
    t.after(() => device.close());
    const address = `tcp://127.0.0.1:${device.port}`;
    const read = await run([
      file,
      '--against',
      address,
      '--set',
      'unit_id=3',
      '--record',
      record,
      '--seconds',
      '10',
    ]);
    assert.equal(read.code, 0, read.stdout + read.stderr);
    assert.deepEqual(rowOf(read.stdout, 'total_power').slice(1, 3), ['-1234', 'W']);
    const [recorded] = parse(readFileSync(record, 'utf8')) as [DeviceImage];
    assert.deepEqual(recorded.units, {
      3: { holding: { 3: '0001 0002', 20: '4131 4232' }, input: { 12: 'FFFF FB2E' } },
    });
    assert.deepEqual(
      [recorded.expect?.['total_power'], recorded.expect?.['energy_in_lifetime'], recorded.settings],
      [-1234, 3, { unit_id: 3 }],
    );
    const again = await run([file, '--image', record]);
    assert.equal(again.code, 0, again.stdout);
  });
});

test('consecutive registers stand in one line of an image, sixteen at most', () => {
  const memory = new RegisterMemory();
  for (const address of [...Array.from({ length: 17 }, (_, index) => 9 + index), 2])
    memory.put(1, 'holding', address, address);
  const lines = memory.toImage()['1']?.['holding'] ?? {};
  assert.deepEqual(Object.keys(lines), ['2', '9', '25']);
  assert.equal(lines[9]?.split(' ').length, 16);
});
