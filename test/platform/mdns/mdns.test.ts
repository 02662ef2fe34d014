import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { Mdns } from '../../../src/platform/mdns/index.ts';
import type { DnsRecord, Question, QuestionType } from '../../../src/platform/mdns/message.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog } from '../../support/workspace.ts';
import { ether, type Ether, type Heard } from './ether.ts';

const SERVICES = [
  { type: '_http._tcp', port: 8_080, texts: ['path=/'] },
  { type: '_mqtt._tcp', port: 1_883 },
];

interface Box {
  clock: TestClock;
  net: Ether;
  addresses: string[];
  mdns: Mdns;
  lines: ReturnType<typeof recordingLog>['lines'];
  /** What was said since the last call. */
  said: () => Heard[];
}

function box(
  options: {
    net?: Ether;
    clock?: TestClock;
    addresses?: string[];
    limits?: Partial<Limits['mdns']>;
    port?: number;
  } = {},
): Box {
  const { net = ether(), clock = new TestClock(), addresses = ['10.0.0.1'] } = options;
  const { log, lines } = recordingLog(clock);
  const mdns = new Mdns({
    name: 'energy-gateway',
    clock,
    log,
    limits: { ...LIMITS.mdns, ...options.limits },
    network: net.machine(addresses),
    random: () => 0.5,
  });
  const services = SERVICES.map((service) => ({ ...service, port: options.port ?? service.port }));
  mdns.start(() => services);
  let seen = 0;
  return {
    clock,
    net,
    addresses,
    mdns,
    lines,
    said: () => {
      const news = net.heard.slice(seen);
      seen = net.heard.length;
      return news;
    },
  };
}

/** Time enough to ask three times and to announce twice. */
async function settle(clock: TestClock): Promise<void> {
  for (let step = 0; step < 40; step += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(100);
  }
}

const question = (name: string, type: QuestionType, isUnicast = false): Question => ({
  name,
  type,
  isUnicast,
});
const HOST = 'energy-gateway.local';
const addressOf = (name: string, data: string, ttl = 120): DnsRecord => ({
  name,
  type: 'A',
  ttl,
  class: 'IN',
  flush: true,
  data,
});
const addressRecord = (address: string, ttl?: number): DnsRecord => addressOf(HOST, address, ttl);
const named = (records: readonly DnsRecord[]): string[] => records.map(({ name, type }) => `${name} ${type}`);

