/** Files of keys that the disk refuses to read: they may be sound, so nothing takes their place. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { refuseReads } from '../../support/refused-reads.ts';
import { startBench } from './support.ts';

function contentOf(folder: string): Map<string, string> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

for (const code of ['EACCES', 'EIO', 'EMFILE', 'ESTALE'])
  for (const kind of ['web', 'devices'] as const)
    test(`an unreadable certificate of a server keeps its file: ${kind} with ${code}`, async (t) => {
      const { folder, open, lines } = startBench(t);
      const contextOf = (tls: Awaited<ReturnType<typeof open>>) =>
        kind === 'web' ? tls.serverContext() : tls.deviceContext();
      const first = contextOf(await open());
      const before = contentOf(folder);

      const allow = refuseReads(t, join(folder, `${kind}.pem`), code);
      const tls = await open();
      const meanwhile = contextOf(tls);
      assert.ok(
        new X509Certificate(meanwhile.cert as string).verify(new X509Certificate(tls.caPem).publicKey),
      );
      await tls.check();
      assert.deepEqual(contextOf(tls), meanwhile, 'no other one at each check');
      const told = lines.filter(({ message }) => message.includes('cannot be read now'));
      assert.deepEqual(
        told.map(({ level, path }) => [level, path]),
        [['warn', join(folder, `${kind}.pem`)]],
      );

      allow();
      assert.deepEqual(contentOf(folder), before);
      await tls.check();
      assert.deepEqual(contextOf(tls), first);
    });

test('a certificate in use stays in use while its file cannot be read', async (t) => {
  const { folder, open } = startBench(t);
  const tls = await open();
  const before = tls.serverContext();
  refuseReads(t, join(folder, 'web.pem'), 'EIO');
  await tls.check();
  assert.deepEqual(tls.serverContext(), before);
});

test('an authority that cannot be read is not set aside, whatever the system calls its refusal', async (t) => {
  const { folder, open } = startBench(t);
  const authorityCopy = join(folder, '..', 'authority.pem');
  const { caPem } = await open({ authorityCopy });
  const before = contentOf(folder);
  const allow = refuseReads(t, join(folder, 'authority.pem'), 'ESTALE');
  assert.equal((await open({ authorityCopy })).caPem, caPem);
  allow();
  assert.deepEqual(contentOf(folder), before);
});
