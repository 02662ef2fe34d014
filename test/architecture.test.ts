/**
 * Allowed imports. The picture of this table is in README: main → gateway → capabilities → platform → lib. The table is
 * test/support/import-table.ts.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  folderFaults,
  folderRings,
  importFaults,
  importRings,
  type ImportTable,
  placeOf,
  rings,
  tableFaults,
} from './support/import-check.ts';
import { CAPABILITY_ORDER, TABLE } from './support/import-table.ts';
import { LINE_BUDGETS } from './support/line-budgets.ts';
import { overBudget } from './support/rooms.ts';
import { parseSource, projectFiles, readSource } from './support/source-files.ts';
import { PROJECT_ROOT } from './support/workspace.ts';

const sources = projectFiles(PROJECT_ROOT, 'src')
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => readSource(PROJECT_ROOT, path));
const places = new Set(projectFiles(PROJECT_ROOT, 'src').map(placeOf));

const sizes = projectFiles(PROJECT_ROOT, 'src')
  .filter((path) => /\.(?:tsx?|css|lua)$/.test(path))
  .map((path) => ({ path, lines: readFileSync(join(PROJECT_ROOT, path), 'utf8').split('\n').length - 1 }));

describe('the line budgets', () => {
  test('the line budgets hold for every room of src', () => {
    assert.deepEqual(overBudget(sizes, LINE_BUDGETS), []);
  });

  test('the line budgets name the room that grew or has no budget', () => {
    const grown = [
      { path: 'src/platform/clock/a.ts', lines: 60 },
      { path: 'src/platform/clock/inside/b.ts', lines: 50 },
      { path: 'src/main.ts', lines: 9 },
      { path: 'src/attic/old.lua', lines: 3 },
    ];
    assert.deepEqual(overBudget(grown, { 'platform/clock': 100, '(top)': 10 }), [
      'src/platform/clock has 110 lines, its budget is 100: take something out; a budget in test/support/line-budgets.ts is raised only together with a page in docs/decisions',
      'src/attic has 3 lines and no budget: give it a line in test/support/line-budgets.ts, and say in docs/decisions what it is for',
    ]);
  });
});

describe('the import table', () => {
  test('the import table forbids nothing that the sources do', () => {
    assert.deepEqual(importFaults(sources, TABLE), []);
  });

  test('the import table names exactly the folders that exist, apart from those listed as planned', () => {
    assert.deepEqual(tableFaults(TABLE, places), []);
  });

  test('the import table lists every folder of a place whose folders it orders', () => {
    assert.deepEqual(
      folderFaults(
        TABLE,
        sources.map(({ path }) => path),
      ),
      [],
    );
  });

  test('the sources have no import cycle, not even within a folder', () => {
    assert.deepEqual(importRings(sources), []);
  });

  test('the folders of a capability, a program or a part of the platform import each other in no cycle', () => {
    assert.deepEqual(folderRings(sources), []);
  });

  test('the import table itself has no cycle', () => {
    const graph = new Map(TABLE.rows.map((row) => [row.place, row.mayImport]));
    assert.deepEqual(rings(graph), []);
  });

  test('the import table lets a capability import lower capabilities only', () => {
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

  test('the import table names only packages that package.json lists', () => {
    const { dependencies, devDependencies } = JSON.parse(
      readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'),
    ) as Record<'dependencies' | 'devDependencies', Record<string, string>>;
    // What a bundle holds is needed for building only.
    const bundled = Object.keys(devDependencies).filter((name) => Object.hasOwn(TABLE.packages, name));
    assert.deepEqual(Object.keys(TABLE.packages).sort(), [...Object.keys(dependencies), ...bundled].sort());
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
        'capabilities/devices may import lib, platform, protocol, capabilities/site, capabilities/blueprints',
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
        'platform/http may import lib, platform/clock, platform/log, platform/metrics, platform/config, ' +
        'platform/sockets',
    ],
    [
      'refuses a higher folder inside a house',
      'src/telemetry-store/codec/block.ts',
      "import { Engine } from '../engine/engine.ts';\nimport './samples.ts';",
      'src/telemetry-store/codec/block.ts:1 imports src/telemetry-store/engine/engine.ts: ' +
        'telemetry-store/codec may import journal, what is beside it',
    ],
    [
      'refuses what is beside the folders of a house in one of them',
      'src/telemetry-store/query/csv-rows.ts',
      "import type { TimeSeriesQuery } from '../schema.ts';\nimport '../codec/samples.ts';",
      'src/telemetry-store/query/csv-rows.ts:1 imports src/telemetry-store/schema.ts: ' +
        'telemetry-store/query may import journal, codec, what is beside it',
    ],
    [
      'refuses a house by its path',
      'src/capabilities/telemetry/service.ts',
      "import { CELL } from '../../telemetry-store/index.ts';\nimport { Journal } from '#telemetry-store';",
      'src/capabilities/telemetry/service.ts:1 imports src/telemetry-store/index.ts: ' +
        'from outside, telemetry-store is imported as #telemetry-store',
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
      'allows lib in the console, whole',
      'src/console/app.ts',
      "import { reaches } from '../lib/role.ts';",
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

  test('the check of imports finds a cycle between two files of one folder, type imports included', () => {
    const ring = [
      parseSource('src/lib/b.ts', "import type { A } from './a.ts';"),
      parseSource('src/lib/a.ts', "export { b } from './b.ts';"),
      parseSource('src/lib/c.ts', "import { a } from './a.ts';"),
    ];
    assert.deepEqual(importRings(ring), ['src/lib/a.ts → src/lib/b.ts → src/lib/a.ts']);
  });

  test('the check of imports refuses a folder that its place does not order, and one that does not exist', () => {
    const table: ImportTable = {
      ...TABLE,
      rows: [{ place: 'lib', mayImport: [], folders: ['text', 'time'] }],
    };
    assert.deepEqual(folderFaults(table, ['src/lib/a.ts', 'src/lib/text/b.ts', 'src/lib/crypto/c.ts']), [
      'lib/crypto is not in the list of its row',
      'lib/time does not exist',
    ]);
  });

  test('the check of imports finds a cycle between folders whose files make none, but allows one with the parent folder', () => {
    const parts = [
      parseSource('src/scripting/lua/read/a.ts', "import type { B } from '../write/b.ts';"),
      parseSource(
        'src/scripting/lua/write/c.ts',
        "import { d } from '../read/d.ts';\nimport { e } from '../e.ts';",
      ),
      parseSource('src/scripting/lua/e.ts', "import { c } from './write/f.ts';"),
    ];
    assert.deepEqual(importRings(parts), []);
    assert.deepEqual(folderRings(parts), [
      'src/scripting/lua/read → src/scripting/lua/write → src/scripting/lua/read',
    ]);
  });

  test('the check of imports refuses a row without a folder, and a planned folder that exists', () => {
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
