/** Open samples: what comes back of them, and the memory that they take. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Head } from '../../src/telemetry-store/engine/head.ts';
import { OpenPages } from '../../src/telemetry-store/engine/open-pages.ts';
import { encodeBlock } from '../../src/telemetry-store/codec/block.ts';
import { Samples } from '../../src/telemetry-store/codec/samples.ts';
import { kindOf, type StoredSample, type StoredValue } from '../../src/telemetry-store/codec/series.ts';
import type { TelemetryType } from '../../src/protocol/telemetry.ts';

const TYPES: readonly TelemetryType[] = ['float', 'integer', 'boolean', 'string'];
const CHUNK_SAMPLES = 70;
const START_S = 1_700_000_000;

/** Ids from 0 on; the type of a series follows from its id. */
function openHead(chunkSamples: number, pages = new OpenPages()): Head {
  const typeOf = (id: number): TelemetryType => TYPES[id % TYPES.length] as TelemetryType;
  const options = {
    lookUp: (id: number) => ({ id, deviceId: 'device', attribute: `a${id}`, type: typeOf(id) }),
    onDefine: () => undefined,
    onDrop: () => undefined,
    chunkSamples,
  };
  return new Head(options, { pages, chunkSamples, scratch: new Samples('number', chunkSamples) });
}

/** As a sealing does it: what a series holds is in blocks from then on. */
function seal(head: Head): void {
  for (const [id, series] of head.series) {
    const samples = new Samples(series.kind);
    series.readInto(samples, 0, Number.POSITIVE_INFINITY);
    samples.normalize();
    const { firstS, lastS, count } = samples;
    series.replaceBy([{ bytes: encodeBlock(id, samples, 0, count), firstS, lastS }]);
  }
}

function put(head: Head, id: number, timestampS: number, number: number): StoredValue {
  const type = TYPES[id % TYPES.length];
  if (type === 'boolean') head.number(id, timestampS, number % 2);
  else if (type === 'string') head.other(id, timestampS, `text ${number}`);
  else if (type === 'integer' && number % 50 === 7) head.other(id, timestampS, 2n ** 60n + BigInt(number));
  else head.number(id, timestampS, number);
  if (type === 'boolean') return number % 2 === 1;
  if (type === 'string') return `text ${number}`;
  return type === 'integer' && number % 50 === 7 ? 2n ** 60n + BigInt(number) : number;
}

/** All samples of a series in order of time, the one of an instant that came last. */
function contentOf(head: Head, id: number): StoredSample[] {
  const into = new Samples(kindOf(TYPES[id % TYPES.length] as TelemetryType));
  head.series.get(id)?.readInto(into, 0, Number.POSITIVE_INFINITY);
  into.normalize();
  return Array.from({ length: into.count }, (_, at) => ({
    timestampS: into.times[at] as number,
    value: into.valueAt(at),
  }));
}

class Model {
  readonly values = new Map<number, StoredValue>();
  latest: StoredSample | undefined;

  put(timestampS: number, value: StoredValue): void {
    this.values.set(timestampS, value);
    if (this.latest && timestampS < this.latest.timestampS) return;
    this.latest = { timestampS, value };
  }

  content(): StoredSample[] {
    return [...this.values].sort(([a], [b]) => a - b).map(([timestampS, value]) => ({ timestampS, value }));
  }
}

const step = fc.record({
  id: fc.nat(7),
  samples: fc.integer({ min: 1, max: 90 }),
  jumpS: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: -200, max: 200 })),
  after: fc.constantFrom('', '', '', '', 'supersede', 'seal'),
});

