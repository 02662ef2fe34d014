import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listenOn } from '../../src/gateway/listen-fault.ts';
import { UnrecoverableError } from '../../src/lib/errors.ts';

/** As Node tells it (https://nodejs.org/api/errors.html#class-systemerror). */
const refused = (code: string, address: string, port = 8_080): Error =>
  Object.assign(new Error(`listen ${code}: refused ${address}:${port}`), {
    code,
    address,
    port,
    syscall: 'listen',
  });

const onHost = (host: string) => ({
  variable: 'GATEWAY_HTTP_HOST',
  host,
  ports: { GATEWAY_HTTP_PORT: 8_080, GATEWAY_HTTPS_PORT: 443 },
});

const faultOn = async (host: string, error: Error): Promise<Error> => {
  const failed = listenOn(onHost(host), () => Promise.reject(error));
  return failed.then(
    () => assert.fail('it listens'),
    (fault: Error) => fault,
  );
};

test('an IPv6 address on a machine without IPv6 is named with its remedy, and tried again', async () => {
  for (const [host, code] of [
    ['::', 'EAFNOSUPPORT'],
    ['::1', 'EAFNOSUPPORT'],
    ['::', 'EADDRNOTAVAIL'],
  ] as const) {
    const fault = await faultOn(host, refused(code, host));
    assert.ok(!(fault instanceof UnrecoverableError));
    assert.equal(
      fault.message,
      `GATEWAY_HTTP_HOST is ${host}, but this machine has no IPv6: set it to 0.0.0.0 or another address of IPv4, or turn IPv6 on`,
    );
  }
});

test('an address that no network of the machine has now is named with its option, and tried again', async () => {
  const fault = await faultOn('192.0.2.7', refused('EADDRNOTAVAIL', '192.0.2.7'));
  assert.ok(!(fault instanceof UnrecoverableError));
  assert.match(
    fault.message,
    /^GATEWAY_HTTP_HOST is 192\.0\.2\.7, which no network of this machine has now: /,
  );
});

test('a port in use, or reserved for root, is named with its option, and tried again', async () => {
  for (const [error, message] of [
    [
      refused('EADDRINUSE', '::'),
      'GATEWAY_HTTP_PORT is 8080, which another program on this machine uses: end it, or choose another port',
    ],
    [
      refused('EACCES', '::', 443),
      'GATEWAY_HTTPS_PORT is 443, which this user may not use: choose a port from 1024 on',
    ],
  ] as const) {
    const fault = await faultOn('::', error);
    assert.ok(!(fault instanceof UnrecoverableError));
    assert.equal(fault.message, message);
    assert.equal(fault.cause, error);
  }
});

test('any other fault is passed on as it is', async () => {
  const broken = refused('EMFILE', '::');
  assert.equal(await faultOn('::', broken), broken);
  assert.equal(await listenOn(onHost('::'), async () => 8_080), 8_080);
});
