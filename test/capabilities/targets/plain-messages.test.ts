import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { linesOf } from '../../../src/capabilities/targets/influxdb/line-protocol.ts';
import type { LabelledSamples } from '../../../src/capabilities/targets/model.ts';
import { plainMessages, unknownNames } from '../../../src/capabilities/targets/mqtt/plain-messages.ts';

function samplesOf(more: Partial<LabelledSamples> & { values: number[] }): LabelledSamples {
  const { values, ...rest } = more;
  return {
    deviceId: 'id',
    attribute: 'power',
    type: 'float',
    times: Uint32Array.from(values, (_, index) => 10 + index),
    numbers: Float64Array.from(values),
    integers: undefined,
    texts: [],
    labels: { site: 'My site', device: 'meter/1', blueprint: 'Meter', profile: undefined },
    ...rest,
  };
}

const POWER = samplesOf({ values: [1.5, 2] });
const MODE = samplesOf({ attribute: 'mode', type: 'string', values: [1], texts: ['off', 'say "on"'] });
const ON = samplesOf({ attribute: 'on', type: 'boolean', values: [1] });
const COUNT = samplesOf({
  attribute: 'count',
  type: 'integer',
  values: [2 ** 60],
  integers: BigInt64Array.of(1_152_921_504_606_846_977n),
});

describe('messages by templates', () => {
  test('messages by templates are one for each device and second, with all its values', () => {
    const messages = [
      ...plainMessages(
        { topic: '{site}/{device}', payload: '{"at":{timestamp},"v":{values}}', isRetained: false },
        [POWER, MODE, ON, COUNT],
      ),
    ];
    assert.deepEqual(
      messages.map(({ topic, payload, samples }) => [topic, payload, samples]),
      [
        [
          'My site/meter_1',
          String.raw`{"at":10,"v":{"power":1.5,"mode":"say \"on\"","on":true,"count":1152921504606846977}}`,
          4,
        ],
        ['My site/meter_1', '{"at":11,"v":{"power":2}}', 1],
      ],
    );
  });

  test('messages by templates are one for each attribute where the topic names it', () => {
    const messages = [
      ...plainMessages({ topic: 'a/{attribute}', payload: '{value}', isRetained: true }, [POWER]),
    ];
    assert.deepEqual(messages, [
      { topic: 'a/power', payload: '1.5', isRetained: true, samples: 1 },
      { topic: 'a/power', payload: '2', isRetained: true, samples: 1 },
    ]);
  });

  test('templates of messages know few names', () =>
    assert.deepEqual(unknownNames('{site}/{room}/{"a":{value}}'), ['room']));
});

describe('lines', () => {
  test('lines are shared by values of one device and the same seconds, and texts are quoted', () => {
    const tags = String.raw`telemetry,blueprint=Meter,device=meter/1,site=My\ site`;
    assert.deepEqual(
      [...linesOf('telemetry', [MODE, ON, COUNT, POWER])],
      [
        { text: `${tags} mode="say \\"on\\"",on=true,count=1152921504606846977 10\n`, samples: 3 },
        { text: `${tags} power=1.5 10\n`, samples: 1 },
        { text: `${tags} power=2 11\n`, samples: 1 },
      ],
    );
  });

  test('lines have no backslash that engines read differently, and no line break within a text', () => {
    const named = (site: string): LabelledSamples => ({ ...POWER, labels: { ...POWER.labels, site } });
    const tagsOf = (site: string): string | undefined =>
      [...linesOf('a\\', [named(site)])][0]?.text.split(' power=')[0];
    const before = 'a,blueprint=Meter,device=meter/1';
    assert.equal(tagsOf('x\\\\'), `${before},site=x`);
    assert.equal(tagsOf('a\\ b\\,c\\=d'), String.raw`${before},site=a\ b\,c\=d`);
    assert.equal(tagsOf(String.raw`C:\plant`), String.raw`${before},site=C:\plant`);
    assert.equal(tagsOf('\\'), before);
    const broken = { ...MODE, texts: ['', 'a\r\nb\nc'] };
    assert.match([...linesOf('telemetry', [broken])][0]?.text ?? '', /mode="a\\\\nb\\\\nc" 10\n$/);
  });
});