test('samples of all kinds come back, in any order, while pages go from series to series and head to head', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let head = openHead(CHUNK_SAMPLES);
      let models = new Map<number, Model>();
      let nowS = START_S;
      let number = 0;
      for (const { id, samples, jumpS, after } of steps) {
        const model = models.get(id) ?? new Model();
        models.set(id, model);
        nowS += jumpS;
        for (let left = samples; left > 0; left--, nowS++) model.put(nowS, put(head, id, nowS, number++));
        if (after === 'supersede') {
          head.supersede(id);
          model.latest = undefined;
        }
        for (const [known, { latest }] of models) {
          const series = head.series.get(known);
          assert.deepEqual(contentOf(head, known), models.get(known)?.content());
          assert.deepEqual(series?.latestAfter(undefined), latest);
          const first = models.get(known)?.content()[0]?.timestampS;
          assert.ok((series?.nextFrom(0) ?? 0) <= (first ?? 0));
        }
        if (after !== 'seal') continue;
        const next = head.successor();
        // What comes while the old one is sealed has pages of its own.
        const early = new Model();
        early.put(nowS, put(next, id, nowS, number++));
        assert.deepEqual(contentOf(head, id), model.content());
        seal(head);
        for (const [known, { latest }] of models) {
          assert.deepEqual(contentOf(head, known), models.get(known)?.content());
          assert.deepEqual(head.series.get(known)?.latestAfter(undefined), latest);
        }
        assert.deepEqual(contentOf(next, id), early.content());
        next.trim();
        head = next;
        models = new Map([[id, early]]);
      }
    }),
    { numRuns: 150 },
  );
});

test('a frozen head stays the same when its pages are reused', () => {
  const head = openHead(CHUNK_SAMPLES);
  for (let at = 0; at < 100; at++) head.number(0, START_S + at, at);
  const before = contentOf(head, 0);
  const frozen = head.series.get(0)?.frozen();
  const next = head.successor();
  seal(head);
  for (let at = 0; at < 1_000; at++) next.number(4, START_S + at, -at);
  const into = new Samples('number');
  frozen?.readInto(into, 0, Number.POSITIVE_INFINITY);
  assert.deepEqual(
    [...into.numbers.subarray(0, into.count)],
    before.map(({ value }) => value),
  );
});

const SERIES = 2_000;
const SAMPLES = 200;

/** Numbers of thousands of series, second by second. */
function fill(head: Head, samples = SAMPLES): void {
  for (let at = 0; at < samples; at++)
    for (let id = 0; id < SERIES; id++) head.number(id * TYPES.length, START_S + at, at);
}

test('thousands of series take little more than their samples, and after a sealing the same memory', () => {
  const pages = new OpenPages();
  let head = openHead(256, pages);
  fill(head);
  const { sizeBytes } = pages;
  assert.ok(sizeBytes > 0 && sizeBytes < SERIES * SAMPLES * 12 * 1.2, `${sizeBytes} bytes`);
  for (let round = 0; round < 3; round++) {
    seal(head);
    head = head.successor();
    head.trim();
    fill(head);
    assert.equal(pages.sizeBytes, sizeBytes);
  }
  seal(head);
  head = head.successor();
  head.trim();
  fill(head, 1);
  seal(head);
  // What was not needed between two sealings is given up.
  head.trim();
  assert.ok(pages.sizeBytes < sizeBytes / 4, `${pages.sizeBytes} bytes`);
});

test('samples that come during a sealing use the memory that it has freed', () => {
  const pages = new OpenPages();
  const head = openHead(256, pages);
  fill(head);
  const { sizeBytes } = pages;
  const next = head.successor();
  seal(head);
  fill(next);
  assert.equal(pages.sizeBytes, sizeBytes);
  assert.equal(contentOf(head, 0).length, SAMPLES);
});

test('a series that is dropped gives its memory back', () => {
  const pages = new OpenPages();
  const head = openHead(256, pages);
  fill(head);
  const { sizeBytes } = pages;
  for (let round = 0; round < 3; round++) {
    for (const id of head.series.keys()) head.drop(id);
    fill(head);
  }
  assert.equal(pages.sizeBytes, sizeBytes);
});
