/** Faults of a site file, and their reports. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSiteFile } from '../../src/site-file/index.ts';
import { SECRETS, siteFile } from './support.ts';

const TARGET = 'name: fleet, kind: INFLUXDB, influxdb: {url: "http://metrics.example/write"';

describe('a site file is refused', () => {
  for (const [what, text, ...faults] of [
    [
      'with a member that nobody knows',
      'sites: {}',
      'sites: is unknown; known are site, users, blueprints, targets, devices, tariffs, rules, notifications',
    ],
    [
      'with such a member deep inside',
      `targets: [{${TARGET}, retries: 3}}]`,
      'targets[0].influxdb.retries: is unknown; known are url, measurement, username, secret, token_scheme, ca_pem, compressed',
    ],
    ['with a list that is none', 'users: anna', 'users: must be a list, got "anna"'],
    [
      'with lists where members have names',
      'site: [Depot]\nusers: [[anna, OWNER]]',
      'site: must be an object',
      'users[0]: must be an object',
    ],
    [
      'with values of other types, all of them at once',
      'site: {name: 5, timezone: Nowhere/Else}\ndevices: [{slug: "a b", name: A, type: METER}]',
      'site.name: must be a text, got 5',
      'site.timezone: must be an IANA time zone such as Europe/Berlin',
      'devices[0].slug: must be 1 to 64 letters, digits, - or _, begin with a letter or digit, and be no UUID',
      'devices[0].type: must be one of: STANDALONE, LUA',
    ],
    ['without what is needed', 'users: [{name: anna, role: OWNER}]', 'users[0].password: is required'],
    [
      'with a password in it, which is not told again',
      'users: [{name: anna, role: OWNER, password: hunter-222}]',
      'users[0].password: must be {env: NAME} or {file: PATH}, so that no secret stands in this file',
    ],
    [
      'when a secret is missing',
      `users: [{name: anna, role: OWNER, password: {env: NOBODY}}]\ntargets: [{${TARGET}, secret: {file: empty}}}]`,
      'users[0].password: the environment has no NOBODY',
      'targets[0].influxdb.secret: empty is empty',
    ],
    [
      'when a password is too short, without saying it',
      'users: [{name: anna, role: OWNER, password: {file: short}}]',
      'users[0].password: must have at least 8 characters',
    ],
    [
      'with the address of a webhook in it, which is as good as a secret',
      'notifications: [{name: Desk, kind: WEBHOOK, webhook: {url: "https://chat.example/hunter-222", signing_secret: hunter-222}}]',
      'notifications[0].webhook.url: must be {env: NAME} or {file: PATH}, so that no secret stands in this file',
      'notifications[0].webhook.signing_secret: must be {env: NAME} or {file: PATH}, so that no secret stands in this file',
    ],
    [
      'with a rule that runs too often',
      'rules: [{slug: a, file: short, runtime_version: V1, exec_interval: 1ms}]',
      'rules[0].exec_interval: must be a duration from 100ms to 24h0m0s',
    ],
    [
      'when a LUA device has no blueprint, or another one a runtime',
      'devices: [{slug: a, name: A, type: LUA}, {slug: b, name: B, type: STANDALONE, runtime: gateway}]',
      'devices[0]: must have blueprint, because it is a LUA device',
      'devices[1]: must not have runtime, because it is no LUA device',
    ],
    [
      'when something stands there twice',
      'devices: [{slug: a, name: A, type: STANDALONE}, {slug: a, name: B, type: STANDALONE}]',
      'devices: the slug "a" stands there more than once',
    ],
  ] as const)
    test(what, (t) => {
      const path = siteFile(t, text, { empty: '\n', short: 'short\n' });
      assert.throws(() => readSiteFile(path, SECRETS), {
        message: ['the site file is not usable:', ...faults.map((fault) => `  - ${fault}`)].join('\n'),
      });
    });

  test('a site file is refused when a blueprint or a script is not there', (t) => {
    const path = siteFile(t, 'blueprints: [{name: meter, file: meter.zip}]\nrules: [{slug: a, file: a.lua}]');
    assert.throws(
      () => readSiteFile(path, {}),
      /blueprints\[0\]\.file: there is no .*meter\.zip\n.*rules\[0\]\.file: there is no .*a\.lua/,
    );
  });

  test('a refusal of a site file names all faults at once, such as a missing secret, a missing file or a name twice', (t) => {
    const user = 'name: anna, role: OWNER, password: {env: NOBODY}';
    const path = siteFile(
      t,
      `users: [{${user}}, {${user}}]\nsites: {}\nblueprints: [{name: meter, file: meter.zip}]\nrules: [{slug: a, file: a.lua}]`,
    );
    assert.throws(
      () => readSiteFile(path, {}),
      (error: Error) => {
        for (const fault of [
          /users\[0\]\.password: the environment has no NOBODY/,
          /sites: is unknown/,
          /blueprints\[0\]\.file: there is no .*meter\.zip/,
          /rules\[0\]\.file: there is no .*a\.lua/,
          /users: the name "anna" stands there more than once/,
        ])
          assert.match(error.message, fault);
        return true;
      },
    );
  });

  test('a site file is refused when it is no YAML, with line and column', (t) => {
    const path = siteFile(t, 'users:\n  - password: "hunter-222');
    assert.throws(() => readSiteFile(path, {}), /site\.yml:2:26: Missing closing [^\n]*$/);
  });

  for (const [what, text, fault] of [
    ['when it is a list', '- a', 'must be an object'],
    [
      'when it names itself',
      'site: &site {name: x, location: *site}',
      'an alias (*) stands inside of what it names',
    ],
  ] as const)
    test(what, (t) => {
      const path = siteFile(t, text);
      const message = `the site file is not usable:\n  - ${path}: ${fault}`;
      assert.throws(() => readSiteFile(path, {}), { message });
    });

  test('a site file is refused when there is more than one document in it', (t) => {
    const path = siteFile(t, 'site: {name: a}\n---\nsite: {name: b}\n');
    const fault = `${path}:2:1: Source contains multiple documents; give one`;
    assert.throws(() => readSiteFile(path, {}), { message: `the site file is not usable:\n  - ${fault}` });
  });

  test('a site file with a number too large is refused in a sentence', (t) => {
    const path = siteFile(
      t,
      'notifications: [{name: a, kind: EMAIL, email: {host: h, port: 99999999, from: a@b.example, to: [c@d.example]}}]',
    );
    assert.throws(() => readSiteFile(path, {}), /email\.port: must be at most 65535, got 99999999/);
  });

  test('a site file is refused when there is none', () => {
    assert.throws(() => readSiteFile('/nowhere/site.yml', {}), /\/nowhere\/site\.yml: there is no /);
  });
});

test('an empty site file requests nothing', (t) => {
  const { site, users, devices } = readSiteFile(siteFile(t, ''), {});
  assert.deepEqual([site, users, devices], [undefined, [], []]);
});

test('a site file from another machine may have a byte order mark and other line ends', (t) => {
  const { site } = readSiteFile(siteFile(t, '\ufeffsite:\r\n  name: Depot\r\n  timezone: UTC\r\n'), {});
  assert.equal(site?.name, 'Depot');
});
