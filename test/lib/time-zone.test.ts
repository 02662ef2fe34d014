import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canonicalTimeZone } from '../../src/lib/time.ts';

describe('no time zone is', () => {
  for (const name of [
    '',
    'Mars/Olympus',
    'Europe/Berlin ',
    '../UTC',
    '+02:00',
    '-05',
    'UTC+1',
    'Z',
    'AST',
    'SystemV/AST4',
    '2026-03-01T00:00[Europe/Berlin]',
  ])
    test(JSON.stringify(name), () => assert.equal(canonicalTimeZone(name), undefined));
});

describe('a time zone has its own spelling', () => {
  for (const name of [
    'UTC',
    'Europe/Berlin',
    'Europe/Kyiv',
    'Asia/Kolkata',
    'Asia/Calcutta',
    'America/Argentina/Buenos_Aires',
    'America/Port-au-Prince',
    'Africa/Dar_es_Salaam',
    'Etc/GMT+5',
  ])
    test(name, () => {
      for (const spelling of [name, name.toLowerCase(), name.toUpperCase()])
        assert.equal(canonicalTimeZone(spelling), name);
    });
});
