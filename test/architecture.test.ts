/**
 * Who may import whom. The picture this table holds is in README: main → gateway → capabilities →
 * platform → lib. A new folder needs a row here; a removed one takes its row along.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  importFaults,
  importRings,
  type ImportTable,
  placeOf,
  rings,
  tableFaults,
} from './support/import-check.ts';
import { parseSource, projectFiles, readSource } from './support/source-files.ts';
import { PROJECT_ROOT } from './support/workspace.ts';

/** Lowest first; a capability imports only from levels before its own. */
const CAPABILITY_ORDER = [
  ['site', 'auth', 'audit', 'blueprints'],
  ['devices'],
  ['provisioning'],
  ['connectivity'],
  ['device-configuration', 'commands', 'telemetry', 'device-logs'],
  ['monitor'],
  ['rules'],
  ['appliance'],
];

const CAPABILITIES = CAPABILITY_ORDER.flat().map((name) => `capabilities/${name}`);

const PROGRAM_PARTS = [
  'protocol',
  'lua',
  'platform/clock',
  'platform/log',
  'platform/config',
  'platform/metrics',
  // The child's end of the message channel.
  'platform/processes',
];

const TABLE: ImportTable = {
  rows: [
    {
      place: 'main.ts',
      mayImport: [
        'gateway.ts',
        'platform/clock',
        'platform/config',
        'platform/files',
        'platform/log',
        'platform/systemd',
      ],
      node: 'all',
    },
    { place: 'admin.ts', mayImport: ['platform', 'capabilities/auth', 'capabilities/audit'], node: 'all' },
    { place: 'gateway.ts', mayImport: ['gateway', 'platform', 'capabilities/appliance'] },
    // The wiring in pieces that fit a screen.
    { place: 'gateway', mayImport: ['platform', 'protocol', ...CAPABILITIES], node: ['node:path'] },

    { place: 'capabilities/site', mayImport: ['platform'] },
    { place: 'capabilities/auth', mayImport: ['platform'] },
    { place: 'capabilities/audit', mayImport: ['platform'] },
    { place: 'capabilities/blueprints', mayImport: ['platform', 'lua'] },
    {
      place: 'capabilities/devices',
      mayImport: ['platform', 'capabilities/site', 'capabilities/blueprints'],
    },
    {
      place: 'capabilities/provisioning',
      mayImport: ['platform', 'capabilities/site', 'capabilities/blueprints', 'capabilities/devices'],
    },
    {
      place: 'capabilities/connectivity',
      mayImport: ['platform', 'protocol', 'capabilities/devices', 'capabilities/provisioning'],
    },
    {
      place: 'capabilities/device-configuration',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/connectivity',
      ],
    },
    {
      place: 'capabilities/commands',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/site',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/connectivity',
      ],
    },
    {
      place: 'capabilities/telemetry',
      mayImport: [
        'platform',
        'protocol',
        'capabilities/blueprints',
        'capabilities/devices',
        'capabilities/connectivity',
      ],
    },
    {
      place: 'capabilities/device-logs',
      mayImport: ['platform', 'protocol', 'capabilities/devices', 'capabilities/connectivity'],
    },
    // The live view of devices: state, values and logs in one WebSocket stream.
    {
      place: 'capabilities/monitor',
      mayImport: [
        'platform',
        'capabilities/devices',
        'capabilities/connectivity',
        'capabilities/telemetry',
        'capabilities/device-logs',
      ],
    },
    {
      place: 'capabilities/rules',
      mayImport: [
        'platform',
        'protocol',
        // A script with a fault is named when it is saved, not when it would run.
        'lua',
        'capabilities/site',
        'capabilities/devices',
        'capabilities/commands',
        'capabilities/telemetry',
        'capabilities/device-logs',
      ],
    },
    { place: 'capabilities/appliance', mayImport: ['platform', 'capabilities/site'] },

    { place: 'platform/clock', mayImport: [], node: 'all' },
    { place: 'platform/config', mayImport: [], node: 'all' },
    // The package root, for files beside the program: migrations, built-in blueprints.
    { place: 'platform/files', mayImport: [], node: 'all' },
    // The box itself: memory, disk, load.
    { place: 'platform/host', mayImport: [], node: 'all' },
    { place: 'platform/log', mayImport: ['platform/clock'], node: 'all' },
    { place: 'platform/metrics', mayImport: [], node: 'all' },
    // When to sync, whatever is synced: shared by SQLite transactions and journal records.
    { place: 'platform/commit', mayImport: ['platform/clock', 'platform/log', 'platform/metrics'] },
    {
      place: 'platform/journal',
      mayImport: ['platform/clock', 'platform/log', 'platform/metrics', 'platform/commit'],
      node: 'all',
    },
    { place: 'platform/threads', mayImport: [], node: 'all' },
    {
      place: 'platform/sqlite',
      mayImport: ['platform/clock', 'platform/log', 'platform/metrics', 'platform/commit'],
      node: 'all',
    },
    {
      place: 'platform/http',
      mayImport: ['platform/clock', 'platform/log', 'platform/metrics', 'platform/config'],
      node: 'all',
    },
    {
      place: 'platform/mqtt',
      mayImport: ['platform/clock', 'platform/log', 'platform/metrics', 'platform/config', 'platform/tls'],
      node: 'all',
    },
    { place: 'platform/tls', mayImport: ['platform/clock', 'platform/log', 'platform/config'], node: 'all' },
    {
      place: 'platform/processes',
      mayImport: ['platform/clock', 'platform/log', 'platform/metrics', 'platform/config', 'platform/files'],
      node: 'all',
    },
    { place: 'platform/upload', mayImport: [], node: 'all' },
    {
      place: 'platform/workers',
      mayImport: ['platform/clock', 'platform/log'],
      node: 'all',
    },
    { place: 'platform/systemd', mayImport: ['platform/clock', 'platform/log'], node: 'all' },
    { place: 'platform/mdns', mayImport: ['platform/log', 'platform/config'], node: 'all' },

    { place: 'protocol', mayImport: [] },
    // It reads the machine's file out of the package that brings it.
    { place: 'lua', mayImport: [], node: ['node:fs', 'node:module'] },
    { place: 'programs/rule-sandbox', mayImport: PROGRAM_PARTS, node: 'all' },
    { place: 'programs/communication-module', mayImport: PROGRAM_PARTS, node: 'all' },
    { place: 'console', mayImport: ['capabilities/*/schema.ts'], typesOnly: true },
    { place: 'lib', mayImport: [] },
  ],
  pureNode: ['node:assert', 'node:assert/strict', 'node:buffer', 'node:crypto', 'node:util', 'node:zlib'],
  packages: {
    '@cfworker/json-schema': ['capabilities/blueprints'],
    '@fastify/busboy': ['platform/upload'],
    '@hono/node-server': ['platform/http'],
    aedes: ['platform/mqtt'],
    'better-sqlite3': ['platform/sqlite'],
    hono: ['platform/http'],
    mqtt: ['programs/communication-module'],
    'mqtt-packet': ['platform/mqtt'],
    pino: ['platform/log'],
    'prom-client': ['platform/metrics'],
    'rate-limiter-flexible': ['platform/http', 'platform/mqtt'],
    valibot: ['platform/http', 'protocol', ...CAPABILITIES],
    wasmoon: ['lua'],
    ws: ['platform/http'],
    yaml: ['platform/config', 'capabilities/blueprints'],
    yauzl: ['capabilities/blueprints', 'capabilities/appliance'],
    yazl: ['capabilities/blueprints', 'capabilities/appliance'],
  },
  notYetBuilt: ['platform/tls', 'platform/mdns', 'programs/rule-sandbox', 'console'],
};

