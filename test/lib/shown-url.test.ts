import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError } from '../../src/lib/errors.ts';
import { changedUrl, hiddenParts, shownUrl } from '../../src/lib/shown-url.ts';

const SECRET = 'aVerySecretOne';

describe('an address that is shown', () => {
  const hidden = [
    `http://db.example:8086/write?db=telemetry&u=gateway&p=${SECRET}`,
    `https://db.example/write?token=${SECRET}&db=telemetry`,
    `https://db.example/write?API-Key=${SECRET}==`,
    `https://db.example/write?${SECRET}`,
    `https://db.example/write?bucket=b&sig=${SECRET}?${SECRET}`,
    `https://db.example/write?db=x#${SECRET}`,
    `https://db.example/write;token=${SECRET};v=1?db=x`,
    `https://db.example/key=${SECRET}/write`,
    `https://db.example/${SECRET}OfLettersAlone/write`,
    `https://db.example/hooks/a81bc81bdead4e5dabff90865d1e13b1/write`,
    'https://db.example/hooks/a81bc81bdead4e5d/write',
    'https://db.example/averysecretoneofletters/write',
    'https://db.example/bot4711:a81bc81b-dead-4e5d/write',
    'https://db.example/YTgxYmM4MWJkZWFkNGU1ZA==/a81bc81b0x9Y',
    `https://db.example/write?db=x;token=${SECRET}&u=gateway`,
    `https://db.example/write?db=telemetry&u=gateway;p=${SECRET}`,
  ];
  for (const url of hidden)
    test(`a shown address hides what may be a secret in ${url}`, () => {
      const shown = shownUrl(url);
      assert.doesNotMatch(shown, /aVerySecretOne|averysecretone|a81bc81b|YTgxYmM4/);
      assert.match(shown, /db\.example/);
    });

  const plain = [
    'http://metrics.example:8428/write',
    'http://metrics.example:8086/api/v2/write?org=home&bucket=energy&precision=ms',
    'http://metrics.example:8086/write?db=telemetry&rp=autogen',
    'http://metrics.example:8086/victoriametrics2/write?db=telemetry;rp=autogen',
    'http://metrics.example:8086/4711/site/202611291200/plant-nord-42',
    'https://[2001:db8::1]:8086/insert/0/influx/write?db=x&u=gateway',
    'mqtts://broker.example:8883',
    'https://ntfy.sh',
  ];
  for (const url of plain) test(`stays as it is without one: ${url}`, () => assert.equal(shownUrl(url), url));

  test('a shown address names its hidden parts for texts', () => {
    assert.deepEqual(hiddenParts(`https://db.example/write?db=x&p=${SECRET}`), [SECRET]);
    assert.deepEqual(hiddenParts(`https://db.example/write#${SECRET}`), [SECRET]);
  });

  test('a shown address restores what was hidden when it is sent back, and is refused when it was changed', () => {
    const before = `https://db.example/write?db=x&p=${SECRET}`;
    assert.equal(changedUrl(before, 'https://db.example/write?db=x&p=***', 'influxdb.url'), before);
    assert.equal(
      changedUrl(before, 'https://db.example/write?db=y', 'influxdb.url'),
      'https://db.example/write?db=y',
    );
    const inPath = `https://db.example/write;token=${SECRET};v=1`;
    assert.equal(changedUrl(inPath, shownUrl(inPath), 'influxdb.url'), inPath);
    for (const [known, given] of [
      [undefined, shownUrl(inPath)],
      [before, 'https://evil.example/write?db=x&p=***'],
      [undefined, 'https://db.example/write?db=x&p=***'],
    ] as const)
      assert.throws(
        () => changedUrl(known, given, 'influxdb.url'),
        (error) => error instanceof GatewayError && error.code === 'invalid_body',
      );
  });
});
