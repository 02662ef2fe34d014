/** The whole over real sockets, on the loopback only. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { addressOf, Mdns } from '../../../src/platform/mdns/index.ts';
import { systemNetwork } from '../../../src/platform/mdns/network.ts';
import { until } from '../../support/until.ts';
import { recordingLog } from '../../support/workspace.ts';

test('a machine that announces itself is found by its name, and not found after its goodbye', async (t) => {
  const clock = createSystemClock();
  const { log, lines } = recordingLog(clock);
  const name = `energy-gateway-test-${process.pid}`;
  const mdns = new Mdns({ name, clock, log, network: systemNetwork(true) });
  t.after(() => {
    mdns.stop();
    clock.close();
  });
  mdns.start(() => [{ type: '_http._tcp', port: 8_080 }]);
  await until(() => lines.some(({ message }) => message === 'announced on the network'));
  const options = {
    clock,
    addresses: ['127.0.0.1'],
    resolve: () => Promise.reject(new Error('not found')),
    limits: { localNameMs: 3_000 },
  };
  assert.equal(await addressOf(mdns.hostName, options), '127.0.0.1');
  mdns.stop();
  await assert.rejects(addressOf(mdns.hostName, { ...options, limits: { localNameMs: 300 } }), /not known/);
});

const canMakeInterfaces =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-n', 'ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1']).status === 0;

test(
  'an interface that returns with the same address counts as another one, and so does another size of the network',
  { skip: !canMakeInterfaces && 'needs root and veth' },
  () => {
    const source = import.meta.resolve('../../../src/platform/mdns/network.ts');
    const program = `
      import { execSync } from 'node:child_process';
      import { systemNetwork } from '${source}';
      const make = (size) => execSync('ip link add v0 type veth peer name v1 && ip link set v1 up && ' +
        'ip addr add 10.9.9.1/' + size + ' dev v0 && ip link set v0 up');
      const network = systemNetwork();
      const looks = [];
      make(24);
      for (const change of [() => {}, () => { execSync('ip link del v0'); make(24); },
        () => { execSync('ip addr del 10.9.9.1/24 dev v0 && ip addr add 10.9.9.1/16 dev v0'); }]) {
        const link = await network.open('10.9.9.1', (error) => { throw error; });
        looks.push(link.isJoined(), link.isJoined());
        change();
        looks.push(link.isJoined());
        link.close();
      }
      console.log(JSON.stringify(looks));`;
    const words = ['-n', process.execPath, '--input-type=module', '-e', program];
    const { status, stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), [true, true, true, true, true, false, true, true, false]);
  },
);

test('a machine keeps its addresses when the system has no file handle left to read them', () => {
  const source = import.meta.resolve('../../../src/platform/mdns/network.ts');
  const program = `
    import { closeSync, openSync } from 'node:fs';
    import { systemNetwork } from '${source}';
    const network = systemNetwork(true);
    const before = network.addresses();
    const held = [];
    try { for (;;) held.push(openSync('/dev/null')); } catch (error) { held.reverse(); }
    const after = network.addresses();
    held.forEach((file) => closeSync(file));
    console.log(JSON.stringify([before, after]));`;
  const words = ['ulimit -n 100; exec "$0" --input-type=module -e "$1"', process.execPath, program];
  const { status, stdout, stderr } = spawnSync('sh', ['-c', ...words], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const [before, after] = JSON.parse(stdout) as [string[], string[]];
  assert.ok(before.includes('127.0.0.1'));
  assert.deepEqual(after, before);
});
