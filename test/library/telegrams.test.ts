/** Telegrams that meters send by themselves: what is whole is read, and nothing else. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { after, describe, test } from 'node:test';
import type { ScriptBench } from '../field-module/runtime/script-bench.ts';
import { closeBenches, saidBy, scriptBench } from '../field-module/runtime/script-bench.ts';
import { compiled } from '../capabilities/blueprints/support.ts';
import { until } from '../support/until.ts';
import { books, compileFromLibrary, imagesOf } from './library-files.ts';

after(() => closeBenches());

/** Parts of an image as they are on the wire. */
function partsOf(id: string, name: RegExp): Buffer[] {
  const image = imagesOf(id).find((one) => name.test(one.name)) ?? assert.fail(id);
  return (image.telegrams ?? []).map((part) =>
    'hex' in part
      ? Buffer.from(part.hex.replaceAll(/\s/g, ''), 'hex')
      : Buffer.from(`${part.text.trimEnd().replaceAll('\n', '\r\n')}\r\n`),
  );
}

const [, P1 = Buffer.of()] = partsOf('dsmr/p1', /^DSMR 5/);
const [DSMR_2 = Buffer.of()] = partsOf('dsmr/p1', /^DSMR 2/);
const [SML = Buffer.of()] = partsOf('sml/meter', /doubled/);
const [KERMIT = Buffer.of()] = partsOf('sml/meter', /Kermit/);

/** What a decoder makes of bytes that arrive in pieces of a size: one line per telegram or problem. */
async function decoded(format: 'p1' | 'sml', code: string, bytes: Buffer, piece = 1_000): Promise<string[]> {
  const source = `
    local decoder = (function() ${books.runtime[`${format}.lua`]} end)()
    local all = ('${bytes.toString('hex')}'):gsub('%x%x', function(pair) return string.char(tonumber(pair, 16)) end)
    local kept, lines = '', {}
    for at = 1, #all, ${piece} do
      kept = kept .. all:sub(at, at + ${piece} - 1)
      repeat
        local values, next_at, problem = decoder.next(kept)
        kept = kept:sub(next_at)
        if values then lines[#lines + 1] = tostring(values['${code}']) end
        if problem then lines[#lines + 1] = problem end
      until not values and not problem
    end
    say(table.concat(lines, '|'))`;
  const [[line = '']] = await saidBy(source);
  return line === '' ? [] : line.split('|');
}

const POWER = '1-0:1.7.0';
const p1 = (bytes: Buffer, piece?: number): Promise<string[]> => decoded('p1', POWER, bytes, piece);
const sml = (bytes: Buffer, piece?: number): Promise<string[]> => decoded('sml', '1-0:16.7.0', bytes, piece);

/** One bit at a place is another. */
function flipped(bytes: Buffer, at: number): Buffer {
  const other = Buffer.from(bytes);
  other[at] = (other[at] ?? 0) ^ 1;
  return other;
}

describe('a P1 telegram', () => {
  test('a P1 telegram is read once it is whole, in whatever pieces it comes', async () => {
    for (const piece of [1, 7, 64, 5_000])
      assert.deepEqual(
        await p1(Buffer.concat([P1, P1, DSMR_2]), piece),
        ['244.0', '244.0', '1590.0'],
        String(piece),
      );
    assert.deepEqual(await p1(P1.subarray(0, -1)), []);
  });

  test('a P1 telegram is dropped if a bit of it differs, its checksum is missing, or its end is', async () => {
    const wrong = 'the checksum of a telegram is wrong';
    for (const at of [1, 30, 400, P1.length - 3])
      assert.deepEqual(await p1(Buffer.concat([flipped(P1, at), P1])), [wrong, '244.0'], String(at));
    const bare = Buffer.concat([P1.subarray(0, P1.lastIndexOf('!') + 1), Buffer.from('\r\n')]);
    assert.deepEqual(await p1(Buffer.concat([bare, P1])), [wrong, '244.0']);
    assert.deepEqual(await p1(Buffer.concat([P1.subarray(0, 500), P1])), ['244.0']);
    assert.deepEqual(await p1(Buffer.concat([P1.subarray(500), P1])), [
      'the beginning of a telegram is missing',
      '244.0',
    ]);
  });

  test('a P1 telegram is found between noise', async () => {
    for (const noise of ['\0\xff', '!', '/', '!\r\n', '(((', '1-0:1.7.0(99.000*kW)\r\n'])
      assert.equal((await p1(Buffer.concat([Buffer.from(noise, 'latin1'), P1]))).at(-1), '244.0', noise);
  });
});

