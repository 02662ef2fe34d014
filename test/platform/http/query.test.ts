import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { parseQuery } from '../../../src/platform/http/parse.ts';
import { query } from '../../../src/platform/http/index.ts';
import { serve } from './support.ts';

/** The value a parameter `p` gets from a query string; the messages of its faults. */
function read(schema: v.GenericSchema, text: string): unknown {
  try {
    return parseQuery(v.object({ p: schema }), text).p;
  } catch (error) {
    return (error as { problems?: { message: string }[] }).problems?.map(({ message }) => message);
  }
}

describe('a query', () => {
  test('a query is 400 with faults and lists them, each with its parameter', async (t) => {
    const { ask } = await serve(t);
    const answer = await ask('GET', '/v3/things?limit=-1&order=sideways&is_new=perhaps&kind=a');
    assert.equal(answer.status, 400);
    assert.deepEqual(answer.json, {
      errors: [
        ['limit', 'must be a whole number, 0 or more'],
        ['order', 'must be one of: ASC, DESC'],
        ['is_new', 'must be true or false'],
      ].map(([parameter, text]) => ({
        code: 'invalid_query',
        message: `Query parameter "${parameter}" ${text}.`,
        details: { parameter },
      })),
    });
  });

  test('a query lets unknown parameters be, and odd spellings of known ones', async (t) => {
    const { ask } = await serve(t);
    for (const text of [
      'name=undefined',
      'Limit=x',
      'devices[a]=b',
      '=',
      '&&',
      '%zz=%ff',
      '__proto__=1',
      'constructor=1',
    ])
      assert.equal((await ask('GET', `/v3/things?${text}`)).status, 200, text);
  });

  test('a query counts an empty parameter as absent, and takes the first of several for a single value', () => {
    for (const text of ['', 'p=', 'p', 'p=&p=']) assert.equal(read(query.offset(), text), 0, text);
    assert.equal(read(query.offset(), 'p=&p=3&p=4'), 3);
    assert.equal(read(query.text(), 'p=a%20b&p=c'), 'a b');
    assert.equal(read(query.text(), 'p=a+b'), 'a b');
  });

  test('a query joins all values of a list, split at commas, without blanks', () => {
    assert.deepEqual(read(query.list(), 'p=a,b&p=&p=%20c%20,,d'), ['a', 'b', 'c', 'd']);
    assert.deepEqual(read(query.list(), ''), []);
    assert.equal(read(query.optionalList(), 'p=,'), undefined);
    assert.deepEqual(read(query.optionalList(), 'p=x'), ['x']);
  });
});

describe('a limit or offset', () => {
  test('a limit or offset is refused when it is no whole number', () => {
    for (const text of ['-1', '1.5', 'x', '1e3', '0x10', '%201']) {
      const fault = 'Query parameter "p" must be a whole number';
      for (const block of [query.limit(5, 10), query.offset()])
        assert.deepEqual(read(block, `p=${text}`), [`${fault}, 0 or more.`], text);
    }
    assert.deepEqual(read(query.limit(5, 50, true), 'p=51'), [
      'Query parameter "p" must be a whole number from 0 to 50.',
    ]);
  });

  test('a limit or offset above the largest is lowered to it, and 0 is 0', () => {
    for (const text of ['11', '9007199254740993', '9'.repeat(400)])
      assert.equal(read(query.limit(5, 10), `p=${text}`), 10, text);
    assert.equal(read(query.limit(5, 10), 'p=0'), 0);
    assert.equal(read(query.limit(5, 10), ''), 5);
    assert.equal(read(query.limit(5, 50, true), 'p=50'), 50);
    for (const text of ['999999999999999', '9223372036854775807', '9'.repeat(400)])
      assert.equal(read(query.offset(), `p=${text}`), 999_999_999_999_999, text);
  });
});

describe('names, flags and times', () => {
  test('names, flags and times are refused when they are not listed', () => {
    assert.deepEqual(read(query.choices(['site', 'manifest']), 'p=site,other'), [
      'Query parameter "p" has unknown "other", must be of: site, manifest.',
    ]);
    assert.deepEqual(read(query.flag(false), 'p=yes'), ['Query parameter "p" must be true or false.']);
    assert.deepEqual(read(query.flag(false), 'p=constructor'), [
      'Query parameter "p" must be true or false.',
    ]);
    assert.deepEqual(read(query.instant(), 'p=today'), [
      'Query parameter "p" must be an RFC 3339 timestamp such as 2026-03-01T08:00:00Z.',
    ]);
    for (const text of ['-1s', '2y', '1 s'])
      assert.deepEqual(read(query.durationMs(1, 31_536_000_000), `p=${text}`), [
        'Query parameter "p" must be a duration such as 30s, 1.5m or 2h45m, at most 1y.',
      ]);
  });

  test('names, flags and times are taken in any case, and come out as listed', () => {
    assert.equal(read(query.choice(['ASC', 'DESC'], 'ASC'), 'p=desc'), 'DESC');
    assert.equal(read(query.choice(['ASC', 'DESC'], 'ASC'), ''), 'ASC');
    assert.equal(read(query.optionalChoice(['ASC']), ''), undefined);
    assert.deepEqual(read(query.choices(['site', 'manifest']), 'p=Manifest,site,SITE&p='), [
      'manifest',
      'site',
    ]);
    for (const [text, value] of [
      ['TRUE', true],
      ['1', true],
      ['False', false],
      ['0', false],
      ['', true],
    ] as const)
      assert.equal(read(query.flag(true), `p=${text}`), value, text);
    assert.equal(read(query.instant(), 'p=2026-03-01T09:00:00%2B01:00'), Date.UTC(2026, 2, 1, 8));
    assert.equal(read(query.instant(), 'p=2026-03-01+08:00:00'), Date.UTC(2026, 2, 1, 8));
    assert.equal(read(query.instant(), 'p=2026-03-01T09:00:00+01:00'), Date.UTC(2026, 2, 1, 8));
    assert.equal(read(query.durationMs(1, 31_536_000_000), 'p=1y'), 31_536_000_000);
    assert.equal(read(query.durationMs(30_000, 31_536_000_000), ''), 30_000);
  });
});