const sources = projectFiles(PROJECT_ROOT, 'src')
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readSource(PROJECT_ROOT, path));
const places = new Set(projectFiles(PROJECT_ROOT, 'src').map(placeOf));

describe('the import table', () => {
  test('forbids nothing that the sources do', () => {
    assert.deepEqual(importFaults(sources, TABLE), []);
  });

  test('names exactly the folders that exist, except those visibly still to come', () => {
    assert.deepEqual(tableFaults(TABLE, places), []);
  });

  test('leaves no ring of imports, not even inside a folder', () => {
    assert.deepEqual(importRings(sources), []);
  });

  test('has no ring itself', () => {
    const graph = new Map(TABLE.rows.map((row) => [row.place, row.mayImport]));
    assert.deepEqual(rings(graph), []);
  });

  test('lets a capability import lower capabilities only', () => {
    for (const [level, names] of CAPABILITY_ORDER.entries()) {
      const lower = CAPABILITY_ORDER.slice(0, level).flat();
      for (const name of names) {
        const row = TABLE.rows.find(({ place }) => place === `capabilities/${name}`);
        const others = (row?.mayImport ?? []).filter((place) => place.startsWith('capabilities/'));
        for (const other of others)
          assert.ok(lower.includes(other.replace('capabilities/', '')), `${name} may import ${other}`);
      }
    }
  });

  test('names packages that package.json lists', () => {
    const { dependencies } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    assert.deepEqual(Object.keys(TABLE.packages).sort(), Object.keys(dependencies).sort());
  });
});

