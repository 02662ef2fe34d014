/** Text in the CSV answer: for readers of lines, and so that it can be read back exactly. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { csvField } from '../../../src/telemetry-store/query/csv-rows.ts';
import { CHARACTER } from '../../support/characters.ts';
import { acknowledged, attribute, manifestOf, startTelemetry, type TestTelemetry } from './support.ts';

const NOW_S = Date.UTC(2026, 2, 1, 8) / 1_000;
const MANIFEST = manifestOf({
  mode: attribute('string'),
  tags: attribute('array_of_strings'),
  detail: attribute('json'),
  count: attribute('integer'),
});
const EXACT = {
  from: NOW_S - 100,
  to: NOW_S + 100,
  granularity: '1s',
  aggregation: 'last',
  text_format: 'json',
  telemetry: [{ device: 'meter', attribute: [{}, 'alerts'] }],
};
/** What Python's `splitlines`, and so its readers of CSV, take for the end of a line. */
// oxlint-disable-next-line no-control-regex
const LINE_END = /[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;
const TEXTS = [
  '',
  ' ',
  'a,b',
  '"',
  'null',
  '""',
  'two\nlines',
  '\u2028\u2029\x85\v\f\x1c\x1d\x1e\r\n',
  '\\u2028',
  'ä€😀',
];

async function* whole(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function imported(started: TestTelemetry, csv: string): Promise<object> {
  const { promise, resolve } = Promise.withResolvers<object>();
  await acknowledged(started.clock, started.telemetry.importCsv(whole(csv)).then(resolve));
  return promise;
}

test('a field of any text is one line', () => {
  fc.assert(fc.property(fc.string({ unit: CHARACTER }), (text) => !LINE_END.test(csvField(text))));
  for (const text of TEXTS) assert.ok(!LINE_END.test(csvField(text)), JSON.stringify(text));
  assert.equal(csvField('a\u2028b\r\nc'), '"a b c"');
});

describe('an answer with text_format json', () => {
  test('an answer with text_format json stays one record a line, and gives another box every text as it was, empty ones too', async (t) => {
    const from = await startTelemetry(t);
    const meter = from.devices.add('meter', MANIFEST);
    for (const [index, text] of TEXTS.entries())
      await from.send(meter, {
        timestamp: NOW_S - 50 + index,
        mode: text,
        tags: [text, 'x'],
        detail: { [text]: text },
        alerts: [text],
      });
    const csv = await from.query(EXACT);
    assert.equal(csv.split(LINE_END).length, TEXTS.length + 2);
    const to = await startTelemetry(t);
    const same = to.devices.add('meter', MANIFEST);
    assert.deepEqual(await imported(to, csv), { rows: TEXTS.length, values: 4 * TEXTS.length, rejected: 0 });
    assert.equal(await to.query(EXACT), csv);
    assert.equal(to.telemetry.latest(same, 'mode')?.value, TEXTS.at(-1));
  });

  test('text_format json distinguishes empty text from no value, which the usual form does not', async (t) => {
    const { devices, send, query } = await startTelemetry(t);
    await send(devices.add('meter', MANIFEST), { timestamp: NOW_S, mode: '', count: 1 });
    const ask = { ...EXACT, telemetry: [{ device: 'meter', attribute: ['mode', 'count'] }] };
    const rows = async (format: string): Promise<string[]> =>
      (await query({ ...ask, text_format: format })).trimEnd().split('\n');
    const [head = '', row] = await rows('json');
    const columns = head.split(',').slice(1);
    const isExact = (column: string): boolean => column.endsWith(' text_format=json');
    assert.deepEqual(
      columns.map((column) => [/telemetry=(\w+)/.exec(column)?.[1], isExact(column)]),
      [
        ['count', false],
        ['mode', true],
      ],
      'the head says which columns are so',
    );
    assert.equal(row, `${NOW_S},1,""""""`);
    assert.equal((await rows('plain'))[1], `${NOW_S},1,`);
  });

  test('text_format json refuses an import whose cell is no JSON text', async (t) => {
    const started = await startTelemetry(t);
    started.devices.add('meter', MANIFEST);
    for (const cell of ['a', '5', '"""a"', '[]'])
      await assert.rejects(
        started.telemetry.importCsv(whole(`ts,telemetry=mode device=meter text_format=json\n1,${cell}\n`)),
        /JSON text/,
        cell,
      );
  });
});