describe('multicast DNS does not', () => {
  test('multicast DNS does not keep a name that another machine has: it takes the next one, on every network', async () => {
    const { net, clock, mdns, lines } = box({ addresses: ['10.0.0.1', '10.1.0.1'] });
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(200);
    net.say({ isResponse: true, answers: [addressRecord('10.0.0.7')] });
    await settle(clock);
    assert.equal(mdns.hostName, 'energy-gateway-2.local');
    const announced = lines.filter(({ message }) => message === 'announced on the network');
    assert.deepEqual(
      announced.map((line) => [line['host_name'], line['address']]),
      [
        ['energy-gateway-2.local', '10.0.0.1'],
        ['energy-gateway-2.local', '10.1.0.1'],
      ],
    );
  });

  test('multicast DNS does not take an address of its own machine, a goodbye, or unclaimed records for a conflict', async () => {
    const { net, clock, mdns } = box({ addresses: ['10.0.0.1', '10.1.0.1'] });
    await settle(clock);
    net.say({ isResponse: true, answers: [addressRecord('10.1.0.1'), addressRecord('10.0.0.9', 0)] });
    net.say({ isResponse: true, answers: [{ ...addressRecord(''), type: 'TXT', data: [''] }] });
    await settle(clock);
    assert.equal(mdns.hostName, HOST);
  });

  test('multicast DNS does not answer before it has the name, nor questions about others, nor known answers', async () => {
    const { net, clock, said } = box();
    await new Promise((resolve) => setImmediate(resolve));
    net.say({ questions: [question(HOST, 'A')] });
    assert.deepEqual(said(), []);
    await settle(clock);
    said();
    net.say({ questions: [question('other.local', 'A'), question('_ipp._tcp.local', 'PTR')] });
    net.say({ questions: [question(HOST, 'A')], answers: [addressRecord('10.0.0.1', 60)] });
    await settle(clock);
    assert.deepEqual(said(), []);
  });

  test('multicast DNS does not answer invalid messages, too large ones, or more than the limit', async () => {
    const limits = { packetBytes: 200, packetsPerSecond: 1, packetBurst: 20 };
    const { net, clock, said } = box({ limits });
    await settle(clock);
    said();
    net.say(Buffer.from('nonsense that is no message'));
    net.say({ questions: Array.from({ length: 20 }, () => question(HOST, 'A')) });
    await clock.advance(60_000);
    said();
    for (let count = 0; count < 40; count += 1) {
      net.say({ questions: [question(HOST, 'A', true)] }, { address: '10.0.0.5' });
    }
    const answered = said().length;
    assert.ok(answered > 0 && answered <= limits.packetBurst, String(answered));
  });

  test('multicast DNS does not join more networks than the limit, nor end when none can be joined', async () => {
    const many = box({ addresses: ['10.0.0.1', '10.1.0.1', '10.2.0.1'], limits: { networks: 2 } });
    await settle(many.clock);
    assert.deepEqual([...new Set(many.said().map(({ from }) => from))], ['10.0.0.1', '10.1.0.1']);
    many.net.cut();
    await settle(many.clock);
    const warnings = many.lines.filter(({ level }) => level === 'warn');
    assert.ok(warnings.length >= 2, JSON.stringify(many.lines));
  });

  test('multicast DNS does not rush from name to name when all of them are taken', async () => {
    const { net, clock, mdns } = box({ limits: { conflictsAtOnce: 2, conflictPauseMs: 5_000 } });
    const refuse = async (): Promise<void> => {
      await clock.advance(200);
      const name = mdns.hostName;
      net.say({ isResponse: true, answers: [addressOf(name, '10.0.0.7')] });
      await new Promise((resolve) => setImmediate(resolve));
    };
    await new Promise((resolve) => setImmediate(resolve));
    for (let count = 0; count < 3; count += 1) await refuse();
    const asked = net.heard.length;
    await clock.advance(4_000);
    assert.equal(net.heard.length, asked);
    await settle(clock);
    assert.equal(mdns.hostName, 'energy-gateway-4.local');
    assert.ok(net.heard.length > asked);
  });
});

