import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  coverageOf,
  outcomeReport,
  outcomesOf,
  report,
  type TracedLine,
} from '../../../../scripts/checks/coverage/coverage.ts';

const line = (fields: Partial<TracedLine>): TracedLine => ({
  test: 'a test',
  method: 'GET',
  path: '/v3/site',
  headers: {},
  body: undefined,
  status: 200,
  ...fields,
});

/** Rows with a test, for these requests. */
const covered = (...lines: Partial<TracedLine>[]): string[] =>
  coverageOf(lines.map(line))
    .filter(({ tests }) => tests.length > 0)
    .map(({ row }) => row);

describe('the coverage of the contract', () => {
  test('the coverage of the contract does not count refused callers, other methods, and paths that are in no table', () => {
    assert.deepEqual(covered({ status: 403 }, { method: 'POST' }, { path: '/v3/nothing' }), []);
    assert.deepEqual(covered({ path: '/api/v3/site?show=ALL', status: 404 }), []);
  });

  test('the coverage of the contract finds path, prefix, trailing slash and query of one request', () => {
    assert.deepEqual(covered({ path: '/api/v3/devices/battery/logs/?show=ALL' }), [
      'get_device_logs: GET /v3/devices/{device_id}/logs',
      'prefix /api',
      'one trailing slash',
      'query show for retention',
    ]);
  });

  test('the coverage of the contract takes the more exact of two paths', () => {
    assert.deepEqual(covered({ path: '/v3/sites/users/me/sites' }), [
      'list_sites: GET /v3/sites/users/me/sites',
    ]);
    assert.deepEqual(covered({ path: '/v3/blueprints/device_profiles/download' }), [
      'download_device_profiles: GET /v3/blueprints/device_profiles/download',
    ]);
  });

  test('the coverage of the contract looks into bodies and headers', () => {
    assert.deepEqual(
      covered({
        method: 'PATCH',
        path: '/v3/devices/battery',
        body: '{"name": null}',
        headers: { 'x-enapter-auth-token': 't' },
      }),
      [
        'update_device: PATCH /v3/devices/{device_id}',
        'header X-Enapter-Auth-Token',
        'py PATCH device: name null',
      ],
    );
  });

  test('the coverage of the contract lists each row with its tests once', () => {
    const rows = coverageOf([line({}), line({}), line({ test: 'another' })]);
    const text = report(
      rows.filter(({ row }) => row.startsWith('get_site: GET /v3/site')),
      1,
    );
    assert.equal(
      text,
      '9.1   get_site: GET /v3/sites/{site_id} (NO TEST)\n' +
        '9.1   get_site: GET /v3/site (2 tests)\n        a test\n        and 1 more',
    );
  });

  test('the coverage of the contract finds the lines of the client matrix that a title names, one by one and in ranges', () => {
    assert.deepEqual(covered({ path: '/v3/nothing', test: 'GO: all > GO-3 … GO-5, GN-2: a call' }), [
      'GO-3',
      'GO-4',
      'GO-5',
      'GN-2',
    ]);
  });
});

describe('the outcomes', () => {
  test('the outcomes list for each path what every caller got, and which callers are untested', () => {
    const rows = outcomesOf([
      line({ caller: 'nobody', status: 401 }),
      line({ caller: 'USER' }),
      line({ caller: 'USER', status: 400 }),
      line({ caller: 'USER' }),
    ]).filter(({ row }) => row === 'get_site: GET /v3/site');
    assert.equal(
      outcomeReport(rows),
      '9.1   get_site: GET /v3/site  nobody 401 | READONLY NO TEST | USER 200 400 | OWNER NO TEST | ' +
        'INSTALLER NO TEST',
    );
  });
});