describe('the check of imports', () => {
  const faultsOf = (path: string, text: string): string[] => importFaults([parseSource(path, text)], TABLE);

  const planted: [title: string, path: string, text: string, fault: string | undefined][] = [
    [
      'refuses a capability above',
      'src/capabilities/devices/service.ts',
      "// first\nimport { create } from '../telemetry/index.ts';",
      'src/capabilities/devices/service.ts:2 imports src/capabilities/telemetry/index.ts: ' +
        'capabilities/devices may import lib, platform, capabilities/site, capabilities/blueprints',
    ],
    [
      'refuses a type of a capability above',
      'src/capabilities/site/model.ts',
      "import type { Device } from '../devices/index.ts';",
      'src/capabilities/site/model.ts:1 imports src/capabilities/devices/index.ts: ' +
        'capabilities/site may import lib, platform',
    ],
    [
      'refuses the inside of another capability',
      'src/capabilities/devices/service.ts',
      "import { rowOf } from '../blueprints/store.ts';",
      'src/capabilities/devices/service.ts:1 imports src/capabilities/blueprints/store.ts: ' +
        'from outside, capabilities/blueprints is entered through its index.ts',
    ],
    [
      'refuses the inside of a platform folder',
      'src/capabilities/devices/service.ts',
      "import { wrap } from '../../platform/log/log.ts';",
      'src/capabilities/devices/service.ts:1 imports src/platform/log/log.ts: ' +
        'from outside, platform/log is entered through its index.ts',
    ],
    [
      'refuses a capability in the platform',
      'src/platform/http/app.ts',
      "export * from '../../capabilities/auth/index.ts';",
      'src/platform/http/app.ts:1 imports src/capabilities/auth/index.ts: ' +
        'platform/http may import lib, platform/clock, platform/log, platform/metrics, platform/config',
    ],
    [
      'refuses a file module in a capability',
      'src/capabilities/devices/service.ts',
      "const fs = await import('node:fs');",
      'src/capabilities/devices/service.ts:1 imports node:fs: capabilities/devices may use node:assert, ' +
        "node:assert/strict, node:buffer, node:crypto, node:util, node:zlib of Node's modules",
    ],
    [
      'refuses a package at a place that is not its own',
      'src/capabilities/devices/routes.ts',
      "import { Hono } from 'hono/tiny';",
      'src/capabilities/devices/routes.ts:1 imports hono/tiny: package hono belongs to platform/http',
    ],
    [
      'refuses a package without a row',
      'src/lib/text.ts',
      "import '@scope/name/deep';",
      'src/lib/text.ts:1 imports @scope/name/deep: package @scope/name has no row in the import table',
    ],
    [
      'refuses code of the gateway in the console',
      'src/console/app.ts',
      "import { toWire } from '../capabilities/devices/schema.ts';",
      'src/console/app.ts:1 imports src/capabilities/devices/schema.ts: console may import types only',
    ],
    [
      'refuses a folder without a row',
      'src/capabilities/weather/index.ts',
      'export {};',
      'src/capabilities/weather/index.ts: capabilities/weather has no row in the import table',
    ],
    [
      'refuses a way out of src/',
      'src/lib/text.ts',
      "import { TestClock } from '../../test/support/test-clock.ts';",
      'src/lib/text.ts:1 imports test/support/test-clock.ts: it is not below src/',
    ],
    [
      'sees nothing in comments and texts',
      'src/lib/text.ts',
      "// import 'hono';\nconst a = `import x from 'hono'`; const b = /'/; const c = \"from 'ws'\"; /* import 'ws' */",
      undefined,
    ],
    [
      'allows a type of a schema in the console',
      'src/console/app.ts',
      "import type { Wire } from '../capabilities/devices/schema.ts';",
      undefined,
    ],
    [
      'allows lower capabilities, the platform and lib',
      'src/capabilities/rules/service.ts',
      "import { a } from '../commands/index.ts';\nimport { b } from '../../platform/http/index.ts';\n" +
        "import { c } from '../../lib/errors.ts';\nimport { createHash } from 'node:crypto';\nimport './store.ts';",
      undefined,
    ],
  ];
  for (const [title, path, text, fault] of planted)
    test(title, () => assert.deepEqual(faultsOf(path, text), fault === undefined ? [] : [fault]));

  test('finds a ring between two files of one folder, types included', () => {
    const ring = [
      parseSource('src/lib/b.ts', "import type { A } from './a.ts';"),
      parseSource('src/lib/a.ts', "export { b } from './b.ts';"),
      parseSource('src/lib/c.ts', "import { a } from './a.ts';"),
    ];
    assert.deepEqual(importRings(ring), ['src/lib/a.ts → src/lib/b.ts → src/lib/a.ts']);
  });

  test('refuses a row without a folder, and a folder that is listed as still to come', () => {
    const table: ImportTable = {
      ...TABLE,
      rows: [
        { place: 'lib', mayImport: [] },
        { place: 'protocol', mayImport: ['nowhere'] },
        { place: 'lua', mayImport: [] },
      ],
      notYetBuilt: ['lib', 'lua', 'console'],
    };
    assert.deepEqual(tableFaults(table, new Set(['lib'])), [
      'lib exists: take it out of the list notYetBuilt',
      'the import table names protocol, which does not exist',
      'the row of protocol names nowhere, which has no row',
      'notYetBuilt names console, which has no row',
    ]);
  });
});
