import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Admission, type Full } from '../../src/lib/admission.ts';

const ONE = '10.0.0.1';
const OTHER = '10.0.0.2';

test('an identity beyond its share counts as an unknown one until one of its connections leaves', () => {
  const gone: number[] = [];
  const admission = new Admission<number>(
    { connections: 3, connectionsPerAddress: 3, connectionsPerIdentity: 1 },
    (connection) => gone.push(connection),
  );
  const admit = (connection: number): Full | undefined => admission.admit(ONE, () => connection);
  for (const connection of [1, 2]) {
    assert.equal(admit(connection), undefined);
    admission.authenticate(connection, 'token');
  }
  admit(3);
  admission.authenticate(3, 'other token');
  assert.equal(admit(4), undefined);
  assert.deepEqual(gone, [2]);
  admission.leave(1);
  admission.authenticate(4, 'token');
  assert.equal(admit(5), undefined);
  admission.authenticate(5, 'third token');
  assert.equal(admit(6), 'address_connections');
});

test('each connection counts once, however often it leaves or is replaced', () => {
  const gone: [number, Full][] = [];
  const admission = new Admission<number>({ connections: 3, connectionsPerAddress: 2 }, (...way) =>
    gone.push(way),
  );
  const admit = (connection: number, address: string): Full | undefined =>
    admission.admit(address, () => connection);
  assert.equal(admit(1, ONE), undefined);
  assert.equal(admit(2, ONE), undefined);
  admission.authenticate(1);
  assert.equal(admit(3, ONE), undefined);
  admission.leave(2);
  admission.authenticate(2);
  admission.authenticate(3);
  assert.equal(admit(4, ONE), 'address_connections');
  assert.equal(admit(5, OTHER), undefined);
  assert.equal(admit(6, '10.0.0.3'), undefined);
  admission.authenticate(6);
  assert.equal(admit(7, OTHER), 'connections');
  admission.leave(1);
  admission.leave(1);
  assert.equal(admit(8, ONE), undefined);
  assert.deepEqual(gone, [
    [2, 'address_connections'],
    [5, 'connections'],
  ]);
  assert.deepEqual(
    [...admission.connections()].sort((a, b) => a - b),
    [3, 6, 8],
  );
});