describe('an SML telegram', () => {
  test('an SML telegram is read once it is whole, in whatever pieces it comes, with either of two checksums', async () => {
    for (const piece of [1, 7, 64, 5_000])
      assert.deepEqual(await sml(Buffer.concat([SML, SML, KERMIT]), piece), [
        '-2500.5',
        '-2500.5',
        '-2500.5',
      ]);
    assert.deepEqual(await sml(SML.subarray(0, -1)), []);
  });

  test('an SML telegram is dropped if a bit of it differs, or a part of it is missing', async () => {
    for (const at of [20, 150, SML.length - 3, SML.length - 1])
      assert.deepEqual(
        await sml(Buffer.concat([flipped(SML, at), SML])),
        ['the checksum of a telegram is wrong', '-2500.5'],
        String(at),
      );
    assert.deepEqual(await sml(Buffer.concat([SML.subarray(0, 200), SML])), [
      'the end of a telegram is missing',
      '-2500.5',
    ]);
    assert.deepEqual(await sml(Buffer.concat([SML.subarray(200), SML])), ['-2500.5']);
  });

  test('an SML telegram is found between noise', async () => {
    for (const noise of ['1b', '1b1b1b1b', '1b1b1b1b01', '00ff', '1b1b1b1b1a000000'])
      assert.equal((await sml(Buffer.concat([Buffer.from(noise, 'hex'), SML]))).at(-1), '-2500.5', noise);
  });
});

describe('a meter on a serial line', () => {
  /** A device of the template with a silence of a second, and what waits to be read from its port. */
  function onLine(id: string): { bench: ScriptBench; waiting: Buffer[] } {
    const { files } = compileFromLibrary(id);
    const main = (files['lua/main.lua'] ?? '').replace(/stale_ms = \d+/, 'stale_ms = 1000');
    const quick: Record<string, string> = {
      ...files,
      'lua/main.lua': main.replaceAll(/every_ms = \d+/g, 'every_ms = 60'),
    };
    const { script } = compiled(quick['manifest.yml'] ?? '', quick);
    const waiting: Buffer[] = [];
    const bench = scriptBench(script ?? assert.fail(), {
      ports: { p1: '/dev/ttyS99' },
      facts: { telemetry: { conn_alerts: 'alerts' }, configuration: { connection: ['address'] } },
      groups: { connection: { address: 'port://p1' } },
      answer: (call) => {
        if (call.kind !== 'serial' || call.port !== 'p1') return assert.fail(JSON.stringify(call));
        assert.equal(call.operation.do, 'read', 'nothing is written');
        return { kind: 'bytes', bytes: waiting.shift() ?? Buffer.alloc(0) };
      },
    });
    return { bench, waiting };
  }

  test('a meter on a serial line is read without being asked, each telegram once', async () => {
    for (const [id, telegram, power] of [
      ['dsmr/p1', P1, 244],
      ['sml/meter', SML, -2500.5],
    ] as const) {
      const { bench, waiting } = onLine(id);
      const powers = (): unknown[] =>
        bench.telemetry().flatMap(({ total_power }) => (total_power === undefined ? [] : [total_power]));
      waiting.push(telegram.subarray(0, 100), telegram.subarray(100));
      await until(() => powers().length > 0);
      waiting.push(telegram);
      await until(() => powers().length > 1);
      assert.deepEqual(powers(), [power, power]);
      bench.device.close();
    }
  });

  test('a meter on a serial line does not answer once it is silent or sends nothing whole, and answers again', async () => {
    const { bench, waiting } = onLine('dsmr/p1');
    const last = (): Record<string, unknown> => bench.telemetry().at(-1) ?? {};
    waiting.push(P1);
    await until(() => last()['total_power'] === 244);
    assert.deepEqual(last()['conn_alerts'], []);
    waiting.push(flipped(P1, 400));
    await until(() => JSON.stringify(last()['conn_alerts']) === '["communication_failed"]');
    assert.match(
      JSON.stringify(last()['alert_details']),
      /no whole telegram came in \d+ s: the checksum of a telegram is wrong/,
    );
    waiting.push(P1);
    await until(() => last()['total_power'] === 244);
    assert.deepEqual(last()['conn_alerts'], []);
  });
});
