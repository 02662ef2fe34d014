/** The operations that are served are those of the contract's tables (docs/interface/http.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route, Stream } from '../../src/platform/http/index.ts';
import { useTestGateway } from '../support/test-gateway.ts';
import { OPERATIONS } from './operations.ts';

const IN_TABLES = new Set(OPERATIONS.map(({ operation }) => operation));

const gateway = useTestGateway();

function served(): (Route | Stream)[] {
  const { routes, streams } = gateway().gateway.operations();
  return [...routes, ...streams];
}

test('every operation has the method, the least role and all the paths of the table', () => {
  const shown = served()
    .filter(({ operation }) => IN_TABLES.has(operation))
    .flatMap((row) =>
      row.paths.map(
        (path) => `${'method' in row ? row.method : 'WS'} ${path}: ${row.operation}, ${row.role}`,
      ),
    );
  const wanted = OPERATIONS.flatMap(({ operation, method, role, paths }) =>
    paths.map((path) => `${method} ${path}: ${operation}, ${role}`),
  );
  assert.deepEqual(shown.toSorted(), wanted.toSorted());
});
