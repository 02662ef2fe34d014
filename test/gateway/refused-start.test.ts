/** A start that the disk refuses: whoever reads of it knows which file to look at. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { inWordsAndDetail } from '../../src/lib/system-fault.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { temporaryFolder } from '../support/workspace.ts';

test('a start that cannot read state.db says what to do, and names the file', async (t) => {
  const dataDir = temporaryFolder(t);
  await (await startTestGateway(t, { dataDir })).stop();
  t.mock.method(BetterSqlite3.prototype, 'prepare', function (this: BetterSqlite3.Database) {
    throw new BetterSqlite3.SqliteError('disk I/O error', 'SQLITE_IOERR_READ');
  });
  await assert.rejects(startTestGateway(t, { dataDir }), (error) => {
    assert.equal(
      inWordsAndDetail(error),
      `The disk fails now, so this cannot be stored or read. Check it. (${dataDir}/state.db: disk I/O error)`,
    );
    return true;
  });
});