describe('multicast DNS', () => {
  test('multicast DNS asks three times whether somebody has the name, then announces twice', async () => {
    const { clock, said } = box();
    await settle(clock);
    const messages = said().map(({ message }) => message);
    assert.deepEqual(
      messages.map(({ isResponse }) => isResponse),
      [false, false, false, true, true],
    );
    const [probe, , , announcement] = messages;
    assert.deepEqual(probe?.questions[0], question(HOST, 'ANY', true));
    assert.deepEqual(named(probe?.authorities ?? []).slice(0, 2), [
      `${HOST} A`,
      `energy-gateway._http._tcp.local SRV`,
    ]);
    assert.deepEqual(named(announcement?.answers ?? []), [
      `${HOST} A`,
      `energy-gateway._http._tcp.local SRV`,
      `energy-gateway._http._tcp.local TXT`,
      `energy-gateway._mqtt._tcp.local SRV`,
      `energy-gateway._mqtt._tcp.local TXT`,
      `_http._tcp.local PTR`,
      `_services._dns-sd._udp.local PTR`,
      `_mqtt._tcp.local PTR`,
      `_services._dns-sd._udp.local PTR`,
    ]);
  });

  test('multicast DNS answers for its address to everybody, and not again within a second', async () => {
    const { net, clock, said } = box();
    await settle(clock);
    said();
    net.say({ questions: [question('Energy-Gateway.local', 'A')] });
    net.say({ questions: [question(HOST, 'A')] });
    const [heard, ...more] = said();
    assert.equal(more.length, 0);
    assert.equal(heard?.to, undefined);
    assert.deepEqual(heard?.message.answers, [addressRecord('10.0.0.1')]);
    await clock.advance(1_000);
    net.say({ questions: [question(HOST, 'A')] });
    assert.equal(said().length, 1);
  });

  test('multicast DNS says that it has no address of another kind', async () => {
    const { net, clock, said } = box();
    await settle(clock);
    said();
    net.say({ questions: [question(HOST, 'AAAA')] });
    const [answer] = said()[0]?.message.answers ?? [];
    assert.equal(answer?.type, 'NSEC');
    assert.deepEqual(answer?.data, { nextDomain: HOST, rrtypes: ['A'] });
  });

  test('multicast DNS answers for its services after a moment, with everything the asker needs next', async () => {
    const { net, clock, said } = box();
    await settle(clock);
    said();
    net.say({ questions: [question('_http._tcp.local', 'PTR')] });
    assert.deepEqual(said(), []);
    await clock.advance(120);
    const message = said()[0]?.message ?? assert.fail();
    assert.deepEqual(named(message.answers), [`_http._tcp.local PTR`]);
    assert.ok(named(message.additionals).includes(`${HOST} A`));
    const service = message.additionals.find(({ type }) => type === 'SRV');
    assert.deepEqual(service?.data, { priority: 0, weight: 0, port: 8_080, target: HOST });
  });

  test('multicast DNS answers a plain DNS client alone, with its question and for a short time', async () => {
    const { net, clock, said } = box();
    await settle(clock);
    said();
    net.say({ id: 77, questions: [question(HOST, 'A')] }, { address: '10.0.0.5', port: 40_000 });
    const { to, message } = said()[0] ?? assert.fail();
    assert.equal(to, '10.0.0.5:40000');
    assert.equal(message.id, 77);
    assert.deepEqual(message.questions, [question(HOST, 'A')]);
    assert.deepEqual(message.answers, [{ ...addressRecord('10.0.0.1', 10), flush: false }]);
  });

  test('multicast DNS defends its name against a later claim', async () => {
    const clock = new TestClock();
    const net = ether();
    const first = box({ net, clock });
    await settle(clock);
    const second = box({ net, clock, addresses: ['10.0.0.2'] });
    await settle(clock);
    assert.deepEqual([first.mdns.hostName, second.mdns.hostName], [HOST, 'energy-gateway-2.local']);
  });

  test('multicast DNS gives a name to one of two that ask for it at the same time', async () => {
    const clock = new TestClock();
    const net = ether();
    const lesser = box({ net, clock, addresses: ['10.0.0.1'] });
    const greater = box({ net, clock, addresses: ['10.0.0.2'] });
    await settle(clock);
    await settle(clock);
    assert.deepEqual([greater.mdns.hostName, lesser.mdns.hostName], [HOST, 'energy-gateway-2.local']);
  });

  test('multicast DNS probes for its name again when somebody claims it, and keeps it when nobody insists', async () => {
    const { net, clock, mdns, said } = box();
    await settle(clock);
    said();
    net.say({ isResponse: true, answers: [addressRecord('10.0.0.7')] });
    await settle(clock);
    assert.equal(mdns.hostName, HOST);
    assert.deepEqual(
      said().map(({ message }) => message.isResponse),
      [false, false, false, true, true],
    );
  });

  test('multicast DNS notices added and removed networks, and a changed address', async () => {
    const { clock, addresses, said } = box();
    await settle(clock);
    said();
    addresses.splice(0, 1, '10.5.0.1', '10.6.0.1');
    await clock.advance(LIMITS.mdns.lookMs);
    await settle(clock);
    const from = said().filter(({ message }) => message.isResponse);
    assert.ok(from.some((heard) => heard.from === '10.5.0.1'));
    assert.ok(from.some((heard) => heard.from === '10.6.0.1'));
    // What was said there is taken back.
    assert.ok(
      from
        .filter((heard) => heard.from === '10.0.0.1')
        .every(({ message }) => message.answers.every(({ ttl }) => ttl === 0)),
    );
  });

  test('multicast DNS answers on an interface that was replaced by another one with the same address', async () => {
    const { net, clock, said } = box();
    await settle(clock);
    net.replaceInterfaces();
    await clock.advance(LIMITS.mdns.lookMs);
    await settle(clock);
    said();
    net.say({ questions: [question(HOST, 'A')] });
    assert.deepEqual(
      said().map(({ message }) => message.answers),
      [[addressRecord('10.0.0.1')]],
    );
  });

  test('multicast DNS says goodbye, and nothing more', async () => {
    const { net, clock, mdns, said } = box();
    await settle(clock);
    said();
    mdns.stop();
    const [goodbye, ...more] = said();
    assert.equal(more.length, 0);
    assert.ok(goodbye?.message.answers.every(({ ttl }) => ttl === 0));
    net.say({ questions: [question(HOST, 'A')] });
    await settle(clock);
    assert.deepEqual(said(), []);
  });
});
