import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { until } from '../../support/until.ts';
import {
  acknowledged,
  attribute,
  manifestOf,
  startTelemetry,
  type TestTelemetry,
  withoutPrototype,
} from './support.ts';

const NOW_S = Date.UTC(2026, 2, 1, 8) / 1_000;
const MANIFEST = manifestOf({
  voltage: attribute('float'),
  count: attribute('integer'),
  on: attribute('boolean'),
  mode: attribute('string'),
  tags: attribute('array_of_strings'),
  detail: attribute('json'),
});
const EVERYTHING = {
  from: NOW_S - 100,
  to: NOW_S + 100,
  granularity: '1s',
  aggregation: 'last',
  telemetry: [{ device: 'meter', attribute: [{}, 'alerts'] }],
};

async function* chunked(text: string | Buffer, chunkBytes: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += chunkBytes) yield bytes.subarray(from, from + chunkBytes);
}

async function imported(started: TestTelemetry, csv: string | Buffer, chunkBytes = 7): Promise<object> {
  const { promise, resolve } = Promise.withResolvers<object>();
  const done = started.telemetry.importCsv(chunked(csv, chunkBytes)).then(resolve);
  await acknowledged(started.clock, done);
  return promise;
}

describe('an import', () => {
  const refused: [string, string | Buffer, RegExp][] = [
    ['without anything', '', /Line 1 is missing/],
    ['without a head', '1,2\n', /must begin with ts/],
    ['with a column of no device', 'ts,telemetry=voltage\n', /without telemetry and device/],
    ['of an attribute that is not declared', 'ts,telemetry=x device=meter\n', /no telemetry "x"/],
    ['with a short row', 'ts,telemetry=voltage device=meter\n1\n', /Line 2 has 1 fields instead of 2/],
    [
      'with a line break inside quotation marks, of which nothing is stored',
      'ts,telemetry=mode device=meter\n1,"a\nb"\n',
      /Line 2 has a field with a quotation mark that does not end/,
    ],
    ['with text behind a quoted field', 'ts,telemetry=mode device=meter\n1,"a"b\n', /Line 2 has a field/],
    ['with a row of no time', 'ts,telemetry=voltage device=meter\nx,1\n', /Unix seconds/],
    [
      'with a row after 2100',
      'ts,telemetry=voltage device=meter\n4294967296,1\n',
      /Unix seconds before 2100/,
    ],
    ['that is not UTF-8', Buffer.from([0x74, 0x73, 0xff, 0x0a]), /not UTF-8/],
    ['that ends within a character', Buffer.from([0x74, 0x73, 0xe2, 0x82]), /not UTF-8/],
    [
      'with a decimal comma in a field with commas around it',
      'ts,telemetry=voltage device=meter\n1,"48,1"\n',
      /"48,1". Write decimals with a point/,
    ],
    [
      'with marks between thousands',
      'ts;telemetry=voltage device=meter\n1;1.234,5\n',
      /no mark between thousands/,
    ],
    [
      'with a local date',
      'ts;telemetry=voltage device=meter\n01.03.2026 08:00;1\n',
      /"01.03.2026 08:00", which is not .* spreadsheet/,
    ],
    ['with a time that lost its digits', 'ts;telemetry=voltage device=meter\n1,77E+09;1\n', /"1,77E\+09"/],
    ['with text for a number', 'ts,telemetry=voltage device=meter\n1,abc\n', /"abc" for a float/],
  ];
  for (const [title, csv, message] of refused)
    test(`an import is refused ${title}`, async (t) => {
      const started = await startTelemetry(t);
      const meter = started.devices.add('meter', MANIFEST);
      await assert.rejects(imported(started, csv), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'invalid_body');
        assert.match(error.message, message);
        return true;
      });
      for (const name of ['voltage', 'mode']) assert.equal(started.telemetry.latest(meter, name), undefined);
    });

  test('an import restores on another box exactly what was exported, twice the same', async (t) => {
    const from = await startTelemetry(t);
    const meter = from.devices.add('meter', MANIFEST);
    await from.send(meter, {
      timestamp: NOW_S - 9,
      voltage: 0.1,
      count: 9_007_199_254_740_993n,
      alerts: ['a,b'],
    });
    await from.send(meter, { timestamp: NOW_S - 8, on: true, mode: 'say "hi", ä', tags: ['x', '"'] });
    await from.send(meter, { timestamp: NOW_S - 7, on: false, detail: { a: [1.5, null] }, voltage: -1e-7 });
    const csv = await from.query(EVERYTHING);
    assert.equal(csv.trimEnd().split('\n').length, 4);

    const to = await startTelemetry(t);
    const same = to.devices.add('meter', MANIFEST);
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(await imported(to, csv), { rows: 3, values: 9, rejected: 0 });
      assert.equal(await to.query(EVERYTHING), csv);
    }
    await to.restart();
    assert.equal(await to.query(EVERYTHING), csv);
    assert.equal(to.telemetry.latest(same, 'voltage')?.timestampS, NOW_S - 7);
    assert.equal(to.received.length, 0, 'history is no news');
  });

  const HEADS = [
    'ts',
    'telemetry=voltage device=meter',
    'telemetry=on device=meter',
    'telemetry=mode device=meter',
  ];
  const spreadsheets: [string, string | Buffer][] = [
    ['with semicolons and decimal commas', `${HEADS.join(';')}\r\n${NOW_S};48,5;WAHR;"a;b"\r\n`],
    ['with a line that names the separator', `sep=;\r\n${HEADS.join(';')}\r\n${NOW_S};48,5;TRUE;"a;b"\r\n`],
    ['with times as floats', `${HEADS.join(',')}\n${NOW_S}.0,48.5,true,a;b\n`],
    ['with tabs', `${HEADS.join('\t')}\n${NOW_S}\t48,5\ttrue\ta;b\n`],
    [
      'with all fields quoted',
      `${HEADS.map((head) => `"${head}"`).join(',')}\n"${NOW_S}","48.5","true","a;b"\n`,
    ],
    ['with a byte order mark', `\ufeff${HEADS.join(',')}\n${NOW_S},48.5,TRUE,a;b\n`],
    ['in UTF-16', Buffer.from(`\ufeff${HEADS.join('\t')}\r\n${NOW_S}\t48,5\tTRUE\ta;b\r\n`, 'utf16le')],
    [
      'in UTF-16 of the other order',
      Buffer.from(`\ufeff${HEADS.join(',')}\n${NOW_S},48.5,true,a;b\n`, 'utf16le').swap16(),
    ],
    [
      'with empty columns and rows at the end',
      `${HEADS.join(';')};;\n${NOW_S};48,5;true;a\\b;;\n;;;;;\n\n`.replace('a\\b', '"a;b"'),
    ],
    ['with times as text', `${HEADS.join(',')}\n2026-03-01 08:00:00,48.5,true,a;b\n`],
  ];
  for (const [title, csv] of spreadsheets)
    test(`an import takes what a spreadsheet writes: ${title}`, async (t) => {
      for (const chunkBytes of [1, 7, 65_536]) {
        const started = await startTelemetry(t);
        const meter = started.devices.add('meter', MANIFEST);
        assert.deepEqual(await imported(started, csv, chunkBytes), { rows: 1, values: 3, rejected: 0 });
        const values = ['voltage', 'on', 'mode'].map((name) => started.telemetry.latest(meter, name)?.value);
        assert.deepEqual(values, [48.5, true, 'a;b']);
        assert.equal(started.telemetry.latest(meter, 'voltage')?.timestampS, NOW_S);
      }
    });

  test('an import takes samples of any age and counts those that do not fit', async (t) => {
    const started = await startTelemetry(t);
    started.devices.add('meter', MANIFEST);
    const csv = `ts,telemetry=count device=meter,telemetry=on device=meter\n1600000000,5,true\n1600000001,1.5,maybe\n`;
    assert.deepEqual(await imported(started, csv), { rows: 2, values: 2, rejected: 2 });
    const back = await started.query({ ...EVERYTHING, from: 1_600_000_000, to: 1_600_000_002 });
    assert.equal(back.split('\n')[1], '1600000000,,5,,,true,,');
  });

  test('an import of any length leaves messages of devices their way to the disk', async (t) => {
    const { devices, clock, telemetry } = await startTelemetry(t);
    const meter = devices.add('meter', MANIFEST);
    const ROWS_PER_CHUNK = 1_000;
    const CHUNKS = 200;
    const SENT_EVERY = 20;
    const waitedChunks: number[] = [];
    const live: Promise<void>[] = [];
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('ts,telemetry=voltage device=meter\n');
      for (let chunk = 0; chunk < CHUNKS; chunk++) {
        if (chunk % SENT_EVERY === 0) {
          const body = withoutPrototype({ count: chunk });
          const sent = Promise.resolve(
            telemetry.handle({ device: meter, body, receivedAtMs: clock.wallMs() }),
          );
          live.push(sent.then(() => void waitedChunks.push(read - chunk)));
        }
        read = chunk;
        const from = NOW_S - (chunk + 1) * ROWS_PER_CHUNK;
        const rows = Array.from({ length: ROWS_PER_CHUNK }, (_, row) => `${from + row},${Math.sin(row)}\n`);
        yield Buffer.from(rows.join(''));
        await clock.advance(1);
      }
    }
    let read = 0;
    await acknowledged(
      clock,
      telemetry.importCsv(chunks()).then(() => undefined),
    );
    await Promise.all(live);
    assert.equal(waitedChunks.length, CHUNKS / SENT_EVERY);
    // One group that was on its way, and one that came with the message.
    assert.ok(
      Math.max(...waitedChunks) <= 60,
      `chunks read before acknowledgements: ${waitedChunks.join(' ')}`,
    );
  });

  test('an import waits for a store that is behind, and messages of devices are acknowledged meanwhile', async (t) => {
    const entry = join(import.meta.dirname, '../../telemetry-store/silent-thread.ts');
    const { devices, send, clock, telemetry } = await startTelemetry(t, {
      entry,
      limits: { storeBacklogBytes: 600_000 },
    });
    const meter = devices.add('meter', MANIFEST);
    let read = 0;
    async function* rows(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('ts,telemetry=voltage device=meter\n');
      for (; read < 200_000; read++) yield Buffer.from(`${NOW_S - read},${Math.sin(read)}\n`);
    }
    const ended = assert.rejects(telemetry.importCsv(rows()), { code: 'unavailable' });
    let before = -1;
    await until(async () => {
      const isStill = read > 0 && read === before;
      before = read;
      await clock.advance(100);
      return isStill;
    });
    for (let count = 0; count < 3; count++) await send(meter, { count });
    await telemetry.stop();
    await ended;
    assert.ok(read < 100_000, `${read} rows were read`);
  });

  test('an import fails, and nothing else, while the disk takes nothing and the buffers are full', async (t) => {
    const started = await startTelemetry(t, { commits: { bufferedBytes: 1_000 } });
    started.devices.add('meter', MANIFEST);
    const rows = Array.from({ length: 20_000 }, (_, row) => `${NOW_S - row},${Math.sin(row)}\n`);
    const csv = `ts,telemetry=voltage device=meter\n${rows.join('')}`;
    await assert.rejects(imported(started, csv, 65_536), /the buffer is full/);
  });
});
